"""Several worker processes as one: started, started again when one dies, and ended together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.clock import SystemClock
from rota.runtime.lifeline import LIVED, RESTARTS, Lifeline, ended

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rota.clock import Clock

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Supervisor:
    """Runs a command `count` times at once, until it is told to stop.

    The first signal is passed on, so that all end in order; the second too, so that they hurry; the
    third kills them. `say` gets a line whenever one ends by itself.
    """

    def __init__(
        self,
        command: Sequence[str],
        count: int,
        *,
        say: Callable[[str], None],
        clock: Clock | None = None,
    ) -> None:
        self._command = command
        self._count = count
        self._say = say
        self._clock = clock or SystemClock()
        self._processes: set[asyncio.subprocess.Process] = set()
        self._stopping = asyncio.Event()
        self._asked = 0

    async def run(self) -> None:
        """Until all have ended because somebody asked."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.stop)
        with Lifeline() as lifeline:
            await asyncio.gather(*(self._keep(number, lifeline) for number in range(self._count)))

    def stop(self) -> None:
        """Ask all to end; again, to hurry; once more, and they are killed."""
        self._asked += 1
        self._stopping.set()
        number = signal.SIGTERM if self._asked < 3 else signal.SIGKILL
        for each in self._processes:
            with contextlib.suppress(ProcessLookupError):
                each.send_signal(number)

    async def _keep(self, number: int, lifeline: Lifeline) -> None:
        failures = 0
        while not self._stopping.is_set():
            began = self._clock.monotonic()
            code = await self._once(lifeline)
            if self._stopping.is_set():
                return
            lived = timedelta(seconds=self._clock.monotonic() - began)
            failures = 1 if lived >= LIVED else failures + 1
            wait = RESTARTS.interval(failures, draw=random.random())
            self._say(
                f"worker process {number + 1} ended by itself ({ended(code)}); "
                f"another is started in {wait.total_seconds():.1f} s"
            )
            await self._pause(wait)

    async def _once(self, lifeline: Lifeline) -> int:
        # A session of its own: Ctrl-C in a terminal goes to us alone, and we pass it on once.
        process = await asyncio.create_subprocess_exec(
            *self._command,
            env={**os.environ, **lifeline.variables},
            pass_fds=(lifeline.descriptor,),
            start_new_session=True,
        )
        self._processes.add(process)
        if self._stopping.is_set():
            process.terminate()
        try:
            return await process.wait()
        finally:
            self._processes.discard(process)

    async def _pause(self, wait: timedelta) -> None:
        waits = {
            asyncio.ensure_future(self._clock.sleep(wait)),
            asyncio.ensure_future(self._stopping.wait()),
        }
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for each in waits:
            each.cancel()


def command_of(arguments: Sequence[str]) -> list[str]:
    """This same program, with these arguments."""
    return [sys.executable, "-m", "rota", *arguments]
