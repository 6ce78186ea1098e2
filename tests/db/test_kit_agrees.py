"""The test kit and the engine, given the same program: the same runs end in the same way."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tests.db.library_kit import program
from tests.deadlines import patience

from rota import Context, Discard, Retry, Rota
from rota.testing import TestKit
from rota.workers.events import FiringFinished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.db import Database
    from rota.library.saga import Saga

QUICK: dict[str, Any] = {"backoff": "fixed", "backoff_delay": "10ms"}


def declare(rota: Rota) -> Callable[[], Awaitable[None]]:
    """A program with an end of every kind; what begins it all."""

    @rota.task(max_attempts=3, **QUICK)
    def flaky(context: Context, fails: int) -> str:
        if context.attempt <= fails:
            raise ValueError("not yet")
        return f"at attempt {context.attempt}"

    @rota.task(max_attempts=2)
    async def moody(word: str) -> None:
        raise Discard(word) if word == "never" else Retry(word, after=0.01)

    @rota.task(name="strict", **QUICK)
    def strict(number: int) -> object:
        return object() if number else None

    @rota.schedule(after=flaky)
    def on_success(after: dict[str, Any]) -> Any:
        return [after["result"], after["key"]]

    @rota.schedule(after=flaky, on="failed", payload={"team": "ops"})
    async def on_failure(team: str, after: dict[str, Any]) -> Any:
        return [team, after["status"], after["reason"]]

    trip = _saga(rota)

    async def begin() -> None:
        await flaky.enqueue(0)
        await flaky.enqueue(2)
        await flaky.enqueue(9)
        await moody.enqueue("never")
        await moody.enqueue("again")
        await strict.enqueue(1)
        await strict.options(key="one").enqueue(0)
        await trip.start(place="Paris")

    return begin


def _saga(rota: Rota) -> Saga:
    @rota.task
    def book(place: str) -> str:
        return f"room in {place}"

    @rota.task
    def unbook(place: str, steps: dict[str, Any]) -> str:
        return f"{place}: {steps['book']} is free"

    @rota.task(max_attempts=1)
    def pay(place: str) -> None:
        raise ValueError(f"{place} is too dear")

    return rota.saga("trip", [(book, unbook), pay], **QUICK)


async def _of_the_engine(db: Database) -> list[tuple[Any, ...]]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch(
            """SELECT s.key, f.status, f.attempt, f.reason, f.triggered_by, f.result_excerpt
                 FROM firings f JOIN schedules s ON s.id = f.schedule_id"""
        )
    return sorted(tuple(map(str, row.values())) for row in rows)


async def test_the_kit_and_the_engine_agree_about_every_end(dsn: str, db: Database) -> None:
    rota = program(dsn)
    begin = declare(rota)
    kit = TestKit(rota, now="2026-03-01T00:00Z")
    await begin()
    await kit.advance(minutes=1)
    expected = sorted(
        (run.schedule, run.status, str(run.attempt), str(run.reason), run.triggered_by)
        for run in kit.runs
        if run.status in {"succeeded", "dead", "cancelled"} and run.step is None
    )
    saga = [run for run in kit.runs if run.step is not None]
    kit.close()
    async with rota, asyncio.timeout(patience(20)):
        ended: asyncio.Queue[FiringFinished] = asyncio.Queue()
        rota.running.bus.subscribe(FiringFinished, ended.put_nowait)
        await begin()
        while len(found := await _of_the_engine(db)) <= len(expected):
            await ended.get()
    plain = [each[:5] for each in found if each[0] != "trip"]
    assert plain == expected
    [trip] = [each for each in found if each[0] == "trip"]
    assert (trip[1], trip[3]) == (saga[-1].status, saga[-1].reason)
    assert int(trip[2]) == len(saga)
    results = {str(run.result) for run in kit.runs_of("on_failure")}
    assert results == {"['ops', 'dead', 'ValueError: not yet, after 3 attempts']"}
