"""How many shards are a node's, and when a slow node should hold none. Pure.

A scheduler is *slow* when even its best round trip to the database, over some seconds, takes a
large part of the lead. If another one is far quicker, the slow one *stands back*: it gives its
leases up and takes none. It comes back when it has been quick again for a while, and at once when
no other scheduler is left. When all are slow alike nobody stands back: moving shards would not
help.

The best round trip, not the mean: a busy moment must not look like a long way. Measured in the
process itself, it includes the waiting of a starved one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

_ENOUGH: Final = 3


def fair_share(shards: int, schedulers: int) -> int:
    """The most that one of so many live schedulers holds: rounded up, so that none is left over."""
    return -(-shards // max(1, schedulers))


def excess(held: Collection[int], share: int) -> list[int]:
    """The shards to give up so that others get theirs."""
    return sorted(held)[share:]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowRule:
    """When a scheduler stands back, and for how long."""

    slow_above: timedelta = timedelta(milliseconds=200)
    """A tenth of the usual lead: a pass takes two round trips and a claim some more."""
    ratio: float = 4
    """Another one must be quicker by this factor."""
    observe_for: timedelta = timedelta(seconds=5)
    """How long the best round trip is looked for."""
    stand_back_for: timedelta = timedelta(minutes=1)
    """At least, the first time; twice as long each time after, up to"""
    longest: timedelta = timedelta(minutes=16)
    forget_after: timedelta = timedelta(hours=1)
    """After so long without standing back, the next time counts as the first."""


class SlowLeader:
    """Whether this scheduler stands back. Knows only what it is given, and remembers it."""

    def __init__(self, rule: SlowRule | None = None) -> None:
        self._rule = rule or SlowRule()
        self._samples: deque[tuple[float, float]] = deque()
        self._since: float | None = None
        """When the first sample was taken."""
        self._times = 0
        """How often it has stood back lately."""
        self._changed_at = float("-inf")
        self.stands_back = False

    def note(self, round_trip: float, *, now: float) -> None:
        """A round trip took so many seconds and has ended now, by the monotonic clock."""
        if self._since is None:
            self._since = now
        self._samples.append((now, round_trip))
        oldest = now - self._rule.observe_for.total_seconds()
        while len(self._samples) > _ENOUGH and self._samples[0][0] < oldest:
            self._samples.popleft()

    def best(self, *, now: float) -> timedelta | None:
        """The best round trip lately; None until it has been measured for long enough."""
        if self._since is None or len(self._samples) < _ENOUGH:
            return None
        if now - self._since < self._rule.observe_for.total_seconds():
            return None
        return timedelta(seconds=min(each for _, each in self._samples))

    def decide(self, candidates: Collection[timedelta], *, schedulers: int, now: float) -> bool:
        """Whether to stand back from now on.

        `candidates` are the best round trips of the others that are there and have not stood back;
        `schedulers` is how many there are of these, slow or not, without this one.
        """
        if self.stands_back:
            if schedulers == 0 or self._may_return(now):
                self._change(to=False, now=now)
        elif schedulers and self._is_outpaced(candidates, now):
            if now - self._changed_at >= self._rule.forget_after.total_seconds():
                self._times = 0
            self._times += 1
            self._change(to=True, now=now)
        return self.stands_back

    def _is_outpaced(self, candidates: Collection[timedelta], now: float) -> bool:
        own = self.best(now=now)
        if own is None or own <= self._rule.slow_above or not candidates:
            return False
        settled = now - self._changed_at >= self._rule.observe_for.total_seconds()
        return settled and min(candidates) * self._rule.ratio <= own

    def _may_return(self, now: float) -> bool:
        """When it has been quick for long; half of `slow_above`, or it would soon leave again."""
        own = self.best(now=now)
        wait = min(self._rule.stand_back_for * 2 ** (self._times - 1), self._rule.longest)
        waited = now - self._changed_at >= wait.total_seconds()
        return waited and own is not None and own <= self._rule.slow_above / 2

    def _change(self, *, to: bool, now: float) -> None:
        self.stands_back = to
        self._changed_at = now
