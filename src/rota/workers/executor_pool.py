"""The executor's tasks: asyncio tasks that run one attempt after another.

A task for each attempt would cost more than many an attempt itself. So a task goes on to the next
attempt when it has finished one, and a function that waits for nothing costs no turn of the loop.
Nothing passes from one attempt to the next: a task that was cancelled, or whose context variables
were set, is not used again.

How many tasks start at once is learned: one, while attempts wait for nothing; twice as many each
time when those started are all waiting, until there are enough for all that is due.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from contextvars import copy_context
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db.server_clock import DatabaseClock
    from rota.workers.inflight import Inflight, InflightClaim

SLICE: Final = timedelta(milliseconds=2)
"""For which a task goes from one attempt to the next before the loop has its turn."""


class ExecutorPool(ABC):
    """Starts what is due: `take` says what, `attempt` runs it."""

    def __init__(self, *, inflight: Inflight, time: DatabaseClock) -> None:
        self._inflight = inflight
        self._time = time
        self.tasks: set[asyncio.Task[None]] = set()
        self._abandoned: set[asyncio.Task[None]] = set()
        """Nobody waits for them any more; kept, or they might be collected while they run."""
        self._one_ended = asyncio.Event()
        self._ramp = 1
        """How many tasks to start at once."""
        self._ramps = False
        """Whether more are started in the loop's next turn."""
        self._turn = 0
        """Counts the turns of the loop in which tasks were started: by it a task sees that it has
        waited."""
        self.closed = False

    @abstractmethod
    def take(self, now: datetime) -> InflightClaim | None:
        """What is to start now; None when nothing is due, or nothing may start."""

    @abstractmethod
    async def attempt(self, held: InflightClaim, now: datetime) -> datetime:
        """Run it; returns the instant at which it was over, and its task is free for another."""

    async def run_once(self) -> None:
        """Start what is due."""
        if not self._ramps:
            self._start()

    async def wait(self) -> None:
        """Return when something may start that could not before."""
        await self._inflight.start_wake.wait()
        self._inflight.start_wake.clear()

    def close(self) -> None:
        """Start nothing more, and cancel what runs."""
        self.closed = True
        for task in (*self.tasks, *self._abandoned):
            task.cancel()

    async def drained(self, within: timedelta) -> None:
        """Return when all tasks but the abandoned ones have ended, or when the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, within.total_seconds())):
                while self.tasks:
                    self._one_ended.clear()
                    await self._one_ended.wait()

    def abandon(self, task: asyncio.Task[None]) -> None:
        """It may never end: its attempt was settled without it."""
        self._abandoned.add(task)
        self._left(task)

    def _start(self) -> None:
        self._ramps = False
        if self.closed:
            return
        self._turn += 1
        due = self._inflight.may_begin
        if due <= 0:
            return
        for _ in range(min(due, self._ramp)):
            self.tasks.add(asyncio.create_task(self._work()))
        if self._ramp < due:
            self._ramps = True
            self._ramp *= 2
            asyncio.get_running_loop().call_soon(self._start)

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._run_attempts(task)
        finally:
            self._abandoned.discard(task)
            self._left(task)

    def _left(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._one_ended.set()

    async def _run_attempts(self, task: asyncio.Task[None]) -> None:
        before = copy_context()
        now = self._time.now()
        until = now + SLICE
        turn, done = self._turn, 0
        while (held := self.take(now)) is not None:
            held.task = task
            now = await self.attempt(held, now)
            if task.cancelling() or copy_context() != before:
                break
            if self._turn != turn:
                # It has waited. Others had their turn; it goes on with a new one.
                turn, done = self._turn, 0
                until = now + SLICE
                continue
            done += 1
            if done == 2:
                self._ramp = 1
            if now >= until:
                break
        else:
            # Nothing is due, or nothing may start now: whatever changes that wakes the executor.
            # Waking it here would busy-loop.
            return
        if self._inflight.may_begin > 0:
            self._inflight.start_wake.set()
