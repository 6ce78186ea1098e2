"""The API: schedules created one by one and by the thousand, then listed, searched and shown."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import uvloop

from bench.api import bulk, dashboard, listing, single
from bench.api.stand import CLIENTS, stand
from bench.frame.discover import Benchmark

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

_METHOD = (
    (
        "`rota serve` as a process of its own, with all its roles, on an embedded PostgreSQL with "
        "Rota's own settings in a temporary folder: commits are durable, autovacuum is on. Times "
        "are of the wall clock. Server, database and clients share the machine's cores."
    ),
    (
        f"Single creates come from {CLIENTS} connections that are kept, each of which sends its "
        "next request when it has its answer; the requests are made before the clock starts, and "
        "the client is a protocol of thirty lines over httptools. Every request is authenticated, "
        "checked in full, and answered when its schedule is on the disk."
    ),
    (
        '"Bare" are the same rows without Rota: schedules and timers, as Rota would store them, '
        "with the same indexes, triggers and durable commits, from as many asyncpg connections "
        "in one process. One by one that is a transaction with an INSERT for each table, or one "
        "statement for both; by the thousand it is COPY, one transaction for each 10,000. What "
        "they lack: HTTP, keys, reading and checking fields, next fire times, keys in use, row "
        "security, words to search by, an answer."
    ),
    (
        "Pages are asked for over one connection. The time is from the first byte of the request "
        "to the last of the answer, which has 100 schedules in full."
    ),
    (
        "The dashboard's pages are asked for in the same way, by somebody who is signed in, with "
        "the same schedules and their history; a page of the list has 50 of them."
    ),
)


def run(session: Session) -> list[Row]:
    """All of it, the goals first."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(session))


async def _run(session: Session) -> list[Row]:
    async with stand(session) as found:
        return [
            *await single.rows(session, found),
            *await bulk.rows(session, found),
            *await listing.rows(session, found),
            *await dashboard.rows(session, found),
        ]


BENCHMARK = Benchmark("API", ("asyncpg", "httptools"), _METHOD, run)
