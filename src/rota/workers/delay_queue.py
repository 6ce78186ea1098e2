"""Starting at the instant: what is held ahead, by the instant at which it may begin.

One timer of the loop for each distinct instant, however many claims share it: a herd of thousands
costs one wake-up. Nothing is released before the database's clock has reached the instant.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.db.server_clock import DatabaseClock
    from rota.workers.inflight import Inflight, InflightClaim

# Timers are as fine as a millisecond in some loops; asking for less would spin.
_TICK = 0.001


@dataclass(slots=True, eq=False)
class _Entry:
    held: dict[InflightClaim, None] = field(default_factory=dict["InflightClaim", None])
    """In the order in which they came."""
    by_tenant: Counter[UUID] = field(default_factory=Counter["UUID"])
    timer: asyncio.TimerHandle | None = None


class DelayQueue:
    """Claims ahead of their instant; all of an instant become ready at once, when it has come."""

    def __init__(self, time: DatabaseClock, inflight: Inflight) -> None:
        self._time = time
        self._inflight = inflight
        self._entries: dict[datetime, _Entry] = {}
        self._len = 0
        self.by_tenant: Counter[UUID] = Counter()
        """How many claims of each tenant wait for their instant."""

    def __len__(self) -> int:
        return self._len

    def add(self, held: InflightClaim) -> None:
        """Make it ready at its instant: at once when that has come."""
        instant = held.start_at
        entry = self._entries.get(instant)
        if entry is None:
            if self._time.until(instant).total_seconds() <= 0:
                self._inflight.line_up([held])
                return
            self._entries[instant] = entry = _Entry()
            self._arm(instant, entry)
        tenant = held.claim.tenant_id
        self._len += 1
        self.by_tenant[tenant] += 1
        entry.by_tenant[tenant] += 1
        entry.held[held] = None

    def remove(self, held: InflightClaim) -> None:
        """Forget it."""
        instant = held.start_at
        entry = self._entries.get(instant)
        if entry is None or held not in entry.held:
            return
        tenant = held.claim.tenant_id
        del entry.held[held]
        entry.by_tenant[tenant] -= 1
        self._len -= 1
        self._count_off({tenant: 1})
        if not entry.held:
            self._drop(instant, entry)

    def clear(self) -> list[InflightClaim]:
        """Forget all, and say what it was."""
        found = [held for entry in self._entries.values() for held in entry.held]
        for instant, entry in list(self._entries.items()):
            self._drop(instant, entry)
        return found

    def rearm(self) -> None:
        """The database's clock was set: set every timer again."""
        for instant, entry in list(self._entries.items()):
            if entry.timer is not None:
                entry.timer.cancel()
            self._arm(instant, entry)

    def _arm(self, instant: datetime, entry: _Entry) -> None:
        loop = asyncio.get_running_loop()
        wait = max(self._time.until(instant).total_seconds(), _TICK)
        entry.timer = loop.call_at(loop.time() + wait, self._ring, instant)

    def _ring(self, instant: datetime) -> None:
        entry = self._entries[instant]
        if self._time.until(instant).total_seconds() > 0:
            # The loop's timers may ring a hair early, and clocks may have been corrected since.
            self._arm(instant, entry)
            return
        self._forget(instant, entry)
        self._inflight.at_instant(list(entry.held))

    def _drop(self, instant: datetime, entry: _Entry) -> None:
        if entry.timer is not None:
            entry.timer.cancel()
        self._forget(instant, entry)

    def _forget(self, instant: datetime, entry: _Entry) -> None:
        del self._entries[instant]
        self._len -= len(entry.held)
        self._count_off(entry.by_tenant)

    def _count_off(self, gone: Mapping[UUID, int]) -> None:
        for tenant, count in gone.items():
            self.by_tenant[tenant] -= count
            if not self.by_tenant[tenant]:
                del self.by_tenant[tenant]
