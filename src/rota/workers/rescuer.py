"""Looking after the claims of others: every worker does, so that any one of them is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.queue.rescue import free_stranded, gone_workers, rescue
from rota.workers.events import FiringRescued

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database
    from rota.events import Bus


class Rescuer:
    """Rescues claims that have run out, and those of workers that are gone."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus
        self._suspected: frozenset[UUID] = frozenset()

    async def run_once(self) -> int:
        """Rescue what there is to rescue; how many it were.

        A worker is believed to be gone when it was so in the pass before as well: after a restart
        of the server, nobody has a session for a moment.
        """
        async with self._db.transaction() as tx:
            suspected = await gone_workers(tx)
            rescued = await rescue(tx, gone=suspected & self._suspected)
            await free_stranded(tx)
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
