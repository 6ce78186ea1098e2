"""Resuming what was paused until an instant, once that has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.events import Event
from rota.schedules import bulk_pause

if TYPE_CHECKING:
    from rota.db import Database
    from rota.events import Bus

INTERVAL: Final = timedelta(seconds=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class PausesEnded(Event):
    """Schedules run again, because the time of their pause was up."""

    count: int


class Resumer:
    """Any number of nodes may have one; one of them does the work."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus

    async def run_once(self) -> int:
        """Resume all whose time is up, a batch at a time; how many it were."""
        count = 0
        while True:
            part = await self._db.run(bulk_pause.resume_over, repeatable=True)
            done = part.changed + part.completed
            if not done:
                break
            count += done
            self._bus.publish(PausesEnded(count=done))
        return count
