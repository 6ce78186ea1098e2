"""What a cron expression means, said as plainly as possible: the check on the evaluator.

An expression is read into sets of numbers and a predicate on dates. Its slots are then found by
listing, never by searching:

- a wildcard expression fires at every instant whose wall clock reads a match;
- a fixed-time expression fires once for every matching local time: at the first instant that
  reads it, or, when no instant does, at the end of the gap it lies in, if that gap is shorter
  than three hours.

`scan` says this second by second; `slots` lists the same a day at a time. The oracle's own tests
hold the two together. No line is shared with the evaluator.
"""

from __future__ import annotations

import calendar
import re
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache, cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.oracle.clock import epoch, utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.oracle.clock import Clock

DAY = 86_400
LONGEST_GAP = 3 * 3_600
LAST_YEAR = 2299

MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Refused(ValueError):
    """Outside the dialect. `field` is the cron field at fault, None for the whole expression."""

    def __init__(self, field: str | None, text: str) -> None:
        super().__init__(f"{field or 'expression'}: {text}")
        self.field = field


@dataclass(frozen=True)
class Field:
    """One field's name and the numbers it may hold."""

    name: str
    lowest: int
    highest: int
    width: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        if text.upper() in self.names:
            return self.names.index(text.upper()) + self.lowest
        if not re.fullmatch(r"[0-9]+", text, re.ASCII):
            raise Refused(self.name, text)
        value = int(text)
        if not self.lowest <= value <= self.highest:
            raise Refused(self.name, text)
        return value

    def values(self, item: str) -> set[int]:
        """`*`, `a`, `a-b`, each with or without `/n`."""
        body, slash, step_text = item.partition("/")
        step = self._step(step_text) if slash else 1
        if body == "*":
            return set(range(self.lowest, self.highest + 1, step))
        first_text, dash, last_text = body.partition("-")
        first = self.number(first_text)
        open_end = self.highest if slash else first
        last = self._end(last_text) if dash else open_end
        if last < first or (first_text.upper(), last_text.upper()) == ("SUN", "SUN"):
            raise Refused(self.name, item)
        return set(range(first, last + 1, step))

    def _end(self, text: str) -> int:
        """Sunday as a range's end comes after Saturday."""
        return 7 if self.name == "day of week" and text.upper() == "SUN" else self.number(text)

    def _step(self, text: str) -> int:
        if not re.fullmatch(r"[0-9]+", text, re.ASCII) or not 1 <= int(text) <= self.width:
            raise Refused(self.name, text)
        return int(text)


SECONDS = Field("seconds", 0, 59, 60)
MINUTES = Field("minutes", 0, 59, 60)
HOURS = Field("hours", 0, 23, 24)
DAY_OF_MONTH = Field("day of month", 1, 31, 31)
MONTH = Field("month", 1, 12, 12, tuple(MONTHS))
DAY_OF_WEEK = Field("day of week", 0, 7, 7, tuple(DAYS))
YEAR = Field("year", 1970, 2199, 230)


@dataclass(frozen=True)
class Expression:
    """An expression as sets, a predicate on dates, and whether it is a wildcard one."""

    seconds: frozenset[int]
    minutes: frozenset[int]
    hours: frozenset[int]
    months: frozenset[int]
    years: frozenset[int] | None
    day: Callable[[date], bool]
    wildcard: bool

    def on(self, day: date) -> bool:
        return (
            day.month in self.months
            and (self.years is None or day.year in self.years)
            and self.day(day)
        )

    def reads(self, wall: datetime) -> bool:
        return (
            wall.second in self.seconds
            and wall.minute in self.minutes
            and wall.hour in self.hours
            and self.on(wall.date())
        )

    @cached_property
    def times(self) -> list[int]:
        """Every time of day it names, as seconds after midnight."""
        return sorted(
            hour * 3_600 + minute * 60 + second
            for hour in self.hours
            for minute in self.minutes
            for second in self.seconds
        )


# Reading the text ---------------------------------------------------------------------------


def read(text: str) -> Expression:
    """The expression, or Refused."""
    if not text.isascii() or len(text) > 256:
        raise Refused(None, text)
    fields = [part for part in re.split(r"[ \t]+", text) if part]
    if len(fields) == 1 and fields[0].lower() in MACROS:
        fields = MACROS[fields[0].lower()].split()
    if not 5 <= len(fields) <= 7:
        raise Refused(None, text)
    if len(fields) == 5:
        fields = ["0", *fields]
    seconds, minutes, hours, dom, month, dow = fields[:6]
    expression = Expression(
        seconds=_plain(SECONDS, seconds),
        minutes=_plain(MINUTES, minutes),
        hours=_plain(HOURS, hours),
        months=_plain(MONTH, month),
        years=None if fields[6:] in ([], ["*"]) else _plain(YEAR, fields[6]),
        day=_day(dom, dow),
        wildcard=any(part.startswith("*") for part in (seconds, minutes, hours)),
    )
    if not any(expression.on(day) for day in _named_months(expression)):
        raise Refused(None, "never fires")
    return expression


def _plain(field: Field, text: str) -> frozenset[int]:
    return frozenset(value for item in text.split(",") for value in field.values(item))


def _day(dom: str, dow: str) -> Callable[[date], bool]:
    """Either day field when both are restricted, else both."""
    by_dom, by_dow = _day_of_month(dom), _day_of_week(dow)
    if dom[0] not in "*?" and dow[0] not in "*?":
        return lambda day: by_dom(day) or by_dow(day)
    return lambda day: by_dom(day) and by_dow(day)


def _day_of_month(text: str) -> Callable[[date], bool]:
    if text == "?":
        return lambda _: True
    if alone := re.fullmatch(r"([0-9]+)[Ww]", text, re.ASCII):
        near = DAY_OF_MONTH.number(alone[1])
        return lambda day: day == nearest_weekday(day, near)
    if alone := re.fullmatch(r"L-([0-9]+)W", text.upper(), re.ASCII):
        before = int(alone[1])
        if not 0 <= before <= 30:
            raise Refused(DAY_OF_MONTH.name, text)
        return lambda day: day == nearest_weekday(day, last_day(day) - before)
    tests = [_dom_item(item) for item in text.upper().split(",")]
    return lambda day: any(test(day) for test in tests)


def _dom_item(item: str) -> Callable[[date], bool]:
    if item == "L":
        return lambda day: day.day == last_day(day)
    if item == "LW":
        return lambda day: day == nearest_weekday(day, last_day(day))
    if item.startswith("L-"):
        if not re.fullmatch(r"L-[0-9]+", item, re.ASCII) or not 1 <= int(item[2:]) <= 30:
            raise Refused(DAY_OF_MONTH.name, item)
        back = int(item[2:])
        return lambda day: day.day == last_day(day) - back
    days = DAY_OF_MONTH.values(item)
    return lambda day: day.day in days


def _day_of_week(text: str) -> Callable[[date], bool]:
    if text == "?":
        return lambda _: True
    tests = [_dow_item(item) for item in text.upper().split(",")]
    return lambda day: any(test(day) for test in tests)


def _dow_item(item: str) -> Callable[[date], bool]:
    special = re.fullmatch(r"(?P<day>[0-9]+|[A-Z]{3})(L|#L|#(?P<nth>[1-5]))", item, re.ASCII)
    if not special:
        days = {value % 7 for value in DAY_OF_WEEK.values(item)}
        return lambda day: weekday(day) in days
    wanted = DAY_OF_WEEK.number(special["day"]) % 7
    if special["nth"]:
        nth = int(special["nth"])
        return lambda day: weekday(day) == wanted and (day.day - 1) // 7 + 1 == nth
    return lambda day: weekday(day) == wanted and day.day + 7 > last_day(day)


# The calendar -------------------------------------------------------------------------------


def weekday(day: date) -> int:
    """Sunday is 0."""
    return day.isoweekday() % 7


def last_day(day: date) -> int:
    return calendar.monthrange(day.year, day.month)[1]


def nearest_weekday(month: date, number: int) -> date | None:
    """The weekday nearest to that day, inside its month; None when the month has no such day."""
    last = last_day(month)
    if not 1 <= number <= last:
        return None
    day = month.replace(day=number)
    if weekday(day) == 6:
        return day + timedelta(days=2 if number == 1 else -1)
    if weekday(day) == 0:
        return day + timedelta(days=-2 if number == last else 1)
    return day


def _days(first: date, last: date) -> Iterator[date]:
    for ordinal in range(first.toordinal(), last.toordinal() + 1):
        yield date.fromordinal(ordinal)


def _named_months(expression: Expression) -> Iterator[date]:
    """Every day of the months and years that it names."""
    for year in range(1970, LAST_YEAR + 1):
        if expression.years is None or year in expression.years:
            for month in sorted(expression.months):
                first = date(year, month, 1)
                yield from _days(first, first.replace(day=last_day(first)))


# The slots ----------------------------------------------------------------------------------


def slots(expression: Expression, clock: Clock, start: int, end: int) -> list[int]:
    """Every slot with start <= slot < end, in order: the same as `scan`, a day at a time."""
    # No clock is a whole day away from UTC, and no gap is longer than a day.
    first, last = utc(start - 2 * DAY).date(), utc(end + 2 * DAY).date()
    found: set[int] = set()
    for day in _days(first, last):
        if expression.on(day):
            found.update(_slots_named_by(expression, clock, day))
    return sorted(slot for slot in found if start <= slot < end)


def _slots_named_by(expression: Expression, clock: Clock, day: date) -> set[int]:
    """The instants at which the local times of one date fire."""
    midnight = _local(datetime.combine(day, time()))
    stretches = clock.stretches(midnight - 2 * DAY, midnight + 3 * DAY)
    readings: dict[int, list[int]] = {}
    for stretch in stretches:
        left, right = stretch.start + stretch.offset, stretch.end + stretch.offset
        for named in _between(expression.times, left - midnight, right - midnight):
            readings.setdefault(named, []).append(midnight + named - stretch.offset)
    if expression.wildcard:
        return {instant for instants in readings.values() for instant in instants}
    found = {min(instants) for instants in readings.values()}
    for before, after in pairwise(stretches):
        left, right = after.start + before.offset, after.start + after.offset
        if right - left < LONGEST_GAP:
            missed = _between(expression.times, left - midnight, right - midnight)
            found.update(after.start for named in missed if named not in readings)
    return found


def _between(times: list[int], left: int, right: int) -> list[int]:
    return times[bisect_left(times, left) : bisect_left(times, right)]


def _local(wall: datetime) -> int:
    """A wall clock reading as a number of seconds, as if the wall were in UTC."""
    return (wall - datetime(1970, 1, 1)) // timedelta(seconds=1)  # noqa: DTZ001  a wall reading


def scan(expression: Expression, clock: Clock, start: int, end: int, step: int) -> list[int]:
    """Every slot with start <= slot < end, looking at the wall once every `step` seconds."""
    if expression.wildcard:
        return [at for at in range(start, end, step) if expression.reads(clock.wall(at))]
    first_read: dict[datetime, int] = {}
    gaps: list[tuple[datetime, datetime, int]] = []
    before = clock.wall(start - 2 * DAY)
    nominal, tick = before, timedelta(seconds=step)
    for at in range(start - 2 * DAY, end + 2 * DAY, step):
        wall = clock.wall(at)
        first_read.setdefault(wall, at)
        if wall > before + tick:
            gaps.append((before + tick, wall, at))
        before = wall
    found: set[int] = set()
    while nominal <= before:
        if expression.reads(nominal):
            found.update(_fires(nominal, first_read, gaps))
        nominal += tick
    return sorted(slot for slot in found if start <= slot < end)


def _fires(
    nominal: datetime, first_read: dict[datetime, int], gaps: list[tuple[datetime, datetime, int]]
) -> list[int]:
    if nominal in first_read:
        return [first_read[nominal]]
    short = timedelta(seconds=LONGEST_GAP)
    return [at for left, right, at in gaps if left <= nominal < right and right - left < short]


def next_after(expression: Expression, clock: Clock, instant: datetime) -> datetime | None:
    """The first slot strictly after, found by walking the days up to the end of the calendar."""
    start = epoch(instant)
    ordinal = instant.toordinal() - 3
    for day in _days(date.fromordinal(ordinal), date(LAST_YEAR, 12, 31)):
        if expression.on(day):
            midnight = _local(datetime.combine(day, time()))
            near = slots(expression, clock, max(start, midnight - DAY), midnight + 3 * DAY)
            later = [slot for slot in near if utc(slot) > instant]
            if later:
                return utc(later[0])
    return None


def previous_before(
    expression: Expression, clock: Clock, instant: datetime, *, since: date
) -> datetime | None:
    """The last slot strictly before, looking no further back than the date `since`."""
    for ordinal in range(instant.toordinal() + 3, since.toordinal() - 1, -1):
        day = date.fromordinal(ordinal)
        if expression.on(day):
            midnight = _local(datetime.combine(day, time()))
            near = slots(expression, clock, midnight - 2 * DAY, midnight + 3 * DAY)
            earlier = [slot for slot in near if utc(slot) < instant]
            if earlier:
                return utc(earlier[-1])
    return None


@cache
def expression(text: str) -> Expression:
    """`read`, remembered: for tests that ask the same thing of many zones."""
    return read(text)
