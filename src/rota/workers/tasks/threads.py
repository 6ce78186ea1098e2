"""Threads for plain functions: as many as there are slots, and none that keeps a process alive.

`concurrent.futures` would wait at exit for a function that never returns; these are daemons. What
comes back is gathered, so that the loop is woken once for many results.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import TYPE_CHECKING

from rota.workers.tasks.failures import reply_to

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.workers.caller import Reply


class Work:
    """A function that was given to a thread."""

    __slots__ = ("_lingers", "_returned", "function", "future", "on_returned", "reply")

    def __init__(self, function: Callable[[], Reply], future: asyncio.Future[Reply]) -> None:
        self.function = function
        self.future = future
        """What came of it. Cancelling it does not end the function."""
        self.reply: Reply | None = None
        self.on_returned: Callable[[], None] | None = None
        """Called on the loop when its thread is free again."""
        self._lingers: asyncio.Future[None] | None = None
        self._returned = False

    def linger(self) -> asyncio.Future[None] | None:
        """Done when the function has returned; None when it has. For who no longer waits."""
        if self._returned:
            return None
        self._lingers = self.future.get_loop().create_future()
        return self._lingers

    def deliver(self) -> None:
        """It has returned. On the loop."""
        self._returned = True
        if self.reply is not None and not self.future.done():
            self.future.set_result(self.reply)
        if self._lingers is not None and not self._lingers.done():
            self._lingers.set_result(None)
        if self.on_returned is not None:
            self.on_returned()


class Threads:
    """Runs functions in threads, at most `most` at once, for one event loop."""

    def __init__(self, most: int, *, name: str = "rota task") -> None:
        self._most = most
        self._name = name
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._free = 0
        """Threads without work, as far as the loop knows."""
        self._started = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._done: list[Work] = []
        self._lock = threading.Lock()

    def run(self, function: Callable[[], Reply]) -> Work:
        """Call it in a thread. To be called on the loop."""
        work = self.work(function)
        self.start(work)
        return work

    def work(self, function: Callable[[], Reply]) -> Work:
        """The same, to be started later."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return Work(function, self._loop.create_future())

    def start(self, work: Work) -> None:
        """Have the next free thread call it. On the loop."""
        if self._free:
            self._free -= 1
        elif self._started < self._most:
            self._started += 1
            name = f"{self._name} {self._started}"
            threading.Thread(target=self._serve, name=name, daemon=True).start()
        self._waiting.put(work)

    def close(self) -> None:
        """No more: threads end when their function does."""
        for _ in range(self._started):
            self._waiting.put(None)

    def _serve(self) -> None:
        while (work := self._waiting.get()) is not None:
            try:
                # Cancelled before a thread was free: it must not run after its attempt is over.
                if not work.future.cancelled():
                    work.reply = work.function()
            except BaseException as error:  # noqa: BLE001 - even SystemExit is the task's failure
                work.reply = reply_to(error)
            self._hand_over(work)
            del work

    def _hand_over(self, work: Work) -> None:
        with self._lock:
            self._done.append(work)
            first = len(self._done) == 1
        if first and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:
                return  # the loop is closed: nobody waits any more

    def _deliver(self) -> None:
        with self._lock:
            done, self._done = self._done, []
        self._free += len(done)
        for work in done:
            work.deliver()
