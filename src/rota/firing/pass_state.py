"""The state of one pass: the due timers it read, what came of them, and what is left to do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rota.firing.fire import Fired, Reading
    from rota.firing.plan import Due, Plan


@dataclass(slots=True)
class PassCounts:
    """What came of the timers of a pass."""

    fired: int = 0
    caught_up: int = 0
    """Those of the fired that are catch-ups."""
    skipped: int = 0
    missed: int = 0
    cancelled: int = 0
    completed: int = 0
    refused: int = 0
    """Timers that had changed since they were read."""
    failed: int = 0
    """Timers that could not be planned."""

    def add(self, result: Fired, plans: int) -> None:
        """Count the result of this many plans."""
        self.fired += result.fired
        self.caught_up += result.caught_up
        self.skipped += result.skipped
        self.missed += result.missed
        self.cancelled += result.cancelled
        self.completed += result.completed
        self.refused += plans - len(result.moved)

    @property
    def any(self) -> bool:
        """Whether there is anything to report."""
        return bool(self.fired or self.skipped or self.missed or self.completed or self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one pass did, and when the next is worth making."""

    counts: PassCounts
    lag: timedelta = timedelta()
    """How far behind the oldest timer was."""
    more: bool = False
    """There is, or may be, more to do at once."""
    wake_at: datetime | None = None
    """By the database's clock; None when nothing is in sight."""


class PassState:
    """What a pass has read and done so far."""

    def __init__(
        self,
        reading: Reading,
        lows: Mapping[int, datetime],
        *,
        limit: int,
        lead: timedelta,
        counts: PassCounts | None = None,
    ) -> None:
        """`counts` are those of the pass, when this is a second read within it."""
        self.counts = counts or PassCounts()
        self.now = reading.now
        self.horizon = reading.now + lead
        self.lows = lows
        self.timers = reading.timers
        self.ahead = reading.ahead
        """When the next timer beyond the horizon is due, as far as is known."""
        by_shard = Counter(due.shard for due in reading.timers)
        self.full = {shard for shard, count in by_shard.items() if count >= limit}
        """Shards that may have more."""
        self.moved: set[UUID] = set()
        self.left: list[Due] = []
        """To decide on at their due instant."""
        self.given_up: set[UUID] = set()
        self._next_due: dict[int, datetime] = {}

    @property
    def lag(self) -> timedelta:
        """How far behind the oldest timer is."""
        return max(timedelta(), self.now - self.timers[0].due_at) if self.timers else timedelta()

    def fired(self, plans: Sequence[Plan], result: Fired) -> None:
        """Take in what came of these plans."""
        self.counts.add(result, sum(each.due.shard not in result.lost for each in plans))
        self.moved |= result.moved
        for each in plans:
            due_at = each.following_due_at
            if due_at is None or each.due.schedule_id not in self.moved:
                continue
            if due_at <= self.horizon:
                earliest = self._next_due.get(each.due.shard, due_at)
                self._next_due[each.due.shard] = min(earliest, due_at)
            else:
                self.ahead = due_at if self.ahead is None else min(self.ahead, due_at)

    def has_more(self) -> bool:
        """A timer is due again before the horizon, or a shard that moved has not been read whole.

        One that did not move has to wait for the instants of what it showed: reading it again at
        once would show the same.
        """
        moving = {due.shard for due in self.timers if due.schedule_id in self.moved}
        return bool(self.full & moving or self._next_due)

    def unfinished(self) -> dict[int, datetime]:
        """For each shard, the first instant at which something may be left to do."""
        first = dict.fromkeys(self.lows, self.horizon)
        # What a full shard has beyond its limit is due no earlier than the last one read.
        first |= {due.shard: due.due_at for due in self.timers if due.shard in self.full}
        for due in self.timers:
            if due.schedule_id not in self.moved and due.schedule_id not in self.given_up:
                first[due.shard] = min(first[due.shard], due.due_at)
        for shard, due_at in self._next_due.items():
            first[shard] = min(first[shard], due_at)
        return first
