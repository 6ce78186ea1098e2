"""Looking after the claims of others: every worker does, so that any one of them is enough."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.clock import Clock, SystemClock
from rota.errors import TemporaryError
from rota.leases.session import CONFIRMED_FOR
from rota.leases.sql import declare_gone, gone
from rota.queue.rescue import GONE_FOR, SILENT_FOR, holders, is_queue_empty, rescue
from rota.queue.unblock import free_held, free_stranded
from rota.workers.events import FiringRescued

if TYPE_CHECKING:
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.queue.rescue import Rescued


class Rescuer:
    """Rescues claims that have run out, and those of workers that are gone."""

    def __init__(
        self,
        db: Database,
        bus: Bus,
        *,
        clock: Clock | None = None,
        grace: timedelta = timedelta(),
    ) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock or SystemClock()
        self._grace = grace.total_seconds()
        self._patient_until = self._clock.monotonic() + self._grace

    async def run_once(self) -> int:
        """Rescue what there is to rescue; returns how many claims.

        A rescuer that could not reach the database itself, or has only come to it, first lets the
        others come back: after an outage nobody has a session for a moment, and those that live
        have outcomes to record for claims that have run out.
        """
        try:
            async with self._db.reading() as tx:
                if await is_queue_empty(tx):
                    return 0
            async with self._db.transaction() as tx:
                rescued = await self._rescue(tx)
                await free_stranded(tx)
                await free_held(tx)
        except TemporaryError:
            self._patient_until = self._clock.monotonic() + self._grace
            raise
        for each in rescued:
            self._bus.publish(
                FiringRescued(
                    firing_id=each.id,
                    attempt=each.attempt,
                    worker=each.worker,
                    state=each.state,
                )
            )
        return len(rescued)

    async def _rescue(self, tx: Tx) -> list[Rescued]:
        workers = await holders(tx)
        if not workers:
            return []
        await declare_gone(tx, workers, silent_for=SILENT_FOR - GONE_FOR)
        if self._clock.monotonic() < self._patient_until:
            return []
        found = await gone(tx, workers, for_=GONE_FOR, confirmed_for=CONFIRMED_FOR)
        return await rescue(tx, gone=found)
