"""The one shape of every loop: do one pass, wait, and again; trouble is told and never ends it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rota.clock import set_or_late
from rota.db import Backoff

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

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
            await set_or_late(stopping, interval, clock)
        else:
            failures = 0
            await wait()
