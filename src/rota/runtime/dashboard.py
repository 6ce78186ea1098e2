"""The dashboard, on the same address as the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import dashboard
from rota.api import access
from rota.dashboard.desk import Desk
from rota.dashboard.feeds import Feeds
from rota.tenants.authenticate import Authenticator

if TYPE_CHECKING:
    from litestar import Router

    from rota.api.engine import Engine


def pages(engine: Engine, feeds: Feeds | None = None) -> Router:
    """All pages of the dashboard, on the API's own engine.

    The API's guard lets them pass (a key is never asked for); the dashboard has its own door.
    """
    desk = Desk(
        db=engine.db,
        clock=engine.clock,
        bus=engine.bus,
        shards=engine.shards,
        authenticator=Authenticator(engine.db, clock=engine.clock),
        pace=engine.pace,
        feeds=feeds or Feeds(engine.db, engine.clock),
        vault=engine.vault,
        targets=engine.targets,
        apprise=engine.apprise,
        apprise_for_all=engine.apprise_for_all,
        public_url=engine.public_url,
        slicer=engine.slicer,
    )
    return dashboard.routes(desk, opt=access.PUBLIC)
