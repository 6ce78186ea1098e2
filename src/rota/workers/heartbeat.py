"""Keeping claims alive, and hearing which of them are wanted back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.extend import extend
from rota.queue.states import RECALLS
from rota.workers.held import Phase, Stop
from rota.workers.news import concerns_held, work_waits

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Collection
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Subscription
    from rota.db.server_clock import DatabaseClock
    from rota.queue.extend import Extended
    from rota.workers.claimer import Claimer
    from rota.workers.held import Held
    from rota.workers.holdings import Holdings
    from rota.workers.letting_go import LettingGo
    from rota.workers.pace import Pace
    from rota.workers.unending import Unending


class Heartbeat:
    """Extends all claims of a worker, from time to time and when somebody wants one of them."""

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        pace: Pace,
        lanes: Collection[str],
        holdings: Holdings,
        claimer: Claimer,
        letting_go: LettingGo,
        unending: Unending,
        rows: asyncio.Lock,
        time: DatabaseClock,
        clock: Clock,
    ) -> None:
        self._db = db
        self._worker = worker
        self._pace = pace
        self._lanes = lanes
        self._holdings = holdings
        self._claimer = claimer
        self._letting_go = letting_go
        self._unending = unending
        self._rows = rows
        self._time = time
        self._clock = clock
        self._wanted = True
        """Whether somebody may want back what is held."""

    async def run_once(self) -> None:
        """Extend all claims; drop those that were lost, end those that are wanted back.

        Those that have just been made need it only when somebody may want one of them: a herd that
        is held ahead would be written a second time.
        """
        visibility = self._pace.visibility
        async with self._rows:
            held = list(self._holdings)
            if not self._wanted:
                soon = self._time.now() + visibility - self._pace.heartbeat_interval / 2
                held = [each for each in held if each.trusted_until < soon]
            if not held:
                return
            # Read before the request: a slow reply must shorten our trust, never stretch it.
            asked_at = self._time.now()
            async with self._db.transaction() as tx:
                claims = [each.claim for each in held]
                extended = await extend(tx, self._worker, claims, visibility)
            self._wanted = False
        for each in held:
            self._apply(each, extended, asked_at + visibility)

    async def wait(self, news: Subscription | None) -> None:
        """Return when it is time, or when somebody wants something that we hold."""
        started = self._clock.monotonic()
        while True:
            passed = timedelta(seconds=self._clock.monotonic() - started)
            left = self._pace.heartbeat_interval - passed
            if left <= timedelta():
                return
            if news is None:
                await self._clock.sleep(left)
                self._wanted = True
                return
            wake = await news.wait(left)
            if work_waits(wake, self._lanes):
                self._claimer.look()
            if concerns_held(wake, self._holdings):
                self._wanted = True
                return

    def _apply(self, held: Held, extended: Extended, until: datetime) -> None:
        id_ = held.claim.id
        if self._holdings.get(id_) is not held or held.phase is Phase.SETTLING:
            return
        if id_ in extended.lost:
            self._letting_go.lose(held)
            return
        held.trusted_until = max(held.trusted_until, until)
        reason = extended.cancelled.get(id_)
        if reason is None:
            if id_ in extended.edited and held.unstarted:
                self._letting_go.put_back(held)
            return
        if held.unstarted:
            self._letting_go.end(held, reason)
        elif reason not in RECALLS:
            self._unending.break_off(held, Stop.CANCELLED, reason)
