"""Tasks that go from one attempt to the next: nothing passes between them."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from tests.deadlines import patience

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.service import Service
from rota.workers.executor_pool import ExecutorPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.workers.inflight import Inflight, InflightClaim

SEEN: ContextVar[int] = ContextVar("SEEN", default=0)


class Line(ExecutorPool):
    """So many that are due; `each` is done for every one."""

    def __init__(self, count: int, each: Callable[[int], Awaitable[None]], most: int = 100) -> None:
        self.left, self.most, self.busy, self.top = count, most, 0, 0
        self._each = each
        self.done = asyncio.Event()
        self.count = count
        self.open, self.asked = True, 0
        self.start_wake = asyncio.Event()
        time = DatabaseClock(SystemClock())
        super().__init__(inflight=cast("Inflight", self), time=time)

    @property
    def may_begin(self) -> int:
        return min(self.left, self.most - self.busy)

    def take(self, now: datetime) -> InflightClaim | None:
        assert now > datetime(2026, 1, 1, tzinfo=UTC)
        self.asked += 1
        if self.may_begin <= 0 or not self.open:
            return None
        self.left -= 1
        self.busy += 1
        self.top = max(self.top, self.busy)
        return cast("Any", type("Claim", (), {"task": None})())

    async def attempt(self, held: InflightClaim, now: datetime) -> datetime:
        assert held.task is asyncio.current_task()
        try:
            await self._each(self.count)
        finally:
            self.busy -= 1
            self.count -= 1
            if not self.count:
                self.done.set()
        return max(now, self._time.now())

    async def all_done(self) -> None:
        service = Service("line", self.run_once, wait=self.wait, bus=Bus(), clock=SystemClock())
        service.start()
        self.start_wake.set()
        await asyncio.wait_for(self.done.wait(), patience(10))
        await service.stop(within=timedelta())


async def test_one_task_goes_through_what_waits_for_nothing() -> None:
    tasks: set[object] = set()

    async def each(_: int) -> None:
        tasks.add(asyncio.current_task())

    line = Line(1_000, each)
    await line.all_done()
    assert len(tasks) < 500
    assert line.top == 1


async def test_what_waits_is_begun_all_at_once_up_to_the_slots_there_are() -> None:
    free = asyncio.Event()
    line: Line

    async def each(_: int) -> None:
        if line.busy == 100:
            free.set()
        await free.wait()

    line = Line(300, each)
    await line.all_done()
    assert line.top == 100


async def test_no_context_variable_passes_from_one_attempt_to_the_next() -> None:
    async def each(at: int) -> None:
        assert SEEN.get() == 0
        if at % 3:
            SEEN.set(at)

    await Line(30, each).all_done()


async def test_a_task_that_was_cancelled_is_not_used_again() -> None:
    async def each(at: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling()
        if at == 5:
            task.cancel()

    await Line(10, each).all_done()


async def test_others_have_their_turn_meanwhile() -> None:
    turns = 0

    async def each(_: int) -> None:
        asyncio.get_running_loop().call_soon(turn)
        for _ in range(20_000):
            pass

    def turn() -> None:
        nonlocal turns
        turns += line.count > 0

    line = Line(200, each)
    await line.all_done()
    assert turns > 5


async def test_tasks_that_may_begin_nothing_do_not_ask_on_and_on() -> None:
    """A worker that stops, or has too much to record: they start when the executor is woken."""

    async def each(_: int) -> None:
        return

    line = Line(50, each)
    line.open = False
    await line.run_once()
    for _ in range(200):
        await turn_of_the_loop()
    assert not line.tasks
    assert line.asked < 200
    line.open = True
    await line.all_done()


async def turn_of_the_loop() -> None:
    over = asyncio.Event()
    asyncio.get_running_loop().call_soon(over.set)
    await over.wait()
