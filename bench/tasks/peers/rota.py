"""Rota, as its guides show it: `@rota.task` on an `async def`, and `async with rota`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import uvloop

from bench.tasks.part import Noted, instants, main, now
from rota import Rota
from rota.runtime.collector import calm

if TYPE_CHECKING:
    from collections.abc import Coroutine

noted = Noted(0)


def program(dsn: str, *roles: str) -> tuple[Rota, Any, Any]:
    rota = Rota(dsn, name="bench", roles=roles)

    @rota.task
    async def noop() -> None:
        noted.start()

    @rota.task
    async def late(due: float) -> None:
        noted.start(due)

    return rota, noop, late


def _run(work: Coroutine[Any, Any, dict[str, float]]) -> dict[str, float]:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


async def _one(dsn: str, count: int) -> dict[str, float]:
    rota, noop, _ = program(dsn)
    async with rota:
        began = now()
        for _ in range(count):
            await noop.enqueue()
        return {"seconds": now() - began}


async def _many(dsn: str, count: int) -> dict[str, float]:
    rota, noop, _ = program(dsn)
    async with rota:
        began = now()
        await noop.enqueue_many([()] * count)
        return {"seconds": now() - began}


async def _drain(dsn: str, count: int) -> dict[str, float]:
    """Until all are recorded, and not only started, as with the others."""
    rota, noop, _ = program(dsn)
    async with rota:
        await noop.enqueue_many([()] * count)
    rota, noop, _ = program(dsn, "worker")
    done = asyncio.Event()
    noted.count, noted.on_done = count, done.set
    calm()
    async with rota:
        await done.wait()
        while await _waiting(rota):  # noqa: ASYNC110
            await asyncio.sleep(0.002)  # noqa: TID251 - nobody tells of the last record
        return noted.took(now())


async def _waiting(rota: Rota) -> bool:
    async with rota.running.db.transaction() as tx:
        return await tx.fetch_value("SELECT EXISTS (SELECT FROM queue)")


async def _late(dsn: str, count: int, rate: int) -> dict[str, float]:
    """The worker has run tasks before, as one that has been there for a minute has."""
    rota, noop, late = program(dsn, "worker")
    done = asyncio.Event()
    async with rota:
        noted.count, noted.on_done = 20_000, done.set
        await noop.enqueue_many([()] * noted.count)
        await done.wait()
        done.clear()
        noted.late.clear()
        noted.count = count
        calm()
        due = instants(count, rate, entered_in=count / 20_000)
        if rate:
            for each in due:
                await late.options(at=datetime.fromtimestamp(each, UTC)).enqueue(each)
        else:
            at = datetime.fromtimestamp(due[0], UTC)
            await late.options(at=at).enqueue_many([(each,) for each in due])
        await done.wait()
    return noted.lateness()


if __name__ == "__main__":
    main(
        {
            "one": lambda dsn, count, _: _run(_one(dsn, count)),
            "many": lambda dsn, count, _: _run(_many(dsn, count)),
            "drain": lambda dsn, count, _: _run(_drain(dsn, count)),
            "late": lambda dsn, count, rate: _run(_late(dsn, count, rate)),
        }
    )
