"""pgqueuer, with batches of 100, its documentation's own figure for throughput."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import asyncpg
import uvloop
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job  # noqa: TC002 - read at run time
from pgqueuer.qm import QueueManager
from pgqueuer.queries import Queries

from bench.tasks.part import Noted, instants, main, now

if TYPE_CHECKING:
    from collections.abc import Coroutine

BATCH = 100
noted = Noted(0)


async def _open(dsn: str) -> tuple[AsyncpgDriver, Queries]:
    driver = AsyncpgDriver(await asyncpg.connect(dsn))
    queries = Queries(driver)
    if not await queries.has_table("pgqueuer"):
        await queries.install()
    return driver, queries


async def _enter(queries: Queries, payloads: list[bytes | None], after: list[Any]) -> None:
    for at in range(0, len(payloads), 1_000):
        part = payloads[at : at + 1_000]
        await queries.enqueue(["noop"] * len(part), part, [0] * len(part), after[at : at + 1_000])


async def _one(dsn: str, count: int) -> dict[str, float]:
    _, queries = await _open(dsn)
    began = now()
    for _ in range(count):
        await queries.enqueue("noop", None)
    return {"seconds": now() - began}


async def _many(dsn: str, count: int) -> dict[str, float]:
    _, queries = await _open(dsn)
    began = now()
    await _enter(queries, [None] * count, [None] * count)
    return {"seconds": now() - began}


async def _work(driver: AsyncpgDriver) -> None:
    manager = QueueManager(Queries(driver))

    @manager.entrypoint("noop")
    async def noop(job: Job) -> None:
        noted.start(float(job.payload) if job.payload else 0.0)

    noted.on_done = manager.shutdown.set
    await manager.run(batch_size=BATCH, dequeue_timeout=timedelta(milliseconds=100))


async def _drain(dsn: str, count: int) -> dict[str, float]:
    driver, queries = await _open(dsn)
    await _enter(queries, [None] * count, [None] * count)
    noted.count = count
    await _work(driver)
    return noted.took()


async def _late(dsn: str, count: int, rate: int) -> dict[str, float]:
    driver, queries = await _open(dsn)
    due = instants(count, rate, entered_in=count / 5_000)
    for at in range(0, count, 1_000):
        part = due[at : at + 1_000]
        after = [timedelta(seconds=each - now()) for each in part]
        await _enter(queries, [str(each).encode() for each in part], after)
    noted.count = count
    await _work(driver)
    return noted.lateness()


def _run(work: Coroutine[Any, Any, dict[str, float]]) -> dict[str, float]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


if __name__ == "__main__":
    main(
        {
            "one": lambda dsn, count, _: _run(_one(dsn, count)),
            "many": lambda dsn, count, _: _run(_many(dsn, count)),
            "drain": lambda dsn, count, _: _run(_drain(dsn, count)),
            "late": lambda dsn, count, rate: _run(_late(dsn, count, rate)),
        }
    )
