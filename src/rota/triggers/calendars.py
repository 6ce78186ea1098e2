"""Calendars: local dates on which a trigger does not fire, such as holidays.

A calendar knows dates and nothing else. `Filtered` passes over the slots whose local date, in the
trigger's own zone, the calendar leaves out; it passes over a whole date at a time, so one that
fires every second costs no more than one that fires daily.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rota.triggers.civil import DAY, EPOCH, floor_second, instant_at
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rota.triggers.trigger import Trigger

#: How far to look past dates that are left out before saying that no slot is left.
HORIZON = timedelta(days=50 * 366)
_TICK = timedelta(microseconds=1)
#: A local day is no shorter or longer than its zone's offsets differ, which is 26 hours at most.
_SURELY = timedelta(days=2)
_FIRST, _LAST = date.min.toordinal(), date.max.toordinal()


class Calendar(Protocol):
    """Which local dates count."""

    def includes(self, local_date: date) -> bool:
        """Whether a trigger may fire on this date. The same answer every time."""
        ...

    def reason(self, local_date: date) -> str:
        """Why a date is left out, in a few words; nothing when nobody said."""
        ...


@dataclass(frozen=True, slots=True)
class Days:
    """Every date but some days of the week and some dates; `kept` outdoes both."""

    excluded: frozenset[date] = frozenset()
    weekdays: frozenset[int] = frozenset()
    """Left out in every week: 0 is Monday."""
    kept: frozenset[date] = frozenset()
    names: Mapping[date, str] = field(default_factory=dict[date, str], hash=False, compare=False)
    """What people call some of the dates that are left out."""

    def includes(self, local_date: date) -> bool:
        if local_date in self.kept:
            return True
        return local_date not in self.excluded and local_date.weekday() not in self.weekdays

    def reason(self, local_date: date) -> str:
        if local_date in self.excluded:
            return self.names.get(local_date, "")
        return f"{local_date:%A}"


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
            ahead = on.ends_at - _TICK + self._passed_over(on.date, 1)
            slot = self.trigger.next_after(max(slot, ahead))
        return None

    def previous_before(self, instant: datetime) -> datetime | None:
        slot = passed = self.trigger.previous_before(instant)
        while slot is not None and passed is not None and passed - slot <= HORIZON:
            on = self._local_day(slot)
            if self.calendar.includes(on.date):
                return slot
            back = on.begins_at - self._passed_over(on.date, -1)
            slot = self.trigger.previous_before(min(slot, back))
        return None

    def left_out(self, after: datetime, until: datetime) -> Iterator[date]:
        """The dates between two instants on which the trigger would fire, were they not left out.

        Each once, in their order: a date that the wall clock reads twice is one date.
        """
        last: date | None = None
        slot = self.trigger.next_after(after)
        while slot is not None and slot < until:
            on = self._local_day(slot)
            if on.date != last and not self.calendar.includes(on.date):
                last = on.date
                yield on.date
            slot = self.trigger.next_after(max(slot, on.ends_at - _TICK))

    def included_spans(
        self, after: datetime, until: datetime
    ) -> Iterator[tuple[datetime, datetime]]:
        """The stretches (after, until] of a range whose local dates are not left out."""
        while after < until:
            on = self._local_day(after + _TICK)
            end = min(on.ends_at - _TICK, until)
            if self.calendar.includes(on.date):
                yield after, end
            after = end

    @property
    def timezone(self) -> str:
        return self.trigger.timezone

    @property
    def signature(self) -> str:
        """The inner trigger's: a holiday more does not make it another schedule."""
        return self.trigger.signature

    def _passed_over(self, day: date, step: int) -> timedelta:
        """How far the next date that is included surely is from the end of one that is not.

        The trigger is not asked for its slots on years that are left out: thousands of questions,
        where a look at each date will do.
        """
        first, ordinal, count = day.toordinal(), 0, 0
        for count in range(HORIZON.days):
            ordinal = first + step * (count + 1)
            if not _FIRST <= ordinal <= _LAST or self.calendar.includes(date.fromordinal(ordinal)):
                break
        return max(timedelta(count) - _SURELY, timedelta())

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
