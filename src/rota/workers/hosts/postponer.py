"""Giving claims back for later, in batches, behind the work."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, NamedTuple

from rota.db import Backoff
from rota.queue.postpone import postpone
from rota.workers.events import WorkerTroubled, about
from rota.workers.held import Phase
from rota.workers.hosts.events import FiringPostponed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings


class _Postponed(NamedTuple):
    held: Held
    until: datetime
    reason: str


class Postponer:
    """Takes claims that are not to be begun now; says nothing until that is recorded.

    `gone` is called when some have left the worker's hands: there is room for others. `refused` is
    called when some could not be given back so: what the database still has as the worker's is to
    be released.
    """

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        holdings: Holdings,
        rows: asyncio.Lock,
        clock: Clock,
        bus: Bus,
        gone: Callable[[], None],
        refused: Callable[[], None],
    ) -> None:
        self._db = db
        self._worker = worker
        self._holdings = holdings
        self._rows = rows
        self._clock = clock
        self._bus = bus
        self._gone = gone
        self._refused = refused
        self._pending: list[_Postponed] = []
        self._arrived = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._backoff = Backoff()

    def add(self, held: Held, until: datetime, reason: str) -> None:
        """Give it back, to be claimed again at that instant."""
        held.phase, held.postponed = Phase.SETTLING, True
        self._pending.append(_Postponed(held, until, reason))
        self._empty.clear()
        self._arrived.set()

    async def drained(self) -> None:
        """Return when all that was added has been recorded."""
        await self._empty.wait()

    async def run(self) -> None:
        """Until cancelled. What cannot be recorded is tried again: its claim is kept alive."""
        failures = 0
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            try:
                await self._record()
            except Exception as error:  # noqa: BLE001 - outlives whatever happens in a pass
                failures += 1
                self._troubled(error)
                await self._clock.sleep(self._backoff.interval(failures, draw=random.random()))
                self._arrived.set()
            else:
                failures = 0

    async def _record(self) -> None:
        batch, self._pending = self._pending, []
        try:
            # One at a time with the heartbeat and the finisher: they lock the same rows.
            async with self._rows, self._db.transaction() as tx:
                claims = [(each.held.claim, each.until) for each in batch]
                accepted = await postpone(tx, self._worker, claims)
        except BaseException:
            self._pending[:0] = batch
            raise
        for each in batch:
            self._holdings.remove(each.held)
            if each.held.claim.id in accepted:
                self._tell(each)
        if len(accepted) < len(batch):
            self._refused()
        if not self._pending:
            self._empty.set()
        self._gone()

    def _tell(self, each: _Postponed) -> None:
        claim = each.held.claim
        self._bus.publish(
            FiringPostponed(
                **about(claim, self._worker),
                host=claim.host or "",
                until=each.until,
                reason=each.reason,
            )
        )

    def _troubled(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._bus.publish(WorkerTroubled(worker=self._worker, part="postpone", error=text))
