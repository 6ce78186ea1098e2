"""The only place that reads a clock or waits for time to pass.

Everything else asks for the instant it needs. A `Clock` tells two times: `now`, the wall clock as
an aware UTC datetime, for people and records; and `monotonic`, seconds that never jump, for
measuring how long something took and how long a lease may be trusted.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """What the program needs to know of time."""

    def now(self) -> datetime:
        """The wall clock, aware and in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds from an arbitrary start; never goes back, never jumps."""
        ...

    async def sleep(self, interval: timedelta) -> None:
        """Return once the interval has passed on the monotonic clock."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251 - the one permitted reading

    def monotonic(self) -> float:
        return time.monotonic()  # noqa: TID251 - the one permitted reading

    async def sleep(self, interval: timedelta) -> None:
        await asyncio.sleep(max(0.0, interval.total_seconds()))  # noqa: TID251 - the one wait


class ManualClock:
    """A clock that moves only when a test says so; sleepers wake in the order of their instants."""

    def __init__(self, start: datetime) -> None:
        if start.tzinfo is None:
            raise ValueError("expected an aware start instant, got a naive one")
        self._start = start.astimezone(UTC)
        self._elapsed = timedelta()
        self._sleepers: list[tuple[timedelta, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> datetime:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return self._elapsed.total_seconds()

    async def sleep(self, interval: timedelta) -> None:
        if interval <= timedelta():
            await asyncio.sleep(0)  # noqa: TID251 - yields to the loop, waits for nothing
            return
        wake = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + interval, next(self._order), wake))
        await wake

    async def advance(self, interval: timedelta) -> None:
        """Move time on, stopping at each sleeper's instant to let it run before going further."""
        if interval < timedelta():
            raise ValueError(f"expected a forward step, got {interval}")
        target = self._elapsed + interval
        while self._sleepers and self._sleepers[0][0] <= target:
            self._elapsed, _, wake = heapq.heappop(self._sleepers)
            if not wake.done():
                wake.set_result(None)
            await _settle()
        self._elapsed = target
        await _settle()


async def set_or_late(event: asyncio.Event, interval: timedelta, clock: Clock) -> None:
    """Return when the event is set or the interval has passed, whichever comes first."""
    if event.is_set():
        return
    waits: set[asyncio.Task[object]] = {
        asyncio.create_task(event.wait()),
        asyncio.ensure_future(clock.sleep(interval)),
    }
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)


async def _settle() -> None:
    """Let tasks that have just been woken run up to their next wait."""
    for _ in range(10):
        await asyncio.sleep(0)  # noqa: TID251 - yields to the loop, waits for nothing
