"""The real program, with a database and a target of its own, for a browser to visit."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from litestar.handlers import HTTPRouteHandler
from tests.announced import sign_in_link
from tests.browser.target import Target, target
from tests.db.secrets_kit import ring_text
from tests.process.serving import Server, eventually, serving

from rota import Client
from rota.dashboard.pages import PAGES
from rota.db import Database
from rota.tenants import keys
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

_NONE = "fir_01ARZ3NDEKTSV4RRFFQ69G5FAV"
_PIECES = ("/live", "/overview/", "/preview", "/now", "/history", "/year")
"""Addresses that are no page of their own: a part of one, or a stream."""


@dataclass(frozen=True)
class House:
    """Where it is, who may enter, and what it calls."""

    server: Server
    key: str
    target: Target
    client: Client
    dsn: str

    @property
    def url(self) -> str:
        return self.server.url

    def link(self) -> str:
        """The address with the token that works once."""
        return eventually(lambda: sign_in_link(self.server.lines))


@contextmanager
def open_house(home: Path, dsn: str, *arguments: str) -> Generator[House]:
    """`rota serve` on the database, for as long as the block lasts."""
    key = keys.new().text
    asyncio.run(_prepare(dsn))
    variables = {"ROTA_ADMIN_KEY": key, "ROTA_SECRET_KEYS": ring_text("k1")}
    with (
        target() as sink,
        serving(home, "--dsn", dsn, *arguments, **variables) as server,
        Client(server.url, key) as client,
    ):
        yield House(server, key, sink, client, dsn)


async def _prepare(dsn: str) -> None:
    """Schedules may fire every second."""
    async with await Database.open(dsn) as db, db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=timedelta(seconds=1))


def pages(house: House, **named: str) -> list[str]:
    """The address of every page there is; `named` are the ids that stand in them. What has none of
    its own there is the last one that the API lists."""
    known = {
        "channel_id": _last([each.id for each in house.client.list_channels()]),
        "tenant_id": _last([each.id for each in house.client.list_tenants()]),
        "name": "closed",
    }
    found = {f"/firings/{_NONE}"}
    for route in PAGES:
        assert isinstance(route, HTTPRouteHandler)
        if "GET" in route.http_methods:
            found |= {_filled(path, known | named) for path in route.paths}
    return sorted(path for path in found if not any(piece in path for piece in _PIECES))


def _last(ids: list[str]) -> str:
    return ids[-1] if ids else "none"


def _filled(path: str, named: dict[str, str]) -> str:
    parts = path.split("/")
    return "/".join(named[each[1:-1].split(":")[0]] if "{" in each else each for each in parts)
