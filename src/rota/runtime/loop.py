"""The one loop: work in passes, wait between them, back off when a pass fails, and go on.

A stage puts its work in `run_once`; a loop only decides when the next pass is. No failure ends a
loop: a database that is away makes it wait longer, anything else is published as a fault.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.db import Backoff
from rota.errors import TemporaryError
from rota.events import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.clock import Clock
    from rota.events import Bus

_BACKOFF = Backoff(first_interval=timedelta(milliseconds=200), max_interval=timedelta(seconds=5))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopDelayed(Event):
    """A pass came to nothing for a passing reason; the next one is a little later."""

    loop: str
    failures: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFailed(Event):
    """A pass ended in an error that nobody foresaw. The loop goes on all the same."""

    loop: str
    failures: int
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopRecovered(Event):
    """The first pass after failures that went well."""

    loop: str
    failures: int


class Loop:
    """Calls `run_once`, then `wait`, for ever; `stop` ends it between two passes."""

    def __init__(
        self,
        name: str,
        run_once: Callable[[], Awaitable[object]],
        *,
        wait: Callable[[], Awaitable[object]],
        bus: Bus,
        clock: Clock,
        backoff: Backoff = _BACKOFF,
    ) -> None:
        self.name = name
        self._run_once = run_once
        self._wait = wait
        self._bus = bus
        self._clock = clock
        self._backoff = backoff
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self._in_pass = False
        self._stopping = False

    def start(self) -> None:
        """Begin, in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self.run(), name=f"rota {self.name}")

    async def run(self) -> None:
        """Go on until stopped or cancelled."""
        while not self._stopping:
            if await self._pass() and not self._stopping:
                await self._wait()

    async def stop(self) -> None:
        """Let a pass that runs come to its end; a wait is cut short."""
        self._stopping = True
        task = self._task
        if task is None:
            return
        if not self._in_pass:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _pass(self) -> bool:
        """Whether it went well."""
        self._in_pass = True
        try:
            await self._run_once()
        except TemporaryError as error:
            self._failures += 1
            self._bus.publish(
                LoopDelayed(loop=self.name, failures=self._failures, reason=str(error))
            )
        except Exception as error:  # noqa: BLE001 - a loop outlives whatever one pass runs into
            self._failures += 1
            self._bus.publish(LoopFailed(loop=self.name, failures=self._failures, error=error))
        else:
            self._recover()
            return True
        finally:
            self._in_pass = False
        if not self._stopping:
            await self._clock.sleep(self._backoff.interval(self._failures, draw=random.random()))
        return False

    def _recover(self) -> None:
        if self._failures:
            self._bus.publish(LoopRecovered(loop=self.name, failures=self._failures))
        self._failures = 0


def every(interval: timedelta, clock: Clock) -> Callable[[], Awaitable[None]]:
    """A wait of the same length each time."""

    async def wait() -> None:
        await clock.sleep(interval)

    return wait
