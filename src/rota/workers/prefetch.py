"""Adaptive prefetch: limits the claims a worker holds to what it can complete in 250 ms.

A worker that holds much gets much done with each statement; one that holds more than it can begin
keeps work from others that could. So it may hold as much as it has lately got done in a moment. Of
what is still ahead of its instant it may hold more: what it could do, at its best, within twice the
time for which it looks ahead. A herd that is due at one instant is then claimed when it comes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import timedelta

MOMENT: Final = 0.25
"""Seconds."""
SOON: Final = 2.0
"""Seconds."""
WINDOW: Final = 0.05
"""Seconds over which a rate is taken."""
FORGET: Final = 300.0
"""Seconds after which what was its best is not believed any more."""
FEW: Final = 500
MOST: Final = 10_000
MOST_AHEAD: Final = 60_000


class Prefetch:
    """Counts what gets done. Pure: told the time, in seconds."""

    def __init__(self, *, prefetch: int, lead: timedelta) -> None:
        self._prefetch = prefetch
        self._lead = lead.total_seconds()
        self._since = 0.0
        self._done = 0
        self._rate = 0.0
        self._best = 0.0
        self._best_at = 0.0

    def record(self, count: int, now: float) -> None:
        """So many were done."""
        passed = now - self._since
        if passed > 1.0:
            # Idle until now: how long it took is not known.
            self._since, self._done, self._rate = now, 0, 0.0
            return
        self._done += count
        if passed < WINDOW:
            return
        self._rate = (self._rate + self._done / passed) / 2 if self._rate else self._done / passed
        self._since, self._done = now, 0
        if self._rate >= self._best or now - self._best_at > FORGET:
            self._best, self._best_at = self._rate, now

    def reset(self) -> None:
        """It held what it did not come to: what was its best is not believed any more, or it would
        at once claim again what it has just given back."""
        self._best = 0.0

    def prefetch(self, now: float) -> int:
        """How many more than it has slots it may hold."""
        return self._grown(self._lately(now) * MOMENT, MOST)

    def soon(self, now: float) -> int:
        """How many it will surely have begun within the next seconds."""
        return max(self._prefetch, int(self._lately(now) * SOON))

    def peak(self, now: float) -> int:
        """How many more than it has slots it might hold, at its peak throughput."""
        return self._grown(self._remembered(now) * MOMENT, MOST)

    def ahead(self, now: float) -> int:
        """How many it may hold of what is ahead of its instant."""
        return self._grown(self._remembered(now) * 2 * self._lead, MOST_AHEAD)

    def _lately(self, now: float) -> float:
        return self._rate if now - self._since <= 1.0 else 0.0

    def _remembered(self, now: float) -> float:
        return self._best if now - self._best_at <= FORGET else 0.0

    def _grown(self, wanted: float, most: int) -> int:
        """What little is done is done as well with what the worker was given."""
        return max(self._prefetch, min(int(wanted), most)) if wanted > FEW else self._prefetch
