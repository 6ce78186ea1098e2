"""The hands of a worker: tasks of the loop that make one attempt after another.

A task for each attempt would cost more than many an attempt itself. So a hand goes on to the next
when it has done one, and a function that waits for nothing costs no turn of the loop. What must not
pass from one attempt to the next does not: a hand that was cancelled, or whose context variables
were set, is not used again.

How many hands begin at once is learned: one, while attempts wait for nothing; twice as many each
time when those begun are all waiting, until there are enough for all that is due.
"""

from __future__ import annotations

import asyncio
import contextlib
from contextvars import copy_context
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import datetime

    from rota.db.server_clock import DatabaseClock
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings

SLICE: Final = timedelta(milliseconds=2)
"""For which a hand goes from one attempt to the next before others have their turn."""


class Hands:
    """Begins what is due: `next_` says what, `attempt` does it and says when it was over."""

    def __init__(
        self,
        *,
        holdings: Holdings,
        next_: Callable[[datetime], Held | None],
        attempt: Callable[[Held, datetime], Awaitable[datetime]],
        time: DatabaseClock,
    ) -> None:
        self._holdings = holdings
        self._next = next_
        self._attempt = attempt
        self._time = time
        self.tasks: set[asyncio.Task[None]] = set()
        self._left: set[asyncio.Task[None]] = set()
        """Those that nobody waits for any more; kept, or they might vanish half-way."""
        self._one_ended = asyncio.Event()
        self._crew = 1
        """How many to begin with."""
        self._turn = 0
        """Counts the loop's turns in which some were begun: a hand sees by it that it waited."""
        self._wanted = False
        self.closed = False

    def end(self) -> None:
        """Begin nothing more, and break off what there is: who ends the loop waits for that."""
        self.closed = True
        for task in (*self.tasks, *self._left):
            task.cancel()

    async def ended(self, within: timedelta) -> None:
        """Return when all have ended, but for those that were left, or when the time is up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, within.total_seconds())):
                while self.tasks:
                    self._one_ended.clear()
                    await self._one_ended.wait()

    def leave(self, task: asyncio.Task[None]) -> None:
        """It may never end: its attempt was settled without it."""
        self._left.add(task)
        self._gone(task)

    def wanted(self) -> None:
        """Begin in the loop's next turn: many come due, or make room, in the same one."""
        if not self._wanted:
            self._wanted = True
            asyncio.get_running_loop().call_soon(self._begin)

    def _begin(self) -> None:
        self._wanted = False
        if self.closed:
            return
        self._turn += 1
        due = self._holdings.may_begin
        if due <= 0:
            return
        for _ in range(min(due, self._crew)):
            self.tasks.add(asyncio.create_task(self._work()))
        if self._crew < due:
            self.wanted()
            self._crew *= 2

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._go_through(task)
        finally:
            self._left.discard(task)
            self._gone(task)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._one_ended.set()

    async def _go_through(self, task: asyncio.Task[None]) -> None:
        before = copy_context()
        now = self._time.now()
        until = now + SLICE
        turn, done = self._turn, 0
        while (held := self._next(now)) is not None:
            held.task = task
            now = await self._attempt(held, now)
            if task.cancelling() or copy_context() != before:
                break
            if self._turn != turn:
                # It has waited. Others had their turn; it goes on with a new one.
                turn, done = self._turn, 0
                until = now + SLICE
                continue
            done += 1
            if done == 2:
                self._crew = 1
            if now >= until:
                break
        else:
            # Nothing is due, or nothing may begin now: who changes that wants hands again. To ask
            # on and on would be to wait at full speed.
            return
        if self._holdings.may_begin > 0:
            self.wanted()
