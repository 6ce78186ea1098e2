"""The dashboard, on the same address as the API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import dashboard
from rota.api import access
from rota.dashboard.desk import Desk
from rota.dashboard.feeds import Feeds
from rota.tenants import service, sessions
from rota.tenants.authenticate import Authenticator
from rota.tenants.tenant import Principal

if TYPE_CHECKING:
    from litestar import Router

    from rota.api.engine import Engine
    from rota.db import Database, Tx


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
        public_url=engine.public_url,
    )
    return dashboard.routes(desk, opt=access.PUBLIC)


async def new_token(db: Database) -> sessions.SignInToken:
    """A token that signs the operator in, once."""

    async def work(tx: Tx) -> sessions.SignInToken:
        tenant = await service.default_tenant(tx)
        operator = Principal(tenant=tenant, scopes=frozenset({"admin"}), key_id=None)
        token = await sessions.new_token(tx, operator)
        assert token is not None, "no key stands behind it"
        return token

    return await db.run(work)
