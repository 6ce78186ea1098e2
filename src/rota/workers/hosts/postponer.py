"""Giving claims back for later, in batches, behind the work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from rota.queue.heartbeat import postpone
from rota.workers.events import about
from rota.workers.hosts.events import FiringPostponed
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from datetime import datetime

    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared


class _Postponed(NamedTuple):
    held: InflightClaim
    until: datetime
    reason: str


class Postponer:
    """Takes claims that are not to be begun now; says nothing until that is recorded."""

    def __init__(
        self,
        shared: Shared,
    ) -> None:
        self._db = shared.db
        self._worker = shared.worker
        self._inflight = shared.inflight
        self._rows = shared.rows
        self._bus = shared.bus
        self._pending: list[_Postponed] = []
        self._arrived = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    def add(self, held: InflightClaim, until: datetime, reason: str) -> None:
        """Give it back, to be claimed again at that instant."""
        held.phase, held.postponed = Phase.COMPLETING, True
        self._pending.append(_Postponed(held, until, reason))
        self._empty.clear()
        self._arrived.set()

    async def drained(self) -> None:
        """Return when all that was added has been recorded."""
        await self._empty.wait()

    async def wait(self) -> None:
        """Return when there is something to give back."""
        await self._arrived.wait()

    async def run_once(self) -> None:
        """Give back what there is. What cannot be recorded is tried again: its claim is kept alive
        until then."""
        self._arrived.clear()
        if not self._pending:
            return
        batch, self._pending = self._pending, []
        try:
            # One at a time with the heartbeat and the completer: they lock the same rows.
            async with self._rows, self._db.transaction() as tx:
                claims = [(each.held.claim, each.until) for each in batch]
                accepted = await postpone(tx, self._worker, claims)
        except BaseException:
            self._pending[:0] = batch
            raise
        for each in batch:
            self._inflight.remove(each.held)
            if each.held.claim.id in accepted:
                self._tell(each)
        if len(accepted) < len(batch):
            # What the database still has as this worker's is to be released.
            self._inflight.claim_wake.dropped()
        if not self._pending:
            self._empty.set()
        self._inflight.claim_wake.made_room()

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
