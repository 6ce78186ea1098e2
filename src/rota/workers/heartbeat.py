"""Keeping claims alive, and hearing which of them are wanted back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.queue.heartbeat import extend
from rota.queue.states import WITHDRAW_REASONS
from rota.workers.channels import concerns_held
from rota.workers.inflight import Phase, Stop

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Subscription
    from rota.queue.heartbeat import Extended
    from rota.workers.claim_release import ClaimRelease
    from rota.workers.executor import Executor
    from rota.workers.inflight import InflightClaim
    from rota.workers.shared import Shared


class Heartbeat:
    """Extends all claims of a worker, from time to time and when somebody wants one of them.

    `news` says when that is (`channels.WANTED`); without it, only time tells.
    """

    def __init__(
        self,
        shared: Shared,
        *,
        release: ClaimRelease,
        executor: Executor,
        news: Subscription | None,
    ) -> None:
        self._db = shared.db
        self._worker = shared.worker
        self._settings = shared.settings
        self._inflight = shared.inflight
        self._rows = shared.rows
        self._time = shared.time
        self._clock = shared.clock
        self._news = news
        self._release = release
        self._executor = executor
        self._wanted = True
        """Whether somebody may want back what is held."""

    async def run_once(self) -> None:
        """Extend all claims; drop those that were lost, end those that are wanted back.

        Those that have just been made need it only when somebody may want one of them: a herd that
        is held ahead would be written a second time.
        """
        visibility = self._settings.visibility
        async with self._rows:
            held = list(self._inflight)
            if not self._wanted:
                soon = self._time.now() + visibility - self._settings.heartbeat_interval / 2
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

    async def wait(self) -> None:
        """Return when it is time, or when somebody wants something that we hold."""
        started = self._clock.monotonic()
        while True:
            passed = timedelta(seconds=self._clock.monotonic() - started)
            left = self._settings.heartbeat_interval - passed
            if left <= timedelta():
                return
            if self._news is None:
                await self._clock.sleep(left)
                self._wanted = True
                return
            wake = await self._news.wait(left)
            if concerns_held(wake, self._inflight):
                self._wanted = True
                return

    def _apply(self, held: InflightClaim, extended: Extended, until: datetime) -> None:
        id_ = held.claim.id
        if self._inflight.get(id_) is not held or held.phase is Phase.COMPLETING:
            return
        if id_ in extended.lost:
            self._executor.lose(held)
            return
        held.trusted_until = max(held.trusted_until, until)
        reason = extended.cancelled.get(id_)
        if reason is None:
            if id_ in extended.edited and held.unstarted:
                self._release.put_back(held)
            return
        if held.unstarted:
            self._release.end(held, reason)
        elif reason not in WITHDRAW_REASONS:
            self._executor.break_off(held, Stop.CANCELLED, reason)
