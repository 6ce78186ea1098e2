"""The phrases of the grammar. Each looks at the cursor, and takes what it knows or nothing.

Adding a phrase is adding a function to `PHRASES`. They are tried in order at every position until
the text is used up; what none of them knows is refused by name.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.errors import InvalidText
from rota.triggers.civil import FIRST_YEAR
from rota.triggers.cron.special import LAST
from rota.triggers.english import refusals, words
from rota.triggers.english.said import Reading, Said

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.triggers.english.words import Cursor

_COUNTS = {"second": 60, "minute": 60, "hour": 24}
_ADVERBS = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
_DATED = ("tomorrow at 09:00", "at 2027-01-04 09:00")
_WEEKDAYS = 0b0111110
_WEEKEND = 0b1000001


def every(cursor: Cursor, said: Said) -> bool:
    """every … : a count, a unit, an n-th unit, or days (which other phrases read)."""
    if not cursor.take("every", "each"):
        return False
    said.repeats = True
    refusals.every_other(cursor, said)
    return (
        _counted(cursor, said)
        or _nth_unit(cursor, said)
        or _single(cursor, said)
        or _days_follow(cursor)
    )


def adverb(cursor: Cursor, said: Said) -> bool:
    """Daily, hourly, weekly, …"""
    if cursor.take("hourly"):
        said.readings["hour"] = Reading(_all(24), every=True)
    elif period := cursor.take_as(_ADVERBS.get):
        said.period = period
    else:
        return False
    said.repeats = True
    return True


def unit_list(cursor: Cursor, said: Said) -> bool:
    """Of / at / past: minutes 0 and 30, hour 9, every 2nd hour."""
    start = cursor.at
    cursor.take("at", "past", "of", "during")
    if cursor.take("every", "each"):
        if _nth_unit(cursor, said) or _single_reading(cursor, said):
            said.repeats = True
            return True
    else:
        name = words.unit(cursor.peek())
        if name in _COUNTS:
            cursor.at += 1
            mask = _numbers(cursor, _COUNTS[name], name)
            if mask:
                _set_reading(said, name, Reading(mask, every=False))
                return True
    cursor.at = start
    return False


def times(cursor: Cursor, said: Said) -> bool:
    """At 9am, at 09:00 and 17:30, at noon."""
    start = cursor.at
    at = cursor.take("at")
    if at:
        refusals.bad_time(cursor, said)
    found = cursor.take_list(lambda here: here.take_as(words.clock))
    if not found:
        cursor.at = start
        return False
    if said.times:
        raise refusals.two_schedules(said)
    said.times = found
    return True


def window(cursor: Cursor, said: Said) -> bool:
    """Between 8am and 6pm; from 8am to 6pm."""
    start = cursor.at
    joint = {"between": ("and",), "from": ("to", "until")}.get(cursor.peek())
    if joint:
        cursor.at += 1
        first = cursor.take_as(words.clock)
        last = cursor.take_as(words.clock) if first and cursor.take(*joint) else None
        if first and last:
            said.window = (first, last)
            return True
    cursor.at = start
    return False


def week_days(cursor: Cursor, said: Said) -> bool:
    """On weekdays, mondays and thursdays, monday to friday."""
    start = cursor.at
    falling = cursor.take_phrase("falling on")
    if not falling:
        cursor.take("on")
    cursor.take("a", "an", "the")
    plural = cursor.peek().endswith("s")
    masks = cursor.take_list(_weekday_range)
    if not masks:
        cursor.at = start
        return False
    for mask in masks:
        said.week_days.mask |= mask
    said.falling |= falling
    said.repeats |= plural and cursor.peek(-1).endswith("s")
    return True


def nth_week_days(cursor: Cursor, said: Said) -> bool:
    """On the last friday of the month, the 1st and 3rd monday."""
    start = cursor.at
    falling = cursor.take_phrase("falling on")
    if not falling:
        cursor.take("on")
    cursor.take("the")
    found = cursor.take_list(_nth_weekdays)
    if not found:
        cursor.at = start
        return False
    for pairs in found:
        said.week_days.nth |= pairs
    said.falling |= falling
    _of_the_month(cursor, said)
    return True


def month_days(cursor: Cursor, said: Said) -> bool:
    """On the 1st and 15th, day 15, the last day of the month, the weekday nearest to the 15th."""
    start = cursor.at
    cursor.take("on")
    cursor.take("the")
    if not cursor.take_list(lambda here: _month_day(here, said) or None):
        cursor.at = start
        return False
    _of_the_month(cursor, said)
    return True


def month_names(cursor: Cursor, said: Said) -> bool:
    """In january, of march to may; and with a day: march 15, 15 march."""
    start = cursor.at
    cursor.take("in", "of", "on")
    cursor.take("the")
    day = _day_before_month(cursor)
    masks = cursor.take_list(_month_range)
    if not masks:
        cursor.at = start
        return False
    for mask in masks:
        said.months |= mask
    day = day or _day_after_month(cursor)
    if day:
        said.month_days.mask |= 1 << day
    return True


def years(cursor: Cursor, said: Said) -> bool:
    """In 2027, in 2027 to 2029."""
    start = cursor.at
    if cursor.take("in"):
        found = cursor.take_list(_year_range)
        for first, last in found:
            for year in range(first, last + 1):
                said.years |= 1 << year - FIRST_YEAR
        if found:
            return True
    cursor.at = start
    return False


def delay(cursor: Cursor, said: Said) -> bool:
    """In 20 minutes, in 1 hour and 30 minutes."""
    if cursor.peek() != "in" or cursor.at:
        return False
    try:
        said.delay = durations.parse(cursor.rest()[len("in ") :])
    except durations.InvalidDuration:
        return False
    cursor.at += len(cursor.rest().split())
    return True


def dates(cursor: Cursor, said: Said) -> bool:
    """Today, tomorrow, on 2027-01-01."""
    start = cursor.at
    cursor.take("on")
    if cursor.peek() == "next":
        raise refusals.ambiguous(said.text, '"next" is this week or the week after', *_DATED)
    if cursor.take("today"):
        said.relative_day = 0
        return True
    if cursor.take("tomorrow"):
        said.relative_day = 1
        return True
    found = cursor.take_as(_iso_date)
    if found is None:
        cursor.at = start
        return False
    said.date = found
    return True


PHRASES: tuple[Callable[[Cursor, Said], bool], ...] = (
    delay,
    every,
    adverb,
    unit_list,
    times,
    window,
    nth_week_days,
    week_days,
    month_names,
    month_days,
    years,
    dates,
)


def _counted(cursor: Cursor, said: Said) -> bool:
    """5 minutes, two hours, 5m."""
    start = cursor.at
    count = cursor.take_as(words.number)
    name = cursor.take_as(words.unit) if count is not None else None
    if count is None:
        count, name = _compact(cursor.peek())
        cursor.at += count is not None
    if count is None or name is None:
        cursor.at = start
        return False
    if count == 0:
        raise InvalidText(f'Expected at least 1 {name}, got "{said.text}"')
    said.step = (count, name)
    return True


def _compact(token: str) -> tuple[int, str] | tuple[None, None]:
    """5m and 2h, which are one unit each."""
    digits = token.rstrip("abcdefghijklmnopqrstuvwxyz")
    if not digits.isdecimal() or len(digits) > 4 or words.ordinal(token) is not None:
        return None, None
    try:
        length = durations.parse(token)
    except durations.InvalidDuration:
        return None, None
    for name, one in (("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if length % one == timedelta():
            return length // one, name
    return int(length.total_seconds()), "second"


def _nth_unit(cursor: Cursor, said: Said) -> bool:
    """(every) 5th minute; (every) minute among 0, 7 and 15."""
    start = cursor.at
    # "Every second among …" is about seconds, "every second hour" about every 2nd one.
    nth = None if cursor.peek(1) == "among" else cursor.take_as(words.ordinal)
    name = cursor.take_as(words.unit)
    count = _COUNTS.get(name or "")
    if name is None or count is None:
        cursor.at = start
        return False
    if nth is None:
        if not cursor.take("among"):
            cursor.at = start
            return False
        mask = _numbers(cursor, count, name)
    else:
        if nth > count:
            raise InvalidText(f"Expected at most every {count}th {name}, got {nth}")
        mask = sum(1 << value for value in range(0, count, nth))
    _set_reading(said, name, Reading(mask, every=True))
    return True


def _single(cursor: Cursor, said: Said) -> bool:
    """(every) minute, day, quarter."""
    if _single_reading(cursor, said):
        return True
    name = words.unit(cursor.peek())
    if name is None or cursor.peek() != name:
        return False
    cursor.at += 1
    said.period = name
    return True


def _single_reading(cursor: Cursor, said: Said) -> bool:
    name = cursor.peek()
    count = _COUNTS.get(name)
    if count is None:
        return False
    cursor.at += 1
    _set_reading(said, name, Reading(_all(count), every=True))
    return True


def _set_reading(said: Said, name: str, reading: Reading) -> None:
    if name in said.readings:
        raise refusals.two_schedules(said)
    said.readings[name] = reading


def _days_follow(cursor: Cursor) -> bool:
    """(every) monday, weekday, last friday, january, 15th: left for the phrases of days."""
    token = cursor.peek()
    return (
        token in {"weekday", "weekend", "last"}
        or words.weekday(token) is not None
        or words.month(token) is not None
        or words.ordinal(token) is not None
    )


def _numbers(cursor: Cursor, count: int, name: str) -> int:
    """0, 15 and 30 to 40, as a mask of values below the count."""
    mask = 0
    for first, last in cursor.take_list(lambda here: _range(here, words.number)):
        if not first <= last < count:
            raise InvalidText(
                f"Expected {name}s from 0 to {count - 1}, rising, got {first} to {last}"
            )
        mask |= (2 << last) - (1 << first)
    return mask


def _range(cursor: Cursor, reader: Callable[[str], int | None]) -> tuple[int, int] | None:
    """One value, or two with "to" between them."""
    first = cursor.take_as(reader)
    if first is None:
        return None
    start = cursor.at
    if cursor.take("to", "through"):
        last = cursor.take_as(reader)
        if last is not None:
            return first, last
        cursor.at = start
    return first, first


def _around(first: int, last: int, count: int) -> list[int]:
    """From first to last, going round: friday to monday."""
    return [(first + step) % count for step in range((last - first) % count + 1)]


def _weekday_range(cursor: Cursor) -> int | None:
    if cursor.peek(1) != "nearest" and cursor.take("weekday", "weekdays"):
        return _WEEKDAYS
    if cursor.take_phrase("weekend day") or cursor.take("weekend", "weekends"):
        return _WEEKEND
    found = _range(cursor, words.weekday)
    return sum(1 << day for day in _around(*found, 7)) if found else None


def _month_range(cursor: Cursor) -> int | None:
    found = _range(cursor, words.month)
    if found is None:
        return None
    return sum(2 << index for index in _around(found[0] - 1, found[1] - 1, 12))


def _year_range(cursor: Cursor) -> tuple[int, int] | None:
    start = cursor.at
    found = _range(cursor, words.number)
    if found and 1970 <= found[0] <= found[1] <= 2199:
        return found
    cursor.at = start
    return None


def _nth_weekdays(cursor: Cursor) -> set[tuple[int, int]] | None:
    """Last friday; 1st and 3rd monday."""
    start = cursor.at
    cursor.take("the")
    nths = cursor.take_list(_nth)
    day = cursor.take_as(words.weekday) if nths else None
    if day is None or max(nths) > 5:
        cursor.at = start
        return None
    return {(day, nth) for nth in nths}


def _nth(cursor: Cursor) -> int | None:
    return LAST if cursor.take("last") else cursor.take_as(words.ordinal)


def _month_day(cursor: Cursor, said: Said) -> bool:
    days = said.month_days
    cursor.take("the")
    if cursor.take_phrase("last day"):
        days.before_last.add(0)
    elif cursor.take_phrase("last weekday"):
        days.last_weekday = True
    elif cursor.take_phrase("weekday nearest to the"):
        days.nearest = _day_number(cursor.take_as(words.ordinal) or 0)
    elif _before_last(cursor, said):
        pass
    else:
        reader = words.number if cursor.take("day", "days") else words.ordinal
        found = _range(cursor, reader)
        if found is None:
            return False
        first, last = _day_number(found[0]), _day_number(found[1])
        if first > last:
            raise InvalidText(f"Expected days that rise, got {first} to {last}")
        days.mask |= (2 << last) - (1 << first)
    return True


def _before_last(cursor: Cursor, said: Said) -> bool:
    """3 days before the last day."""
    start = cursor.at
    count = cursor.take_as(words.number)
    if (
        count is not None
        and cursor.take("day", "days")
        and cursor.take_phrase("before the last day")
    ):
        if not 1 <= count <= 30:
            raise InvalidText(f"Expected 1 to 30 days before the last day, got {count}")
        said.month_days.before_last.add(count)
        return True
    cursor.at = start
    return False


def _day_number(day: int) -> int:
    if not 1 <= day <= 31:
        raise InvalidText(f"Expected a day of the month from 1 to 31, got {day}")
    return day


def _of_the_month(cursor: Cursor, said: Said) -> None:
    """Takes "of the month" (a month's name is another phrase) and notes that it recurs."""
    for phrase in ("of the month", "of every month", "of each month"):
        if cursor.take_phrase(phrase):
            said.repeats = True


def _day_before_month(cursor: Cursor) -> int | None:
    """15 march."""
    day = words.number(cursor.peek())
    if day is None or words.month(cursor.peek(1)) is None:
        return None
    cursor.at += 1
    return _day_number(day)


def _day_after_month(cursor: Cursor) -> int | None:
    """March 15, march 15th; but not march 2027."""
    day = words.number(cursor.peek()) or words.ordinal(cursor.peek())
    if day is None or day > 31:
        return None
    cursor.at += 1
    return _day_number(day)


def _iso_date(token: str) -> date | None:
    try:
        return (
            datetime.fromisoformat(token).date() if token[4:5] == "-" and len(token) == 10 else None
        )
    except ValueError as problem:
        raise InvalidText(f'Expected a date that exists, got "{token}" ({problem})') from None


def _all(count: int) -> int:
    return (1 << count) - 1
