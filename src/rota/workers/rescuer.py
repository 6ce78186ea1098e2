"""Looking after the claims of others: every worker does, so that any one of them is enough."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.clock import Clock, SystemClock
from rota.errors import TemporaryError
from rota.queue.rescue import free_held, free_stranded, gone_workers, rescue
from rota.workers.events import FiringRescued

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database
    from rota.events import Bus


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
        self._suspected: frozenset[UUID] = frozenset()
        self._patient_until = self._clock.monotonic() + self._grace

    async def run_once(self) -> int:
        """Rescue what there is to rescue; how many it were.

        A worker is believed to be gone when it was so in the pass before as well. Whoever could
        not reach the database itself, or has only come to it, first lets the others come back:
        after an outage nobody has a session for a moment, and those who live have outcomes to
        record for claims that have run out.
        """
        try:
            async with self._db.transaction() as tx:
                suspected = await gone_workers(tx)
                patient = self._clock.monotonic() < self._patient_until
                gone = suspected & self._suspected
                rescued = [] if patient else await rescue(tx, gone=gone)
                await free_stranded(tx)
                await free_held(tx)
        except TemporaryError:
            self._patient_until = self._clock.monotonic() + self._grace
            raise
        self._suspected = suspected
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
