"""A loop in a thread of its own, for programs that only enqueue and have no loop to do it on."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from typing import TYPE_CHECKING, Final

from rota.events import Bus
from rota.library.lifecycle import started
from rota.runtime.parts import Stop

if TYPE_CHECKING:
    from rota.library.lifecycle import Start
    from rota.library.running import Running

THREAD: Final = "rota client"
_CLOSE_TIMEOUT: Final = 10.0


class Aside:
    """Connects when it is first asked, and stays connected until the process ends."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._pid: int | None = None

    def running(self, start: Start) -> Running:
        """What there is to ask; connects first if that was not done in this process. Blocks."""
        with self._lock:
            # A fork has the memory of its parent, and neither its threads nor its connections.
            if self._connection is None or self._pid != os.getpid():
                self._connection = _Connection(start)
                self._pid = os.getpid()
            return self._connection.running

    def close(self) -> None:
        """Leave in order: an embedded server ends with the last one who uses it."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None


class _Connection:
    """The thread, and what was made in it."""

    def __init__(self, start: Start) -> None:
        self._made: list[Running] = []
        self._failed: list[BaseException] = []
        self._known = threading.Event()
        self._end = asyncio.Event()
        self._thread = threading.Thread(target=self._run, args=(start,), name=THREAD, daemon=True)
        self._thread.start()
        self._known.wait()
        if self._failed:
            raise self._failed[0]
        self.running = self._made[0]
        atexit.register(self.close)

    def close(self) -> None:
        atexit.unregister(self.close)
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            self.running.loop.call_soon_threadsafe(self._end.set)
        self._thread.join(_CLOSE_TIMEOUT)

    def _run(self, start: Start) -> None:
        # What it raises is told to whoever waits.
        with contextlib.suppress(BaseException):
            asyncio.run(self._main(start))

    async def _main(self, start: Start) -> None:
        try:
            async with started(start, bus=Bus(), stop=Stop()) as begun:
                self._made.append(begun.running)
                self._known.set()
                await self._end.wait()
        except BaseException as error:
            self._failed.append(error)
            raise
        finally:
            self._known.set()
