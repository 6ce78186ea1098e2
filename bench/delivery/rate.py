"""Firings a second, end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from bench.delivery import bare
from bench.delivery.drain import aim, drain, fill
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.queue.claim import claim
from rota.schedules.definition import HTTP_LANE
from rota.schedules.schedule_cache import load
from rota.workers.delivery.http import origin, wire
from rota.workers.delivery.request import request_of
from rota.workers.settings import WorkerSettings

if TYPE_CHECKING:
    from bench.core.stand import Stand
    from bench.frame.measure import Session
    from rota.workers.delivery.request import Request

TITLE = "Delivery to a loopback target"
FIRINGS = 20_000
HTTPTOOLS = "bare httptools loop"
AIOHTTP = "bare aiohttp loop"

_CLOCK = SystemClock()


async def rows(session: Session, stand: Stand, port: int) -> list[Row]:
    """Rota and the bare loops, in turns."""
    await aim(stand, port)
    request = await _request(stand, port)
    place, target = origin.split(request.url)
    data = wire.encode(request, place, target)
    slots = WorkerSettings().concurrency
    ours: list[float] = []
    aiohttp: list[float] = []
    httptools: list[float] = []
    for number in range(session.rounds + 1):
        session.at_round(TITLE, number)
        await fill(stand, port, FIRINGS)
        ours.append(FIRINGS / await drain(stand, FIRINGS))
        start = _CLOCK.monotonic()
        await bare.by_aiohttp(request, count=FIRINGS, connections=slots)
        aiohttp.append(FIRINGS / (_CLOCK.monotonic() - start))
        start = _CLOCK.monotonic()
        await bare.by_httptools(data, port, count=FIRINGS, connections=slots)
        httptools.append(FIRINGS / (_CLOCK.monotonic() - start))
    row = Row(
        TITLE,
        "firings per second",
        Figure("Rota", tuple(ours[1:])),
        (Figure(AIOHTTP, tuple(aiohttp[1:])), Figure(HTTPTOOLS, tuple(httptools[1:]))),
        Goal(1.0, AIOHTTP),
        f"{FIRINGS:,} firings of {stand.timers:,} schedules, from the first claim to the last "
        "record; the bare loops from the first connection to the last answer.",
    )
    session.tell(row)
    return [row]


async def _request(stand: Stand, port: int) -> Request:
    """What Rota sends for a firing, to be sent by others."""
    await fill(stand, port, 1)
    settings = WorkerSettings()
    async with stand.db.transaction() as tx:
        [each] = await claim(
            tx, [HTTP_LANE], uuid4(), limit=1, lead=settings.lead, visibility=settings.visibility
        )
        schedules = await load(tx, [each.schedule_id])
    return request_of(each, schedules[each.schedule_id])
