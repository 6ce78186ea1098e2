"""Of the web process, what needs no process: how pools are shared and how figures are kept."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from rota.clock import SystemClock
from rota.config import load
from rota.runtime.channel import AskFigures, Channel, Figures, WorkEnded
from rota.runtime.opening import has_web_process, shares
from rota.runtime.serve_web import EngineFigures


def _config(**flags: object) -> Any:
    return load(flags, {"HOME": "/tmp"}, None)


@pytest.mark.parametrize("size", [2, 3, 5, 10, 100])
@pytest.mark.parametrize("roles", ["api", "scheduler,worker", "api,scheduler,worker", "api,worker"])
@pytest.mark.parametrize("has_client", [False, True])
def test_the_pools_of_a_server_are_together_as_large_as_configured(
    size: int, roles: str, has_client: bool
) -> None:
    config = _config(pool_size=size, roles=roles)
    share = shares(config, has_client=has_client)
    assert share.engine + share.scheduling + share.questions + share.web == size
    assert share.engine >= 1
    assert share.engine >= 2 * share.scheduling, "a scheduler has its own only where there is room"
    assert bool(share.web) == has_web_process(config)


def test_only_an_api_next_to_an_engine_has_a_process_of_its_own() -> None:
    assert has_web_process(_config())
    assert has_web_process(_config(roles="api,worker"))
    assert not has_web_process(_config(roles="api"))
    assert not has_web_process(_config(roles="scheduler,worker"))


async def test_many_who_scrape_cost_the_engine_one_answer() -> None:
    left, right = socket.socketpair()
    web, engine = await Channel.open(left), await Channel.open(right)
    figures = EngineFigures(web, None, pool=lambda: (0, 1), clock=SystemClock())  # pyright: ignore[reportArgumentType] - not used while the engine answers
    scrapes = asyncio.gather(*(figures.render() for _ in range(50)))
    asked = await engine.receive()
    assert isinstance(asked, AskFigures)
    engine.send(Figures(number=asked.number, kind="text/plain", content=b"42"))
    told = await web.receive()
    assert isinstance(told, Figures)
    figures.hear(told)
    assert await scrapes == [("text/plain", b"42")] * 50
    web.send(WorkEnded(status="succeeded"))
    assert await engine.receive() == WorkEnded(status="succeeded"), "and nothing was asked again"
    web.close()
    assert await engine.receive() is None
    engine.close()
