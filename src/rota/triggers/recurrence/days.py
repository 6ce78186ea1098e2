"""Which days a rule means, one whole year at a time.

python-dateutil says which days of a year match; it is never asked about more than one year, so its
work has a bound, and asking about 2090 costs what asking about 1990 does. It is asked at most once
for each *kind* of year: two years that begin on the same weekday, with leap years in the same
places around them, have the same matching days. A year's days are one bit mask, and INTERVAL is
arithmetic on the number of the period.
"""

from __future__ import annotations

from calendar import isleap
from datetime import MAXYEAR, datetime, timedelta

from dateutil import rrule

from rota.triggers.civil import (
    DAY,
    EPOCH,
    FIRST_DAYS,
    FIRST_YEAR,
    LAST_YEAR,
    MONTH_COUNT,
    month_index,
)
from rota.triggers.recurrence.rule import Frequency, Rule

_ALL_MONTHS = tuple(range(1, 13))
_ALL_MONTH_DAYS = tuple(range(1, 32))
#: The wall-clock times between which slots are: on the calendar, whatever the zone.
FIRST_DAY = FIRST_DAYS[0] + 2
LAST_DAY = FIRST_DAYS[-1] - 3
FIRST_SECOND = FIRST_DAY * DAY
LAST_SECOND = LAST_DAY * DAY + DAY - 1

_YEARS = tuple(FIRST_DAYS[::12])
#: Years with the same number have the same days, weekdays and week numbers.
_KINDS = tuple(
    (_YEARS[year - FIRST_YEAR] % 7, isleap(year - 1), isleap(year), isleap(year + 1))
    for year in range(FIRST_YEAR, LAST_YEAR + 1)
)


class Days:
    """The days of a completed rule, counted from 1970-01-01, without regard to its start."""

    __slots__ = ("_first_period", "_interval", "_masks", "_rule")

    def __init__(self, rule: Rule, start_day: int) -> None:
        self._rule = rule
        self._interval = rule.interval if rule.frequency <= Frequency.DAILY else 1
        self._first_period = self.period_of(start_day)
        self._masks: dict[tuple[int, bool, bool, bool], int] = {}

    def first_from(self, day: int) -> int | None:
        """The first matching day at or after; None when the calendar ends first."""
        found = self._match_from(day)
        while found is not None and self._interval > 1:
            period = self.period_of(found)
            behind = (period - self._first_period) % self._interval
            if not behind:
                break
            found = self._match_from(self.first_day(period + self._interval - behind))
        return found

    def last_until(self, day: int) -> int | None:
        """The last matching day at or before; None when the calendar begins first."""
        found = self._match_until(day)
        while found is not None and self._interval > 1:
            period = self.period_of(found)
            behind = (period - self._first_period) % self._interval
            if not behind:
                break
            found = self._match_until(self.first_day(period - behind + 1) - 1)
        return found

    def of_period(self, period: int) -> list[int]:
        """Every matching day of a period."""
        first = max(self.first_day(period), FIRST_DAYS[0])
        end = min(self.first_day(period + 1), FIRST_DAYS[-1])
        found: list[int] = []
        while first < end:
            # A week may lie in two years.
            year = month_index(first) // 12
            stop = min(end, _YEARS[year + 1])
            mask = self._mask(year) >> first - _YEARS[year] & (1 << stop - first) - 1
            found += [first + bit for bit in bits(mask)]
            first = stop
        return found

    def period_of(self, day: int) -> int:
        """The number of the year, month, week or day in which the day lies."""
        match self._rule.frequency:
            case Frequency.YEARLY:
                return month_index(day) // 12
            case Frequency.MONTHLY:
                return month_index(day)
            case Frequency.WEEKLY:
                # 1970-01-01 was a Thursday.
                return (day + 3 - self._rule.week_start) // 7
            case _:
                return day

    def first_day(self, period: int) -> int:
        """The day on which a period begins; for one outside the calendar, the nearer end."""
        match self._rule.frequency:
            case Frequency.YEARLY:
                return FIRST_DAYS[min(max(period * 12, 0), MONTH_COUNT)]
            case Frequency.MONTHLY:
                return FIRST_DAYS[min(max(period, 0), MONTH_COUNT)]
            case Frequency.WEEKLY:
                return period * 7 - 3 + self._rule.week_start
            case _:
                return period

    def _match_from(self, day: int) -> int | None:
        day = max(day, FIRST_DAY)
        if day > LAST_DAY:
            return None
        year = month_index(day) // 12
        mask = self._mask(year) >> day - _YEARS[year] << day - _YEARS[year]
        while not mask:
            year += 1
            if year == len(_KINDS):
                return None
            mask = self._mask(year)
        found = _YEARS[year] + lowest(mask)
        return found if found <= LAST_DAY else None

    def _match_until(self, day: int) -> int | None:
        day = min(day, LAST_DAY)
        if day < FIRST_DAY:
            return None
        year = month_index(day) // 12
        mask = self._mask(year) & (2 << day - _YEARS[year]) - 1
        while not mask:
            year -= 1
            if year < 0:
                return None
            mask = self._mask(year)
        found = _YEARS[year] + mask.bit_length() - 1
        return found if found >= FIRST_DAY else None

    def _mask(self, year: int) -> int:
        """The year's matching days; bit 0 is 1 January."""
        kind = _KINDS[year]
        mask = self._masks.get(kind)
        if mask is None:
            mask = self._masks[kind] = matching_days(self._rule, year)
        return mask


def matching_days(rule: Rule, year: int) -> int:
    """The mask of the days of a year (an index) that match, INTERVAL and BYSETPOS aside."""
    year_days = rule.by_year_day
    if rule.by_week_no:
        # Read here: python-dateutil gives the days around New Year to the wrong week.
        year_days = tuple(_days_of_weeks(rule, year))
        if not year_days:
            return 0
    named = year_days or rule.by_month_day or rule.by_day
    if not (named or rule.by_month):
        return (1 << _YEARS[year + 1] - _YEARS[year]) - 1
    new_year = _midnight(_YEARS[year])
    found = rrule.rrule(
        # Every filter reads the same in a yearly rule, but for "the n-th weekday of the month".
        rrule.YEARLY,
        dtstart=new_year,
        # One year only: python-dateutil looks for the next match until the year 9999.
        interval=MAXYEAR,
        wkst=rule.week_start,
        bymonth=_months(rule) or None,
        byyearday=year_days or None,
        bymonthday=rule.by_month_day or (None if named else _ALL_MONTH_DAYS),
        byweekday=_weekdays(rule) or None,
    )
    mask = 0
    for midnight in found:
        mask |= 1 << (midnight - new_year).days
    return mask


def _months(rule: Rule) -> tuple[int, ...]:
    # With months named, a yearly rule numbers weekdays within each of them.
    return rule.by_month or (_ALL_MONTHS if rule.frequency is Frequency.MONTHLY else ())


def _weekdays(rule: Rule) -> list[rrule.weekday]:
    if not any(day.nth for day in rule.by_day):
        return [rrule.weekday(day.weekday) for day in rule.by_day]
    # python-dateutil joins plain and numbered weekdays by "and"; numbered ones alone by "or".
    every = range(1, 6 if _months(rule) else 54)
    return [
        rrule.weekday(day.weekday, nth)
        for day in rule.by_day
        for nth in ((day.nth,) if day.nth else every)
    ]


def _days_of_weeks(rule: Rule, year: int) -> list[int]:
    """The year's days, from 1, that lie in one of the weeks (and are one of the year days)."""
    begin = _YEARS[year]
    length = _YEARS[year + 1] - begin
    allowed = {day if day > 0 else length + 1 + day for day in rule.by_year_day}
    first_monday = begin - (begin + 3 - rule.week_start) % 7
    return [
        day - begin + 1
        for monday in range(first_monday, begin + length, 7)
        if _week_matches(rule, monday)
        for day in range(max(monday, begin), min(monday + 7, begin + length))
        if not allowed or day - begin + 1 in allowed
    ]


def _week_matches(rule: Rule, first_day: int) -> bool:
    # A week belongs to the year that has four of its days, so the fourth decides.
    fourth = _date(first_day + 3)
    number = (fourth.timetuple().tm_yday + 6) // 7
    year_end = _date(first_day + 3).replace(month=12, day=31)
    weeks_after = (year_end - fourth).days // 7
    return number in rule.by_week_no or -1 - weeks_after in rule.by_week_no


def _date(day: int) -> datetime:
    return EPOCH + timedelta(day)


def _midnight(day: int) -> datetime:
    """A day for python-dateutil, which shall not know of zones."""
    return _date(day).replace(tzinfo=None)


def lowest(mask: int) -> int:
    """The index of the lowest bit set."""
    return (mask & -mask).bit_length() - 1


def bits(mask: int) -> list[int]:
    """The index of every bit set."""
    return [index for index, bit in enumerate(f"{mask:b}"[::-1]) if bit == "1"]
