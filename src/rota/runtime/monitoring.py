"""The scheduler's services beside firing: calendars that grow old, and pings that do not come."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.schedules.calendars.refresher import INTERVAL, Refresher
from rota.service import Service
from rota.watch.monitors import Monitors

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus


def calendars_and_monitors(db: Database, *, bus: Bus, clock: Clock) -> tuple[Service, ...]:
    """The services, to be started; any number of nodes may have them."""
    refresher = Refresher(db, bus)
    monitors = Monitors(db, bus)

    async def wait() -> None:
        await monitors.wait(clock)

    return (
        Service("calendars", refresher.run_once, wait=INTERVAL, bus=bus, clock=clock),
        Service("monitors", monitors.run_once, wait=wait, bus=bus, clock=clock),
    )
