"""Tasks that do not end when they are told to, with a real worker: no claim is kept for ever."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import attempt_rows, firing_rows, queue_rows
from tests.db.tasks_kit import QUICK, Crew, ask, working
from tests.deadlines import patience

from rota.queue.withdraw import cancel
from rota.workers import attempt, executor
from rota.workers.events import (
    AttemptStuck,
    FiringFinished,
    FiringRetried,
    FiringStarted,
    WorkerTroubled,
)
from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.db import Database

ONE_HAND = replace(QUICK, concurrency=1, prefetch=0)


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "STUCK_WAITS", (0.2, 0.1, 0.1))


async def stubbornly(go_on: asyncio.Event, told: list[int]) -> None:
    """Wait, whatever anybody says."""
    while not go_on.is_set():
        try:
            await go_on.wait()
        except BaseException:  # noqa: BLE001 - as somebody's broad `except` does
            told.append(1)


async def through_a_child(go_on: asyncio.Event, told: list[int]) -> None:
    """The same in a task of its own: a cancellation does not even come back from that."""
    await asyncio.create_task(stubbornly(go_on, told))


async def until_free(crew: Crew) -> None:
    async with asyncio.timeout(patience(10)):
        while crew.worker.running:  # noqa: ASYNC110 - nothing is said when a hand is free
            await asyncio.sleep(0.01)  # noqa: TID251 - as above


@pytest.mark.parametrize("wait", [stubbornly, through_a_child])
async def test_a_task_that_swallows_its_cancellation_is_late_all_the_same(
    db: Database, wait: Callable[[asyncio.Event, list[int]], Awaitable[None]]
) -> None:
    """Recorded in time; its hand is free when it has returned, and goes on with the next."""
    go_on, told = asyncio.Event(), list[int]()

    async def stuck() -> None:
        await wait(go_on, told)

    async def next_one() -> None: ...

    async with working(
        db, stuck, next_one, settings=ONE_HAND, timeout_seconds=0.1, max_attempts=1
    ) as crew:
        try:
            id_ = await ask(db, "stuck")
            said = await crew.recorder.wait_for(AttemptStuck)
            await crew.recorder.wait_for(FiringFinished)
            assert (said.firing_id, said.told) == (id_, "timed out")
            assert len(told) == 3, "told again, before it was given up on"
            assert crew.worker.running == 1, "it is still at it"
            assert crew.worker.held == 0, "and its claim is not kept"
            after = await ask(db, "next_one")
        finally:
            go_on.set()
        await crew.recorder.wait_for(FiringFinished, where=lambda each: each.firing_id == after)
        await until_free(crew)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("dead", "timed out after 100ms, after 1 attempt")
    assert [each["outcome"] for each in await attempt_rows(db)] == ["timed_out", "succeeded"]


async def test_what_a_stubborn_task_returns_in_the_end_changes_nothing(db: Database) -> None:
    """Not the attempt that was settled, and not the one that was begun in its place."""
    go_on, attempts = asyncio.Event(), list[int]()

    async def stuck(context: Context) -> str:
        attempts.append(context.attempt)
        if context.attempt == 1:
            await stubbornly(go_on, [])
        return f"of {context.attempt}"

    async with working(db, stuck, timeout_seconds=0.1, max_attempts=2, backoff_delay=0.01) as crew:
        id_ = await ask(db, "stuck")
        await crew.recorder.wait_for(FiringRetried)
        await crew.recorder.wait_for(FiringFinished)
        go_on.set()
        await until_free(crew)
    assert attempts == [1, 2]
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["result_excerpt"]) == ("succeeded", '"of 2"')
    assert [each["outcome"] for each in await attempt_rows(db)] == ["timed_out", "succeeded"]


async def test_a_task_that_ends_when_it_is_told_again_is_late_and_no_more(db: Database) -> None:
    told: list[int] = []

    async def hard_of_hearing() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            told.append(1)
        await asyncio.Event().wait()

    async with working(db, hard_of_hearing, timeout_seconds=0.1, max_attempts=1) as crew:
        await ask(db, "hard_of_hearing")
        await crew.recorder.wait_for(FiringFinished)
        await until_free(crew)
        assert crew.recorder.all(AttemptStuck) == []
    assert told == [1]
    assert [each["outcome"] for each in await attempt_rows(db)] == ["timed_out"]


async def test_a_firing_that_somebody_cancels_ends_although_its_task_does_not(
    db: Database,
) -> None:
    go_on = asyncio.Event()

    async def stuck() -> None:
        await stubbornly(go_on, [])

    async with working(db, stuck) as crew:
        try:
            id_ = await ask(db, "stuck")
            await crew.recorder.wait_for(FiringStarted)
            async with db.transaction() as tx:
                await cancel(tx, [id_], "not needed")
            said = await crew.recorder.wait_for(AttemptStuck)
            await crew.recorder.wait_for(FiringFinished)
        finally:
            go_on.set()
        await until_free(crew)
    assert said.told == "cancelled"
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("cancelled", "not needed")


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
async def test_a_worker_that_stops_does_not_wait_for_it(db: Database, delivery: Any) -> None:
    """The firing goes back for others, unless it may be delivered once at most."""
    go_on = asyncio.Event()

    async def stuck() -> None:
        await stubbornly(go_on, [])

    try:
        async with working(db, stuck, delivery=delivery) as crew:
            id_ = await ask(db, "stuck")
            await crew.recorder.wait_for(FiringStarted)
            async with asyncio.timeout(patience(3)):
                await crew.worker.stop(grace=timedelta(milliseconds=100))
            assert crew.recorder.all(AttemptStuck)[0].told == "interrupted"
            assert [each["outcome"] for each in await attempt_rows(db)] == ["interrupted"]
            if delivery == "at_most_once":
                assert (await firing_rows(db))[id_]["status"] == "dead"
            else:
                row = (await queue_rows(db))[id_]
                assert (row["state"], row["worker"]) == ("retrying", None)
    finally:
        go_on.set()


async def test_a_worker_that_stops_has_given_up_on_it_before(db: Database) -> None:
    """What was settled long ago is not waited for, not even for the grace."""
    go_on = asyncio.Event()

    async def stuck() -> None:
        await stubbornly(go_on, [])

    try:
        async with working(db, stuck, timeout_seconds=0.1, max_attempts=1) as crew:
            await ask(db, "stuck")
            await crew.recorder.wait_for(FiringFinished)
            async with asyncio.timeout(patience(3)):
                await crew.worker.stop(grace=timedelta(hours=1))
    finally:
        go_on.set()


async def test_a_task_that_cancels_the_task_it_runs_in_has_failed(db: Database) -> None:
    async def cancels() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.Event().wait()

    async def next_one() -> None: ...

    async with working(db, cancels, next_one, settings=ONE_HAND, max_attempts=1) as crew:
        id_ = await ask(db, "cancels")
        await crew.recorder.wait_for(FiringFinished)
        after = await ask(db, "next_one")
        await crew.recorder.wait_for(FiringFinished, where=lambda each: each.firing_id == after)
        assert crew.worker.held == 0
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("dead", "CancelledError, after 1 attempt")


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
async def test_a_fault_of_ours_is_the_failure_of_the_attempt(
    db: Database, delivery: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its claim is not kept for ever, nor is it run again when it may be once at most."""
    runs: list[int] = []

    async def answers() -> str:
        runs.append(1)
        return "yes"

    def settle(*_: Any) -> Any:
        raise ZeroDivisionError("a fault")

    async with working(
        db, answers, settings=ONE_HAND, delivery=delivery, max_attempts=2, backoff_delay=0.01
    ) as crew:
        with monkeypatch.context() as patch:
            patch.setattr(attempt, "_settle", settle)
            id_ = await ask(db, "answers")
            troubled = await crew.recorder.wait_for(WorkerTroubled)
            await crew.recorder.wait_for(FiringFinished)
        after = await ask(db, "answers")
        await crew.recorder.wait_for(FiringFinished, where=lambda each: each.firing_id == after)
        assert crew.worker.held == 0
    assert (troubled.part, troubled.error) == ("attempt", "ZeroDivisionError: a fault")
    rows = await firing_rows(db)
    assert rows[id_]["status"] == "dead"
    assert "ZeroDivisionError: a fault" in rows[id_]["reason"]
    assert rows[after]["status"] == "succeeded", "the hand goes on"
    assert len(runs) == 2


async def test_a_fault_of_ours_at_the_first_attempt_is_made_good_by_the_second(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = iter([ZeroDivisionError("a fault")])
    unhurt = attempt._has_just_returned

    def fragile(held: Any, reply: Any) -> bool:
        for fault in faults:
            raise fault
        return unhurt(held, reply)

    monkeypatch.setattr(attempt, "_has_just_returned", fragile)

    async def answers() -> None: ...

    async with working(db, answers, max_attempts=2, backoff_delay=0.01) as crew:
        await ask(db, "answers")
        retried = await crew.recorder.wait_for(FiringRetried)
        done = await crew.recorder.wait_for(FiringFinished)
    assert (retried.error, done.status) == ("ZeroDivisionError: a fault", "succeeded")
