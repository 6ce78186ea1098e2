"""The one shape of every loop: do one pass, wait, and again; trouble is told and never ends it."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from rota.db import Backoff

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import timedelta

    from rota.clock import Clock

_BACKOFF = Backoff()


async def repeat(
    once: Callable[[], Awaitable[object]],
    *,
    wait: Callable[[], Awaitable[object]],
    troubled: Callable[[Exception], None],
    stopping: asyncio.Event,
    clock: Clock,
) -> None:
    """Until `stopping`: a pass under way is finished, never cut."""
    failures = 0
    while not stopping.is_set():
        try:
            await once()
        except Exception as error:  # noqa: BLE001 - a loop outlives whatever happens in a pass
            failures += 1
            troubled(error)
            interval = _BACKOFF.interval(failures, draw=random.random())
            await either(stopping, clock, interval)
        else:
            failures = 0
            await wait()


async def either(event: asyncio.Event, clock: Clock, interval: timedelta) -> None:
    """Return when the event is set or the interval has passed, whichever comes first."""
    if event.is_set():
        return
    waits: set[asyncio.Task[object]] = {
        asyncio.ensure_future(event.wait()),
        asyncio.ensure_future(clock.sleep(interval)),
    }
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
        await asyncio.wait(waits)
