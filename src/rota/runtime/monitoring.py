"""The scheduler's loops beside firing: calendars that grow old, and pings that do not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.runtime.loop import Loop, every
from rota.schedules.calendars.refresher import INTERVAL, Refresher
from rota.watch.monitors import Monitors

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus


def calendars_and_monitors(db: Database, *, bus: Bus, clock: Clock) -> tuple[Loop, ...]:
    """The loops, to be started; any number of nodes may have them."""
    refresher = Refresher(db, bus)
    monitors = Monitors(db, bus)

    async def wait() -> None:
        await monitors.wait(clock)

    return (
        Loop("calendars", refresher.run_once, wait=every(INTERVAL, clock), bus=bus, clock=clock),
        Loop("monitors", monitors.run_once, wait=wait, bus=bus, clock=clock),
    )
