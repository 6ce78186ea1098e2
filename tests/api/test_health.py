"""`/healthz` and `/readyz`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import httpx

from rota.api.app import create
from rota.db import Database, Retry
from rota.version import __version__

if TYPE_CHECKING:
    from rota.api.engine import Engine


def _client(engine: Engine) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create(engine))  # pyright: ignore[reportArgumentType] - ASGI
    return httpx.AsyncClient(transport=transport, base_url="http://rota")


async def test_a_process_that_works_says_so_without_a_key(http: httpx.AsyncClient) -> None:
    lives = (await http.get("/healthz")).json()
    assert (lives["status"], lives["version"]) == ("ok", __version__)
    ready = await http.get("/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ok")


async def test_while_the_database_is_away_it_lives_and_is_not_ready(
    engine: Engine, dsn: str
) -> None:
    away = await Database.open(dsn, retry=Retry(tries=1))
    await away.close()
    async with _client(replace(engine, db=away)) as client:
        assert (await client.get("/healthz")).status_code == 200
        ready = await client.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["detail"] == "the database is away"


async def test_while_it_stops_it_is_not_ready(engine: Engine) -> None:
    async with _client(replace(engine, is_stopping=lambda: True)) as client:
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["detail"]) == (503, "stopping")
