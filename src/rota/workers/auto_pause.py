"""Pausing the schedules whose targets say that they are gone (410)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rota.errors import TemporaryError
from rota.schedules.update import pause_version
from rota.workers.events import SchedulePaused

if TYPE_CHECKING:
    from rota.db import Database
    from rota.events import Bus
    from rota.queue.complete import Settlement


class AutoPause:
    """Pauses right after the outcome is recorded, in a transaction of its own: pausing locks the
    timer and the schedule first, as firing does, so it must not hold the outcome's rows.

    What is lost with its process is done at the next 410.
    """

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus
        self._pending: list[Settlement] = []
        self._arrived = asyncio.Event()

    def add(self, settlement: Settlement) -> None:
        """Pause its schedule soon."""
        self._pending.append(settlement)
        self._arrived.set()

    async def wait(self) -> None:
        """Return when there is one to pause."""
        await self._arrived.wait()

    async def run_once(self) -> int:
        """Pause what there is to pause. Returns how many."""
        count = 0
        while self._pending:
            try:
                count += await self._pause(self._pending[0])
            except TemporaryError:
                raise  # it stays first, and is tried again
            except BaseException:
                self._pending.pop(0)  # one that cannot be paused must not hold up the others
                raise
            self._pending.pop(0)
        self._arrived.clear()
        return count

    async def _pause(self, settlement: Settlement) -> bool:
        claim, reason = settlement.claim, settlement.reason or "the target is gone"

        async with self._db.transaction() as tx:
            paused = await pause_version(
                tx, claim.tenant_id, claim.schedule_id, version=claim.version, reason=reason
            )
        if paused:
            self._bus.publish(
                SchedulePaused(
                    schedule_id=claim.schedule_id,
                    tenant_id=claim.tenant_id,
                    firing_id=claim.id,
                    reason=reason,
                )
            )
        return paused
