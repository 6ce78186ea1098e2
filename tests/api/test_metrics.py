"""`/metrics` beside the API."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
from tests.api.conftest import problem

from rota.api.app import create

if TYPE_CHECKING:
    from rota.api.engine import Engine


async def _asked(engine: Engine) -> httpx.Response:
    transport = httpx.ASGITransport(create(engine))  # pyright: ignore[reportArgumentType] - ASGI
    async with httpx.AsyncClient(transport=transport, base_url="http://rota") as http:
        return await http.get("/metrics")


async def test_it_is_served_without_a_key_unless_it_is_off(engine: Engine) -> None:
    """MO11."""

    async def render() -> tuple[str, bytes]:
        return "text/plain; version=0.0.4; charset=utf-8", b"rota_database_up 1.0\n"

    answer = await _asked(replace(engine, metrics=render))
    assert (answer.status_code, answer.text) == (200, "rota_database_up 1.0\n")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    problem(await _asked(engine), 404)
