"""The firings of the next seven days: how many in each hour, and the seconds in which most are due
at once. Pure; the work is bounded whatever the schedules are.

Hours are counted by arithmetic where a trigger allows it, so one that fires every second costs no
more than one that fires hourly. When time runs out, those looked at so far stand for all: they come
in an order that has nothing to do with what they are.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Final

from rota.dashboard import forecast_slots as slots
from rota.schedules.ahead import Plan
from rota.triggers.civil import floor_second
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rota.triggers.trigger import Trigger

HOUR: Final = 3_600
HOURS: Final = 7 * 24
_SPARSE: Final = 400
"""With so few slots, walking them is cheaper than counting every hour."""
_LONGEST_OFFSET: Final = 2 * 24 * HOUR


@dataclass(frozen=True, slots=True)
class Range:
    """From the next second on, through 168 hours of which the first is this one."""

    first: int
    end: int
    hour: int
    """The first second of the first hour, some of which has passed."""

    @classmethod
    def after(cls, now: datetime) -> Range:
        second = floor_second(now)
        hour = second - second % HOUR
        return cls(second + 1, hour + HOURS * HOUR, hour)

    @property
    def edges(self) -> list[int]:
        """Where each hour begins, and where the last one ends."""
        return [self.first, *range(self.hour + HOUR, self.end + 1, HOUR)]


@dataclass(slots=True)
class Same:
    """Schedules that are due in the very same seconds."""

    trigger: Trigger
    offset: timedelta
    left: int | None
    hours: list[int]
    plans: list[Plan] = field(default_factory=list[Plan])

    @property
    def total(self) -> int:
        return sum(self.hours)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """What was counted."""

    range: Range
    sames: list[Same]
    looked_at: int
    """How many schedules were looked at, those without any slot with them."""
    walks: Walks

    @property
    def hours(self) -> list[int]:
        """How many firings each hour has."""
        totals = [0] * HOURS
        for same in self.sames:
            weight = len(same.plans)
            for at, number in enumerate(same.hours):
                totals[at] += number * weight
        return totals


class Walks:
    """The seconds in which triggers are due, each trigger walked once for all that share it."""

    def __init__(self, range_: Range) -> None:
        self._range = range_
        self._known: dict[object, array[int]] = {}

    def due(self, same: Same) -> Iterable[int]:
        """The seconds of the range in which these are due, in their order."""
        found = self._seconds(same.trigger, same.offset)
        return found if same.left is None else islice(found, same.left)

    def _seconds(self, trigger: Trigger, offset: timedelta) -> Iterable[int]:
        first, end = self._range.first, self._range.end
        if not offset or not slots.is_whole(trigger):
            return self._kept(trigger, first, end, offset)
        # Many share the trigger and have offsets of their own: the slots are the same.
        shift = offset // timedelta(seconds=1)
        base = self._kept(trigger, first - _LONGEST_OFFSET, end, timedelta())
        return (each + shift for each in base if first <= each + shift < end)

    def _kept(self, trigger: Trigger, first: int, end: int, offset: timedelta) -> array[int]:
        key = (trigger, trigger.timezone, first, offset)
        found = self._known.get(key)
        if found is None:
            found = array("q", slots.seconds(trigger, first, end, offset=offset))
            self._known[key] = found
        return found


def count(
    plans: Iterable[Plan], *, now: datetime, in_time: Callable[[], bool] = lambda: True
) -> Counted:
    """The firings of these schedules, as far as `in_time` says that there is time."""
    range_ = Range.after(now)
    walks = Walks(range_)
    sames: dict[object, Same] = {}
    looked_at = 0
    for plan in plans:
        if not in_time():
            break
        looked_at += 1
        if plan.left == 0 or not is_timed(plan.trigger):
            continue
        # A zone tells equal intervals apart: a calendar's dates are those of the zone.
        key = (plan.trigger, plan.trigger.timezone, plan.offset, plan.left)
        same = sames.get(key)
        if same is None:
            same = sames[key] = Same(plan.trigger, plan.offset, plan.left, [])
            same.hours = _by_hour(same, range_, walks)
        same.plans.append(plan)
    found = [each for each in sames.values() if each.total]
    return Counted(range=range_, sames=found, looked_at=looked_at, walks=walks)


def _by_hour(same: Same, range_: Range, walks: Walks) -> list[int]:
    if slots.is_countable(same.trigger):
        total = slots.count(same.trigger, range_.first, range_.end, offset=same.offset)
        if total > _SPARSE:
            return _up_to(same.left, _counted(same, range_))
    hours = [0] * HOURS
    for second in walks.due(same):
        hours[(second - range_.hour) // HOUR] += 1
    return hours


def _counted(same: Same, range_: Range) -> list[int]:
    edges = range_.edges
    return [
        slots.count(same.trigger, since, until, offset=same.offset)
        for since, until in pairwise(edges)
    ]


def _up_to(left: int | None, hours: list[int]) -> list[int]:
    """The same, but no more in all than may still be."""
    if left is None:
        return hours
    before = [0, *accumulate(hours)]
    return [
        max(0, min(number, left - passed)) for number, passed in zip(hours, before, strict=False)
    ]
