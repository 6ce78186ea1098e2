"""What is to happen when.

Of one instant, runs end first, then timers fire, then attempts begin, those of a higher priority
first. What has become something else since it was noted does not happen.
"""

from __future__ import annotations

import heapq
import itertools
from typing import TYPE_CHECKING, Final

from rota.testing.firing import Entry, Firing

if TYPE_CHECKING:
    from datetime import datetime

END, TIMER, BEGIN = range(3)
_HIGHEST: Final = 9


class Agenda:
    """Ends, timers and attempts to come."""

    def __init__(self) -> None:
        self._events: list[tuple[datetime, int, int, int, Entry | Firing]] = []
        self._order = itertools.count()

    def note(self, at: datetime, phase: int, what: Entry | Firing) -> None:
        is_firing = isinstance(what, Firing)
        rank = _HIGHEST - what.priority if is_firing else 0
        order = what.order if is_firing else next(self._order)
        heapq.heappush(self._events, (at, phase, rank, order, what))

    def next_at(self) -> datetime | None:
        """When something happens next; None when nothing will."""
        while self._events:
            at, phase, _, _, what = self._events[0]
            if _holds(at, phase, what):
                return at
            heapq.heappop(self._events)
        return None

    def pop(self) -> tuple[int, Entry | Firing]:
        """What `next_at` has spoken of: its phase, and whose it is."""
        _, phase, _, _, what = heapq.heappop(self._events)
        return phase, what


def _holds(at: datetime, phase: int, what: Entry | Firing) -> bool:
    if isinstance(what, Entry):
        return what.slot is not None and what.slot + what.spread == at
    if what.over:
        return False
    if phase == END:
        return what.pending is not None and what.pending.settlement.finished_at == at
    return what.state in {"waiting", "retrying"} and what.available_at == at
