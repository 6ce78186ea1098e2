"""What a call may cost, whatever the target does."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from tests.deadlines import Strain

from rota.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

CLOCK = SystemClock()
DEADLINE = 1.0
MARGIN = 0.5
MOST_MEMORY = 5 * 1024 * 1024
PAGE = 4096
HEAD = b"HTTP/1.1 200 OK\r\n"


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * PAGE


@asynccontextmanager
async def bounded(*, memory: int = MOST_MEMORY) -> AsyncGenerator[None]:
    """The block takes no more than the deadline and a little, and grows no more than that."""
    gc.collect()
    before = most = _resident()
    ended = asyncio.Event()

    async def watch() -> None:
        nonlocal most
        while not ended.is_set():
            most = max(most, _resident())
            await CLOCK.sleep(timedelta(milliseconds=20))

    watching = asyncio.create_task(watch())
    strain = Strain()
    started = CLOCK.monotonic()
    try:
        yield
    finally:
        took = CLOCK.monotonic() - started
        ended.set()
        await watching
    assert took <= DEADLINE + MARGIN + strain.seconds, f"it took {took:.2f} s"
    assert most - before < memory, f"it grew by {(most - before) / 1e6:.1f} MB"
