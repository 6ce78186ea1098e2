"""Calendars: local dates on which a trigger does not fire, such as holidays.

A calendar knows dates and nothing else. `Filtered` passes over the slots whose local date, in the
trigger's own zone, the calendar leaves out; it passes over a whole date at a time, so one that
fires every second costs no more than one that fires daily.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rota.triggers.civil import DAY, EPOCH, floor_second, instant_at
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

#: How far to look past dates that are left out before saying that no slot is left.
HORIZON = timedelta(days=50 * 366)
_TICK = timedelta(microseconds=1)


class Calendar(Protocol):
    """Which local dates count."""

    def includes(self, local_date: date) -> bool:
        """Whether a trigger may fire on this date. The same answer every time."""
        ...


@dataclass(frozen=True, slots=True)
class DateSet:
    """Every date but these."""

    excluded: frozenset[date]

    def includes(self, local_date: date) -> bool:
        return local_date not in self.excluded


@dataclass(frozen=True, slots=True)
class Filtered:
    """The slots of a trigger on the dates that a calendar includes.

    None means that no slot is left, or none within fifty years of the first one passed over.
    """

    trigger: Trigger
    calendar: Calendar

    def next_after(self, instant: datetime) -> datetime | None:
        slot = passed = self.trigger.next_after(instant)
        while slot is not None and passed is not None and slot - passed <= HORIZON:
            on = self._local_day(slot)
            if self.calendar.includes(on.date):
                return slot
            slot = self.trigger.next_after(max(slot, on.ends_at - _TICK))
        return None

    def previous_before(self, instant: datetime) -> datetime | None:
        slot = passed = self.trigger.previous_before(instant)
        while slot is not None and passed is not None and passed - slot <= HORIZON:
            on = self._local_day(slot)
            if self.calendar.includes(on.date):
                return slot
            slot = self.trigger.previous_before(min(slot, on.begins_at))
        return None

    @property
    def timezone(self) -> str:
        return self.trigger.timezone

    @property
    def signature(self) -> str:
        """The inner trigger's: a holiday more does not make it another schedule."""
        return self.trigger.signature

    def _local_day(self, slot: datetime) -> _LocalDay:
        clock = zone(self.trigger.timezone)
        second = floor_second(slot)
        stretch = clock.stretch_at(second)
        offset = clock.offsets[stretch]
        day = (second + offset) // DAY
        begins = max(day * DAY - offset, clock.starts[stretch])
        ends = (day + 1) * DAY - offset
        if stretch + 1 < len(clock.starts):
            ends = min(ends, clock.starts[stretch + 1])
        return _LocalDay((EPOCH + timedelta(day)).date(), instant_at(begins), instant_at(ends))


class _LocalDay(NamedTuple):
    """A local date and the time around a slot during which the wall clock reads it.

    Cut short at a change of the clock: one that goes back over midnight reads a date twice.
    """

    date: date
    begins_at: datetime
    ends_at: datetime
