"""The engine at work: firing, idling, starting in time, claiming and finishing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import uvloop

from bench.core import claiming, firing, herd, idle, lateness, pinned
from bench.core.stand import Stand, stands
from bench.frame.discover import Benchmark
from rota.runtime.collector import calm

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

FEW = 10_000
MANY = 1_000_000

_METHOD = (
    (
        "An embedded PostgreSQL with Rota's own settings, in a temporary folder: commits are "
        "durable (fsync and synchronous_commit are on), autovacuum is on. Times are of the wall "
        "clock, so whatever else runs on the machine counts. Rota runs on uvloop, as it does when "
        "it serves."
    ),
    (
        f"Two databases on that server, with {FEW:,} and {MANY:,} timers: a third of the schedules "
        "have an interval, a third a cron expression in UTC, a third one in America/New_York. What "
        "is to be due is set so between the rounds, spread at random over the table; all other "
        "timers lie months ahead."
    ),
    (
        '"Bare" is what Rota itself said to the server in the same round: every statement, '
        "every argument, every BEGIN and COMMIT, kept and said again on one connection, from the "
        "same state of the tables. What it lacks is what Rota does between the statements."
    ),
)


def run(session: Session) -> list[Row]:
    """All of it, the goals first."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_run(session))


async def _run(session: Session) -> list[Row]:
    async with stands(FEW, MANY, session=session) as (few, many):
        calm()  # as a server does when it has started
        found = await _rows(session, few, many)
    return [*found, *await pinned.rows(session)]


async def _rows(session: Session, few: Stand, many: Stand) -> list[Row]:
    return [
        *await firing.rows(session, few, many),
        *await herd.rows(session, many),
        *await lateness.rows(session, many),
        *await claiming.rows(session, many),
        *await idle.rows(session, many),
    ]


BENCHMARK = Benchmark("Core", (), _METHOD, run)
