"""A worker whose tasks have become slow leaves to others what it will not come to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.db.queue_support import queue_rows
from tests.db.tasks_kit import QUICK, working
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.queue.enqueue import EnqueueRequest, enqueue

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db import Database
    from rota.workers.worker import Worker

PACE = replace(QUICK, concurrency=2, prefetch=100)
MOST = 2 * PACE.concurrency + PACE.prefetch
"""Those that run, those that come after them, and those it was given to hold."""
MANY = 1_000
CLOCK = SystemClock()


async def ask_for(db: Database, task: str, count: int) -> None:
    async with db.transaction() as tx:
        await enqueue(tx, EnqueueRequest(task=task, payloads=[None] * count))


async def until(is_so: Callable[[], bool]) -> None:
    """Nothing is said when claims are made or given back."""
    async with asyncio.timeout(patience(20)):
        while not is_so():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)  # noqa: TID251 - as above


async def stays_at_most(worker: Worker, most: int, *, looks: int = 150) -> None:
    """For a second and a half: many polls, and a look for what is too much."""
    for _ in range(looks):
        await asyncio.sleep(0.01)  # noqa: TID251 - nothing happens, and nobody tells
        assert worker.held <= most


async def test_what_a_slow_worker_will_not_come_to_is_given_back_and_done_by_another(
    db: Database,
) -> None:
    """Claimed while its tasks were quick; given back once, and not claimed again."""
    go_on = asyncio.Event()

    async def slow() -> None:
        await go_on.wait()

    async with working(db, slow, settings=PACE) as one:
        # As quick as a machine is on a good day, whatever day this one has.
        prefetch = one.worker._excess._prefetch
        prefetch._best, prefetch._best_at = 1e6, CLOCK.monotonic() + 3600
        await ask_for(db, "slow", MANY)
        await until(lambda: one.worker.held > 5 * MOST)
        await until(lambda: one.worker.held <= MOST)
        await stays_at_most(one.worker, MOST)
        rows = (await queue_rows(db)).values()
        kept = sum(row["worker"] is not None for row in rows)
        assert kept == one.worker.held
        given_back = [row for row in rows if row["worker"] is None]
        assert {(row["state"], row["attempt"]) for row in given_back} == {("waiting", 0)}
        async with working(db, slow, settings=replace(PACE, concurrency=MANY)) as other:
            await until(lambda: other.worker.running == MANY - kept)
            go_on.set()
            await until(lambda: not (one.worker.held or other.worker.held))
    assert not await queue_rows(db)
