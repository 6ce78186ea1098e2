"""The phrases of the grammar. Each looks at the cursor, and takes what it knows or nothing.

Adding a phrase is adding a function to `PHRASES`. They are tried in order at every position until
the text is used up; what none of them knows is refused by name.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.errors import InvalidText
from rota.triggers.english import clock_phrases, day_phrases, refusals, words
from rota.triggers.english.said import EveryNth, Reading, Said

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.triggers.english.words import Cursor

_ADVERBS = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    "yearly": "year",
    "annually": "year",
}
_RELATIVE_DAYS = {"today": 0, "tomorrow": 1, "the day after tomorrow": 2, "day after tomorrow": 2}
_PERIODS = ("day", "week", "month", "quarter", "year")


def every(cursor: Cursor, said: Said) -> bool:
    """every … : a count, a unit, an n-th unit, or days (which other phrases read)."""
    if not cursor.take("every", "each"):
        return False
    refusals.no_unit(cursor)
    said.repeats = True
    said.every_month_name |= words.month(cursor.peek()) is not None
    return (
        _every_nth(cursor, said)
        or _counted(cursor, said)
        or clock_phrases.nth_unit(cursor, said)
        or clock_phrases.single_unit(cursor, said)
        or _period(cursor, said)
        or clock_phrases.part_of_day(cursor, said)
        or day_phrases.follow(cursor)
        or cursor.peek() == "fortnight"
    )


def adverb(cursor: Cursor, said: Said) -> bool:
    """Daily, hourly, weekly, …"""
    refusals.odd_adverb(cursor)
    if cursor.take("hourly"):
        said.readings["hour"] = Reading((1 << 24) - 1, every=True)
    elif period := cursor.take_as(_ADVERBS.get):
        day_phrases.set_period(said, period)
    elif cursor.take("fortnightly", "fortnight"):
        said.every_nth = EveryNth(2, "week")
    elif cursor.take("biennially"):
        said.every_nth = EveryNth(2, "year")
    else:
        return False
    said.repeats = True
    return True


def dates(cursor: Cursor, said: Said) -> bool:
    """Today, tomorrow, this friday, in 3 days, on 2027-01-01."""
    start = cursor.at
    cursor.take("on")
    if cursor.take("this"):
        said.this_weekday = cursor.take_as(words.weekday)
        found = said.this_weekday is not None
    elif cursor.take("next"):
        said.next_weekday = cursor.take_as(words.weekday)
        if said.next_weekday is None:
            raise refusals.next_period()
        found = True
    else:
        found = _relative_day(cursor, said) or _date(cursor, said)
    if not found:
        cursor.at = start
    return found


def full_date(cursor: Cursor, said: Said) -> bool:
    """On january 1st, 2027; 1 january 2027."""
    start = cursor.at
    cursor.take("on")
    cursor.take("the")
    day = _day_of_date(cursor)
    cursor.take("of")
    month = cursor.take_as(words.month)
    day = day or _day_of_date(cursor)
    cursor.take(",")
    year = cursor.take_as(words.number)
    if not (day and month and year and year >= 1900):
        cursor.at = start
        return False
    _set_date(said, _iso_date(f"{year}-{month:02}-{day:02}"))
    return True


def _day_of_date(cursor: Cursor) -> int | None:
    return cursor.take_as(words.ordinal) or cursor.take_as(words.number)


PHRASES: tuple[Callable[[Cursor, Said], bool], ...] = (
    every,
    adverb,
    clock_phrases.unit_list,
    clock_phrases.window,
    clock_phrases.times,
    clock_phrases.part_of_day,
    day_phrases.nth_week_days,
    day_phrases.week_days,
    full_date,
    day_phrases.month_names,
    day_phrases.month_days,
    day_phrases.years,
    day_phrases.exceptions,
    dates,
)


def _every_nth(cursor: Cursor, said: Said) -> bool:
    """(every) other week, third monday, 2nd day: noted, to be refused when all has been read."""
    start = cursor.at
    count = 2 if (other := cursor.take("other")) else cursor.take_as(words.ordinal)
    weekday = words.weekday(cursor.peek())
    named = weekday is not None or cursor.peek() == "weekend"
    unit = "week" if named else words.unit(cursor.peek())
    if other and (cursor.peek() == "weekday" or unit in clock_phrases.COUNTS):
        raise refusals.every_other(unit or "weekday")
    if count is None or count < 2 or cursor.peek(1) == "of" or unit not in _PERIODS:
        cursor.at = start
        return False
    cursor.at += not named  # Weekdays are left for the phrases of days.
    said.every_nth = EveryNth(count, unit, is_ordinal=weekday is not None and not other)
    return True


def _counted(cursor: Cursor, said: Said) -> bool:
    """5 minutes, 2 hours, 5m."""
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
        raise InvalidText(f"Expected at least 1 {name}, got 0")
    if said.step:
        raise refusals.two_schedules(said)
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


def _period(cursor: Cursor, said: Said) -> bool:
    """(every) day, week, quarter."""
    name = cursor.peek()
    if name not in _PERIODS:
        return False
    cursor.at += 1
    day_phrases.set_period(said, name)
    return True


def _relative_day(cursor: Cursor, said: Said) -> bool:
    """Tomorrow; in 3 days; in 2 weeks."""
    days = next((days for phrase, days in _RELATIVE_DAYS.items() if cursor.take_phrase(phrase)), -1)
    if days < 0 and cursor.take("in"):
        count = cursor.take_as(words.number)
        unit = cursor.take_as(words.unit)
        if count is not None and unit in {"day", "week"}:
            days = count * (7 if unit == "week" else 1)
    if days < 0:
        return False
    if said.relative_day not in {None, days}:
        raise refusals.two_schedules(said)
    said.relative_day = days
    return True


def _date(cursor: Cursor, said: Said) -> bool:
    found = cursor.take_as(_iso_date)
    if found is None:
        return False
    _set_date(said, found)
    return True


def _set_date(said: Said, found: date | None) -> None:
    if said.date not in {None, found}:
        raise refusals.two_schedules(said)
    said.date = found


def _iso_date(token: str) -> date | None:
    try:
        return (
            datetime.fromisoformat(token).date() if token[4:5] == "-" and len(token) == 10 else None
        )
    except ValueError as problem:
        raise InvalidText(f'Expected a date that exists, got "{token}" ({problem})') from None
