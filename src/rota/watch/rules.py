"""When trouble begins and when it is over: one table of thresholds, and a decision. Pure.

A value above `alarm` opens an alert; one at or below `healthy` closes it; between the two nothing
changes, so that a value on the edge does not open and close one for ever.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from uuid import UUID

OVERDUE_GRACE: Final = timedelta(seconds=60)
"""After its instant a timer that nobody has fired is overdue (MO8): a restart takes less."""
WAITING_GRACE: Final = timedelta(minutes=2)
"""After its instant a slot that no worker has taken is overdue, too."""
ENOUGH: Final = 20
"""Firings of an hour, below which a rate says nothing."""
QUIET: Final = timedelta(days=7)
"""After this long without news, a trouble that nothing ends is no longer open."""
DOUBLE_QUIET: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Threshold:
    """Above `alarm` it is trouble, at or below `healthy` it is none."""

    healthy: float
    alarm: float


THRESHOLDS: Final[Mapping[str, Threshold]] = {
    "overdue": Threshold(0, 0),  # seconds beyond the grace: MO8
    "stalled": Threshold(5, 30),  # seconds that a shard's oldest timer is late: MO1, MO9
    "behind": Threshold(0, 0),  # whether a scheduler says so: MF7
    "circuit": Threshold(0, 0),  # whether it is open: HX5
    "flapping": Threshold(2, 5),  # changes of a shard's holder within an hour: MO5
    "deep": Threshold(100, 500),  # firings past their instant that wait for a worker: MO7
    "failing": Threshold(0.05, 0.10),  # of the last hour's firings: MO4
    "capture": Threshold(0, 0),  # attempts of today that were cut
    "slow": Threshold(0.80, 0.90),  # of the schedule's timeout: MO6
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was seen of a subject."""

    subject: str
    value: float
    detail: str
    tenant_id: UUID | None = None
    schedule_id: UUID | None = None

    @property
    def about(self) -> tuple[UUID | None, str]:
        """One trouble of a kind: whose, and about what."""
        return self.tenant_id, self.subject


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do about a kind's alerts."""

    opened: tuple[Reading, ...] = ()
    going_on: tuple[Reading, ...] = ()
    """Open, and still seen."""
    closed: tuple[tuple[UUID | None, str], ...] = ()


def decide(
    kind: str, readings: Collection[Reading], is_open: Collection[tuple[UUID | None, str]]
) -> Decision:
    """What the readings mean. What is open and has no reading any more is over."""
    limit = THRESHOLDS[kind]
    known = set(is_open)
    opened = tuple(r for r in readings if r.value > limit.alarm and r.about not in known)
    going_on = tuple(r for r in readings if r.value > limit.healthy and r.about in known)
    still = {r.about for r in going_on}
    return Decision(opened, going_on, tuple(each for each in is_open if each not in still))


def failing(succeeded: int, dead: int) -> float:
    """Which part of an hour's firings failed; 0 where there are too few to tell."""
    total = succeeded + dead
    return dead / total if total >= ENOUGH else 0.0
