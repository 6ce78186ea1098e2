"""Giving back what a worker has claimed and will not come to: tasks that were quick are slow now.

A worker holds as much as it has lately got done in a moment (`prefetch`). When what it holds takes
longer than that, the rest is for others, who may have nothing to do.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.workers import stopping
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.claim import Claim
    from rota.workers.inflight import InflightClaim
    from rota.workers.prefetch import Prefetch
    from rota.workers.shared import Shared

PATIENCE: Final = timedelta(seconds=1)
"""For which a claim may be due and not begun, before anybody asks whether it will be."""


class ExcessRelease:
    """Looks once a second; nearly always there is none."""

    def __init__(
        self,
        shared: Shared,
        prefetch: Prefetch,
    ) -> None:
        self._db = shared.db
        self._worker = shared.worker
        self._concurrency = shared.settings.concurrency
        self._inflight = shared.inflight
        self._rows = shared.rows
        self._time = shared.time
        self._clock = shared.clock
        self._prefetch = prefetch

    async def run_once(self) -> None:
        """Give back what will not be begun within the next seconds."""
        claims = self._let_go()
        await stopping.give_back(self._db, self._worker, claims, self._rows)

    def _let_go(self) -> list[Claim]:
        inflight = self._inflight
        soon = self._concurrency + self._prefetch.soon(self._clock.monotonic())
        if inflight.waiting <= soon:
            return []
        before = self._time.now() - PATIENCE
        waiting = [held for held in inflight if _waits_in_vain(held, before)]
        waiting.sort(key=lambda held: (-held.claim.priority, held.claim.available_at))
        excess = waiting[soon:]
        if excess:
            self._prefetch.reset()
        for held in excess:
            held.phase = Phase.COMPLETING
            inflight.remove(held)
        return [held.claim for held in excess]


def _waits_in_vain(held: InflightClaim, before: datetime) -> bool:
    """What waits for its host is for the host limiter to give back."""
    return (
        held.phase is Phase.READY and held.claim.host is None and held.claim.available_at < before
    )
