"""The one background loop: run a pass, wait, back off when a pass fails, and go on.

A stage puts its work in `run_once`; its service only decides when the next pass is. No failure ends
a service: while the database is away it waits longer, and any other error is published as a fault.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.backoff import Backoff
from rota.errors import TemporaryError
from rota.events import Event

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rota.clock import Clock
    from rota.events import Bus

_BACKOFF = Backoff(first_interval=timedelta(milliseconds=200), max_interval=timedelta(seconds=5))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceDelayed(Event):
    """A pass failed for a passing reason, such as a database that is away; it is tried again."""

    service: str
    failures: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFailed(Event):
    """A pass ended in an unexpected error. The service goes on."""

    service: str
    failures: int
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecovered(Event):
    """The first pass after failures that succeeded."""

    service: str
    failures: int


class Service:
    """Runs `run_once`, then waits, until it is stopped.

    `wait` is an interval, or a coroutine function that returns when another pass makes sense.
    """

    def __init__(
        self,
        name: str,
        run_once: Callable[[], Awaitable[object]],
        *,
        wait: timedelta | Callable[[], Awaitable[object]],
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
        """Start in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self.run(), name=f"rota {self.name}")

    async def run(self) -> None:
        """Run until stopped or cancelled."""
        while not self._stopping:
            if await self._pass() and not self._stopping:
                await self._until_next()

    async def stop(self, *, within: timedelta | None = None) -> None:
        """Finish the pass under way, if there is one, and end; a wait is cut short.

        A pass that takes longer than `within` is cancelled.
        """
        self._stopping = True
        task, self._task = self._task, None
        if task is None:
            return
        if not self._in_pass:
            task.cancel()
        elif within is not None:
            await asyncio.wait({task}, timeout=within.total_seconds())
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def cancel(self) -> None:
        """End at once, also in the middle of a pass; `stop` waits for that."""
        self._stopping = True
        if self._task is not None:
            self._task.cancel()

    async def _until_next(self) -> None:
        if isinstance(self._wait, timedelta):
            await self._clock.sleep(self._wait)
        else:
            await self._wait()

    async def _pass(self) -> bool:
        """Whether it succeeded."""
        self._in_pass = True
        try:
            await self._run_once()
        except TemporaryError as error:
            self._failures += 1
            reason = str(error)
            self._bus.publish(
                ServiceDelayed(service=self.name, failures=self._failures, reason=reason)
            )
        except Exception as error:  # noqa: BLE001 - a service outlives whatever one pass runs into
            self._failures += 1
            self._bus.publish(
                ServiceFailed(service=self.name, failures=self._failures, error=error)
            )
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
            self._bus.publish(ServiceRecovered(service=self.name, failures=self._failures))
        self._failures = 0
