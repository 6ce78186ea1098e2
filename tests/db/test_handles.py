"""Asking for runs from a program, and waiting for what they give."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.library_kit import program
from tests.db.queue_support import queue_rows
from tests.deadlines import patience

from rota.errors import InvalidInput
from rota.library import asking
from rota.library.handles import Handle, NotEnqueued, ResultUnknown, TaskCancelled, TaskFailed
from rota.workers.tasks.arguments import WrongArguments
from rota.workers.tasks.exceptions import Discard

if TYPE_CHECKING:
    from rota import Rota
    from rota.db import Database


@dataclass
class Made:
    n: int
    at: datetime


NOW = datetime(2025, 3, 9, tzinfo=UTC)


class Tasks:
    """A program with some tasks."""

    def __init__(self, rota: Rota) -> None:
        @rota.task(name="make")
        async def make(n: int) -> Made:
            return Made(n, NOW)

        @rota.task(name="fail", max_attempts=1)
        def fail() -> None:
            raise ValueError("no such team")

        @rota.task(name="drop")
        async def drop() -> None:
            raise Discard("gone")

        @rota.task(name="hang")
        async def hang(key: str = "") -> None:
            await asyncio.Event().wait()

        @rota.task(name="nested")
        def nested(n: int) -> int:
            handle = make.enqueue(n)
            return handle.wait(timeout=patience(10)).n

        self.make, self.fail, self.drop, self.hang = make, fail, drop, hang
        self.nested = nested


async def test_results_of_runs_in_this_process(dsn: str, db: Database) -> None:
    """Issue 6, 2: one program, started once for all of these."""
    rota = program(dsn)
    tasks = Tasks(rota)
    async with rota:
        handle = await tasks.make.enqueue(7)
        assert handle.id.startswith("fir_")
        assert await handle.result(timeout=patience(10)) == Made(7, NOW)
        assert await handle.status() == "succeeded"
        assert await handle.cancel() is False

        with pytest.raises(TaskFailed, match="fail: ValueError: no such team") as failed:
            await (await tasks.fail.enqueue()).result(patience(10))
        assert "in fail" in failed.value.traceback
        assert (failed.value.status, failed.value.attempt) == ("dead", 1)
        with pytest.raises(TaskCancelled, match="gone"):
            await (await tasks.drop.enqueue()).result(patience(10))

        many = await tasks.make.enqueue_many([(1,), {"n": 2}, 3])
        assert [each.n for each in await many.results(patience(10))] == [1, 2, 3]
        assert len(many) == 3
        assert await (await tasks.nested.enqueue(5)).result(patience(20)) == 5, (
            "from a task's thread"
        )

        running = await tasks.hang.enqueue()
        with pytest.raises(TimeoutError):
            await running.result(timeout=0.05)
        assert await running.cancel("not needed") is True
        with pytest.raises(TaskCancelled, match="not needed"):
            await running.result(patience(10))

        # Not awaited, it is under way all the same.
        forgotten = tasks.make.enqueue(9)
        assert (await forgotten.result(patience(10))).n == 9

        one = await tasks.hang.options(key="k", delay="1h").enqueue(key="the function's own")
        two = await tasks.hang.options(key="k").enqueue()
        assert one == two, "one of a key at a time"
        assert (await queue_rows(db))[one.firing_id]["payload"] == (
            '{"kwargs": {"key": "the function\'s own"}}'
        )
        assert await one.status() == "waiting"
        unknown = Handle[None](rota, tasks.hang.spec, rota.running.tenant.id)
        with pytest.raises(ResultUnknown, match="nothing is known of the run"):
            await unknown.result(patience(5))
        await one.cancel()


async def test_sync_code_in_a_program_that_does_not_run(dsn: str, db: Database) -> None:
    """The same calls, from a thread without a loop: it connects by itself, once."""
    rota = program(dsn)
    tasks = Tasks(rota)
    found: list[object] = []

    def script() -> None:
        handle = tasks.make.enqueue(3, delay="1h")
        found.append(handle.status())
        found.append(len(tasks.make.enqueue_many(range(10))))
        found.append(handle.cancel())
        with pytest.raises(TaskCancelled):
            handle.wait(timeout=patience(10))

    thread = threading.Thread(target=script)
    thread.start()
    await asyncio.to_thread(thread.join, patience(30))
    assert found == ["waiting", 10, True]
    # And from a loop that is not the one it lives on.
    handle = await tasks.make.enqueue(4, delay="1h")
    assert await handle.status() == "waiting"
    assert len(await queue_rows(db)) == 11
    await asyncio.to_thread(asking.close, rota)


async def test_what_cannot_be_asked_for_is_refused_at_once(dsn: str) -> None:
    rota = program(dsn)
    tasks = Tasks(rota)
    with pytest.raises(WrongArguments, match="n missing"):
        tasks.make.enqueue()  # pyright: ignore[reportCallIssue]
    with pytest.raises(WrongArguments, match="Wrong argument n"):
        tasks.make.enqueue("seven", delay="1m")
    with pytest.raises(InvalidInput, match="expected a delay or an instant"):
        tasks.make.options(delay=5, at=NOW)
    with pytest.raises(InvalidInput, match="aware instant"):
        tasks.make.enqueue(1, at=datetime(2025, 1, 1))  # noqa: DTZ001 - on purpose
    with pytest.raises(InvalidInput, match="priority from 0 to 9"):
        tasks.make.enqueue(1, priority=10)
    for wrong in ("2026-01-01T00:00Z", date(2026, 1, 1)):
        with pytest.raises(InvalidInput, match="aware instant"):
            tasks.make.options(at=wrong)  # pyright: ignore[reportArgumentType]
    for wrong in ("high", 4.5, True):
        with pytest.raises(InvalidInput, match="priority from 0 to 9"):
            tasks.make.options(priority=wrong)  # pyright: ignore[reportArgumentType]
    for wrong in (7, "", "a\0b", "k" * 201):
        with pytest.raises(InvalidInput, match="a key of 1 to 200 characters"):
            tasks.make.options(key=wrong)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="a delay of at most 100 years"):
        await tasks.make.enqueue(1, delay=timedelta.max)
    with pytest.raises(InvalidInput, match="a key with one run"):
        tasks.make.options(key="k").enqueue_many([1])
    with pytest.raises(TypeError, match="expected a connection or session of asyncpg"):
        tasks.make.enqueue(1, connection=object())
    with pytest.raises(NotEnqueued, match="await the handle first"):
        _ = Handle[None](tasks.make.rota, tasks.make.spec, None).id
    await asyncio.to_thread(asking.close, rota)
