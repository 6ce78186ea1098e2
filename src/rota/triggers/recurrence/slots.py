"""The wall-clock times a rule means: days and times put together, from its start to its end.

Times are seconds since 1970-01-01 00:00 on the wall clock's own reading; no zone is known here.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Protocol

from rota.triggers.civil import DAY
from rota.triggers.recurrence.days import Days
from rota.triggers.recurrence.rule import Frequency, Rule
from rota.triggers.recurrence.times import Times, picks


class Slots(Protocol):
    """Wall-clock times in order, searched from either side."""

    def first_from(self, local: int) -> int | None:
        """The first at or after; None when the calendar ends first."""
        ...

    def last_until(self, local: int) -> int | None:
        """The last at or before; None when the calendar begins first."""
        ...

    def nth_from(self, local: int, count: int) -> int | None:
        """The last of so many, counted from the first at or after; None when there are fewer."""
        ...


def slots_of(rule: Rule, start: int) -> Slots:
    """The slots of a completed rule, endless in both directions."""
    if rule.by_set_pos and rule.frequency < Frequency.DAILY:
        return Positions(rule, start)
    return Product(rule, start)


class Product:
    """Each matching time of each matching day."""

    __slots__ = ("_days", "_times")

    def __init__(self, rule: Rule, start: int) -> None:
        self._days = Days(rule, start // DAY)
        self._times = Times(rule, start)

    def first_from(self, local: int) -> int | None:
        if not self._times:
            return None
        day, second = divmod(local, DAY)
        while (found := self._days.first_from(self._times.day_from(day))) is not None:
            time = self._times.first_from(found, second if found == day else 0)
            if time is not None:
                return found * DAY + time
            day, second = found + 1, 0
        return None

    def last_until(self, local: int) -> int | None:
        if not self._times:
            return None
        day, second = divmod(local, DAY)
        while (found := self._days.last_until(self._times.day_until(day))) is not None:
            time = self._times.last_until(found, second if found == day else DAY - 1)
            if time is not None:
                return found * DAY + time
            day, second = found - 1, DAY - 1
        return None

    def nth_from(self, local: int, count: int) -> int | None:
        day, second = divmod(local, DAY)
        found = self._days.first_from(self._times.day_from(day)) if self._times else None
        if found == day:
            # Counted from the day's beginning instead.
            count += sum(time < second for time in self._times.listed(day))
        while found is not None:
            size = self._times.size(found)
            if size >= count:
                return found * DAY + self._times.listed(found)[count - 1]
            count -= size
            found = self._days.first_from(self._times.day_from(found + 1))
        return None


class Positions:
    """BYSETPOS: chosen ones among the matching times of each year, month or week."""

    __slots__ = ("_days", "_latest", "_picks")

    def __init__(self, rule: Rule, start: int) -> None:
        self._days = Days(rule, start // DAY)
        most = {Frequency.YEARLY: 366, Frequency.MONTHLY: 31}.get(rule.frequency, len(rule.by_day))
        self._picks = [(day, time) for day, time in picks(rule) if -most <= day < most]
        # The period looked at last, as its neighbours in time are asked about next.
        self._latest: tuple[int, list[int]] = (-1 << 62, [])

    def first_from(self, local: int) -> int | None:
        day = self._days.first_from(local // DAY) if self._picks else None
        while day is not None:
            period = self._days.period_of(day)
            found = self._of_period(period)
            at = bisect_left(found, local)
            if at < len(found):
                return found[at]
            day = self._days.first_from(self._days.first_day(period + 1))
        return None

    def last_until(self, local: int) -> int | None:
        day = self._days.last_until(local // DAY) if self._picks else None
        while day is not None:
            period = self._days.period_of(day)
            found = self._of_period(period)
            at = bisect_right(found, local)
            if at:
                return found[at - 1]
            day = self._days.last_until(self._days.first_day(period) - 1)
        return None

    def nth_from(self, local: int, count: int) -> int | None:
        found = self.first_from(local)
        while found is not None:
            period = self._days.period_of(found // DAY)
            of_period = self._of_period(period)
            at = bisect_left(of_period, found) + count - 1
            if at < len(of_period):
                return of_period[at]
            count = at - len(of_period) + 1
            found = self.first_from(self._days.first_day(period + 1) * DAY)
        return None

    def _of_period(self, period: int) -> list[int]:
        latest, found = self._latest
        if latest != period:
            days = self._days.of_period(period)
            count = len(days)
            chosen = {days[day] * DAY + time for day, time in self._picks if -count <= day < count}
            found = sorted(chosen)
            self._latest = period, found
        return found


class Bounded:
    """Slots from a start to an end; COUNT is the number of the last one, counted when needed."""

    __slots__ = ("_count", "_end", "_slots", "start")

    def __init__(self, slots: Slots, *, start: int, end: int, count: int | None) -> None:
        self._slots = slots
        self.start = start
        self._end = end
        self._count = count

    def first_from(self, local: int) -> int | None:
        found = self._slots.first_from(max(local, self.start))
        return found if found is not None and found <= self._last() else None

    def last_until(self, local: int) -> int | None:
        found = self._slots.last_until(min(local, self._last()))
        return found if found is not None and found >= self.start else None

    def _last(self) -> int:
        if self._count is not None:
            last = self._slots.nth_from(self.start, self._count)
            if last is not None:
                self._end = min(self._end, last)
            self._count = None
        return self._end
