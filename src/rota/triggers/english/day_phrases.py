"""Phrases about days: "on weekdays", "the last friday of the month", "march 15", "in 2027"."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from rota.errors import InvalidText
from rota.triggers.civil import FIRST_YEAR
from rota.triggers.cron.special import LAST
from rota.triggers.english import refusals, words

if TYPE_CHECKING:
    from rota.triggers.english.said import Said
    from rota.triggers.english.words import Cursor

_WEEKDAYS = 0b0111110
_WEEKEND = 0b1000001


def week_days(cursor: Cursor, said: Said) -> bool:
    """On weekdays, mondays and thursdays, monday to friday."""
    start = cursor.at
    falling = cursor.take_phrase("falling on")
    if not falling:
        cursor.take("on", "during")
    cursor.take("a", "an", "the")
    plural = cursor.peek().endswith("s")
    masks = cursor.take_list(_weekday_range)
    if not masks:
        cursor.at = start
        return False
    for mask, is_range in masks:
        said.week_days.mask |= mask
        said.repeats |= is_range
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
    _of_the_period(cursor, said)
    return True


def month_days(cursor: Cursor, said: Said) -> bool:
    """On the 1st and 15th, day 15, the last day of the month, the weekday nearest to the 15th."""
    start = cursor.at
    cursor.take("on", "at")
    cursor.take("the")
    if not cursor.take_list(lambda here: _month_day(here, said) or None):
        cursor.at = start
        return False
    _of_the_period(cursor, said)
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
    _check_same_days(said)
    return True


def _check_same_days(said: Said) -> None:
    """Refuse "january 1 and april 15", which would also be january 15 and april 1."""
    days = deepcopy((said.month_days, said.week_days))
    if said.days_of_months is not None and said.days_of_months != days:
        raise refusals.two_schedules(said)
    said.days_of_months = days


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


def exceptions(cursor: Cursor, said: Said) -> bool:
    """Except sundays, but not on weekends, except in august."""
    start = cursor.at
    if not (cursor.take_phrase("but not") or cursor.take("but", "except", "excluding")):
        return False
    cursor.take("on", "in", "for")
    without_days = 0
    without_months = 0
    for mask, _ in cursor.take_list(_weekday_range):
        without_days |= mask
    if not without_days:
        for mask in cursor.take_list(_month_range):
            without_months |= mask
    if not (without_days or without_months):
        cursor.at = start
        return False
    said.without_week_days |= without_days
    said.without_months |= without_months
    return True


def follow(cursor: Cursor) -> bool:
    """(every) monday, weekday, last friday, january, 15th: days come next."""
    token = cursor.peek()
    return (
        token in {"weekday", "weekend", "last"}
        or words.weekday(token) is not None
        or words.month(token) is not None
        or words.ordinal(token) is not None
    )


def _around(first: int, last: int, count: int) -> list[int]:
    """From first to last, going round: friday to monday."""
    return [(first + step) % count for step in range((last - first) % count + 1)]


def _weekday_range(cursor: Cursor) -> tuple[int, bool] | None:
    """The mask, and whether it was a range, which is always meant to recur."""
    if cursor.peek(1) != "nearest" and cursor.take("weekday", "weekdays"):
        return _WEEKDAYS, False
    if cursor.take_phrase("weekend day") or cursor.take("weekend", "weekends"):
        return _WEEKEND, False
    found = cursor.take_range(words.weekday)
    if found is None:
        return None
    return sum(1 << day for day in _around(*found, 7)), found[0] != found[1]


def _month_range(cursor: Cursor) -> int | None:
    found = cursor.take_range(words.month)
    if found is None:
        return None
    return sum(2 << index for index in _around(found[0] - 1, found[1] - 1, 12))


def _year_range(cursor: Cursor) -> tuple[int, int] | None:
    start = cursor.at
    found = cursor.take_range(words.number)
    if found and 1970 <= found[0] <= found[1] <= 2199:
        return found
    cursor.at = start
    return None


def _nth_weekdays(cursor: Cursor) -> set[tuple[int, int]] | None:
    """Last friday; 1st and 3rd monday."""
    start = cursor.at
    cursor.take("the")
    nths = cursor.take_list(_nth, most=6)  # There are no more: 1st to 5th, and last.
    day = cursor.take_as(words.weekday) if nths else None
    if day is None or not all(nth == LAST or 1 <= nth <= 5 for nth in nths):
        cursor.at = start
        return None
    return {(day, nth) for nth in nths}


def _nth(cursor: Cursor) -> int | None:
    return LAST if cursor.take("last") else cursor.take_as(words.ordinal)


def _month_day(cursor: Cursor, said: Said) -> bool:
    days = said.month_days
    cursor.take("the")
    nth = words.ordinal(cursor.peek())
    if nth is not None and cursor.peek(1) != "weekday":
        return _plain_days(cursor, said)
    refusals.end_of(cursor)
    if nth == 1:
        cursor.at += 2
        _set_nearest(said, 1)  # The weekday nearest to the 1st is the first one.
    elif cursor.take_phrase("last day"):
        days.before_last.add(0)
    elif cursor.take_phrase("last weekday"):
        days.last_weekday = True
    elif cursor.take_phrase("weekday nearest to"):
        _set_nearest(said, _nearest_to(cursor))
    elif cursor.peek(1) == "of" and cursor.take("start", "beginning"):
        days.mask |= 1 << 1
    elif (before := _before_last(cursor)) is not None:
        days.before_last.add(before)
    else:
        return _plain_days(cursor, said)
    return True


def _nearest_to(cursor: Cursor) -> int:
    """The 15th; or, as a negative number, 3 days before the last day."""
    before = _before_last(cursor)
    if before is not None:
        return -before
    cursor.take("the")
    return _day_number(cursor.take_as(words.ordinal) or 0)


def _set_nearest(said: Said, day: int) -> None:
    if said.month_days.nearest not in {0, day}:
        raise refusals.two_schedules(said)
    said.month_days.nearest = day


def _plain_days(cursor: Cursor, said: Said) -> bool:
    """15th, 1st to 5th, 15th day; day 15, days 1 to 5."""
    if cursor.take("day", "days"):
        found = cursor.take_list(lambda here: here.take_range(words.number))
    else:
        found = [pair] if (pair := cursor.take_range(words.ordinal)) else []
        if found:
            cursor.take("day", "days")
    for first, last in found:
        if _day_number(first) > _day_number(last):
            raise InvalidText(f"Expected days that rise, got {first} to {last}")
        said.month_days.mask |= (2 << last) - (1 << first)
    return bool(found)


def _before_last(cursor: Cursor) -> int | None:
    """3 days before the last day; None, with nothing taken, where it says something else."""
    start = cursor.at
    count = cursor.take_as(words.number)
    if (
        count is not None
        and cursor.take("day", "days")
        and cursor.take_phrase("before the last day")
    ):
        if not 1 <= count <= 30:
            raise InvalidText(f"Expected 1 to 30 days before the last day, got {count}")
        return count
    cursor.at = start
    return None


def _day_number(day: int) -> int:
    if not 1 <= day <= 31:
        raise InvalidText(f"Expected a day of the month from 1 to 31, got {day}")
    return day


def _of_the_period(cursor: Cursor, said: Said) -> None:
    """Takes "of the month" or "of every quarter" and notes that it recurs."""
    for period in ("month", "quarter", "year"):
        if any(cursor.take_phrase(f"of {which} {period}") for which in ("the", "every", "each")):
            said.repeats = True
            if period != "month":
                set_period(said, period)


def set_period(said: Said, period: str) -> None:
    """Notes day, week, month, quarter or year; two of them are two schedules."""
    if said.period not in {None, period}:
        raise refusals.two_schedules(said)
    said.period = period


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
