"""Delivery: firings claimed, sent to a URL and recorded, beside bare loops that only send."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import uvloop

from bench.core.stand import stands
from bench.delivery import memory, rate
from bench.delivery.target import serving
from bench.frame.discover import Benchmark
from rota.runtime.collector import calm

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

SCHEDULES = 1_000

_METHOD = (
    (
        "An embedded PostgreSQL with Rota's own settings, in a temporary folder: commits are "
        "durable. The target is a process of its own on the same machine, which answers every "
        "request on a kept connection with 200 and two bytes, and checks nothing."
    ),
    (
        "Rota is one worker, with its default settings, on uvloop: it claims firings that wait, "
        "makes the requests of their schedules, signs them, sends them with Rota's headers, judges "
        "the answers and records each firing with its attempt, request and response. The queue is "
        "full at the start, so claiming and recording are within the time."
    ),
    (
        "The bare loops send requests of the same size from as many connections as the worker has "
        "hands, and forget the answers. One is aiohttp's client, as its documentation shows it; "
        "the other is a protocol of thirty lines over httptools, the library whose parser Rota's "
        "own client uses: the limit of what one Python process can send here. Database, target and "
        "sender share the machine's cores; the bare loops need no database."
    ),
)


def run(session: Session) -> list[Row]:
    """The rate, then the memory."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(session))


async def _run(session: Session) -> list[Row]:
    async with stands(SCHEDULES, session=session) as (stand,):
        calm()  # as a server does when it has started
        with serving() as port:
            return [
                *await rate.rows(session, stand, port),
                *await memory.rows(session, stand, port),
            ]


BENCHMARK = Benchmark("Delivery", ("aiohttp", "httptools"), _METHOD, run)
