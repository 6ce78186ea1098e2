"""Giving back what a worker has claimed and will not come to: tasks that were quick are slow now.

A worker holds as much as it has lately got done in a moment (`appetite`). When what it holds takes
longer than that, the rest is for others, who may have nothing to do.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.workers import stopping
from rota.workers.held import Phase

if TYPE_CHECKING:
    import asyncio
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.db.server_clock import DatabaseClock
    from rota.queue.claim import Claim
    from rota.workers.appetite import Appetite
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings

PATIENCE: Final = timedelta(seconds=1)
"""For which a claim may be due and not begun, before anybody asks whether it will be."""


class Surplus:
    """Looks once a second; nearly always there is none."""

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        concurrency: int,
        holdings: Holdings,
        appetite: Appetite,
        rows: asyncio.Lock,
        time: DatabaseClock,
        clock: Clock,
    ) -> None:
        self._db = db
        self._worker = worker
        self._concurrency = concurrency
        self._holdings = holdings
        self._appetite = appetite
        self._rows = rows
        self._time = time
        self._clock = clock

    async def run_once(self) -> None:
        """Give back what will not be begun within the next seconds."""
        claims = self._let_go()
        await stopping.give_back(self._db, self._worker, claims, self._rows)

    async def wait(self) -> None:
        """Return when it is time to look again."""
        await self._clock.sleep(PATIENCE)

    def _let_go(self) -> list[Claim]:
        holdings = self._holdings
        soon = self._concurrency + self._appetite.soon(self._clock.monotonic())
        if holdings.waiting <= soon:
            return []
        before = self._time.now() - PATIENCE
        waiting = [held for held in holdings if _waits_in_vain(held, before)]
        waiting.sort(key=lambda held: (-held.claim.priority, held.claim.available_at))
        surplus = waiting[soon:]
        if surplus:
            self._appetite.overdid()
        for held in surplus:
            held.phase = Phase.SETTLING
            holdings.remove(held)
        return [held.claim for held in surplus]


def _waits_in_vain(held: Held, before: datetime) -> bool:
    """What waits for its host is the gate's affair."""
    return held.phase is Phase.DUE and held.claim.host is None and held.claim.available_at < before
