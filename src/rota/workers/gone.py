"""Pausing the schedules whose targets say that they are no more (410: S13, S18)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rota.errors import TemporaryError
from rota.schedules.changing import pause_version
from rota.workers.events import SchedulePaused

if TYPE_CHECKING:
    from rota.db import Database
    from rota.events import Bus
    from rota.queue.finish import Settlement


class Gone:
    """Pauses right after the outcome is recorded, in a transaction of its own: pausing locks the
    timer and the schedule first, as firing does, and the outcome's rows must not be held meanwhile.

    What is lost on the way, with its process, the next 410 makes good.
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
        """Pause what there is to pause; how many it were."""
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
