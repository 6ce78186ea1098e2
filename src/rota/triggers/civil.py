"""The calendar as integers: months from 1900 to 2299, days counted from 1970-01-01.

Tables instead of formulas: looking a month up is one bisection in C, and every question about it
(its first day, its length, the weekday it begins on) is one index away.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import UTC, date, datetime, timedelta

from rota.errors import InvalidInstant

FIRST_YEAR = 1900
LAST_YEAR = 2299
DAY = 86_400

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()

MONTH_COUNT = (LAST_YEAR - FIRST_YEAR + 1) * 12

#: The first day of every month, and of the month after the last.
FIRST_DAYS: tuple[int, ...] = tuple(
    date(FIRST_YEAR + index // 12, index % 12 + 1, 1).toordinal() - _EPOCH_ORDINAL
    for index in range(MONTH_COUNT + 1)
)
#: How many days each month has.
LENGTHS: tuple[int, ...] = tuple(
    FIRST_DAYS[index + 1] - FIRST_DAYS[index] for index in range(MONTH_COUNT)
)
#: The weekday each month begins on; Sunday is 0, as in cron. (1970-01-01 was a Thursday.)
FIRST_WEEKDAYS: tuple[int, ...] = tuple((first + 4) % 7 for first in FIRST_DAYS[:-1])
#: The mask of each month's days: bit d is the d-th.
ALL_DAYS: tuple[int, ...] = tuple((2 << length) - 2 for length in LENGTHS)

#: Months of one shape (name, length, first weekday) have the same matching days.
SHAPES: tuple[tuple[int, int, int], ...] = tuple(
    (index % 12, LENGTHS[index], FIRST_WEEKDAYS[index]) for index in range(MONTH_COUNT)
)
#: So these few stand for all: the last month of each shape.
ONE_OF_EACH_SHAPE: tuple[int, ...] = tuple(
    {shape: index for index, shape in enumerate(SHAPES)}.values()
)

#: The first second of the calendar, and the first after it.
BEGIN = FIRST_DAYS[0] * DAY
END = FIRST_DAYS[-1] * DAY

# A slot at the very end (or beginning) of the calendar in some zone is an instant of the day beside
# it in UTC, and must be taken as an argument again.
_FIRST_DAY = FIRST_DAYS[0] - 1
_LAST_DAY = FIRST_DAYS[-1]


def month_index(day: int) -> int:
    """The index of the month in which the day lies."""
    return bisect_right(FIRST_DAYS, day) - 1


def day_number(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date that exists."""
    return date(year, month, day).toordinal() - _EPOCH_ORDINAL


def floor_second(instant: datetime) -> int:
    """Whole seconds since 1970, rounded down; refuses what has no place on the calendar."""
    try:
        since = instant - EPOCH
    except TypeError:
        raise InvalidInstant(
            f"Invalid instant: expected one with a zone, such as {instant.isoformat()}+00:00, "
            f"got {instant.isoformat()}"
        ) from None
    if not _FIRST_DAY <= since.days <= _LAST_DAY:
        raise InvalidInstant(
            f"Invalid instant: expected one from {FIRST_YEAR} to {LAST_YEAR}, "
            f"got {instant.isoformat()}"
        )
    return since.days * DAY + since.seconds


def ceil_second(instant: datetime) -> int:
    """Whole seconds since 1970, rounded up."""
    return floor_second(instant) + (instant.microsecond > 0)


def instant_at(second: int) -> datetime:
    """The instant, aware and in UTC."""
    return EPOCH + timedelta(0, second)


def wall_second(wall: datetime) -> int:
    """What a wall clock reads, as if its reading were UTC: seconds since 1970-01-01 00:00 there."""
    since = wall.replace(tzinfo=UTC) - EPOCH
    return since.days * DAY + since.seconds
