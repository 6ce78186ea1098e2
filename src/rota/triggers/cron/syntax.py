"""A whole cron expression: text to `Pattern`, or a sentence that says which field is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.errors import InvalidCron
from rota.triggers.civil import FIRST_YEAR, MONTH_COUNT, ONE_OF_EACH_SHAPE, SHAPES
from rota.triggers.cron.fields import (
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    HOURS,
    MINUTES,
    MONTH,
    SECONDS,
    YEAR,
)
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY, Pattern, lowest
from rota.triggers.cron.special import read_month_days, read_week_days

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LENGTH = 256

MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_HINTS = {"@every": '; write an interval, such as "every 5m"'}

_FIRST_28_DAYS = (1 << 29) - 2
# January 2000.
_LEAP_YEAR = (2000 - FIRST_YEAR) * 12


def split(expression: str) -> list[str]:
    """The five, six or seven fields, in upper case; a macro's for a macro."""
    if len(expression) > MAX_LENGTH:
        raise InvalidCron(
            f"Invalid cron expression: expected at most {MAX_LENGTH} characters, "
            f"got {len(expression)}"
        )
    if not (expression.isascii() and expression.isprintable()):
        _refuse_odd_letters(expression)
    fields = expression.upper().split()
    if fields and fields[0][0] == "@":
        return _macro(expression).split()
    if not 5 <= len(fields) <= 7 or "=" in fields[0]:
        raise InvalidCron(_refusal(expression, len(fields)))
    return fields


def parse(fields: list[str]) -> Pattern:
    """The meaning of the fields."""
    seconds, year = "0", "*"
    if len(fields) == 5:
        minutes, hours, month_days, month, week_days = fields
    elif len(fields) == 6:
        seconds, minutes, hours, month_days, month, week_days = fields
    else:
        seconds, minutes, hours, month_days, month, week_days, year = fields
    # A mask is never 0, so "or" reads: by the table, else by the parser.
    pattern = Pattern()
    pattern.seconds = SECONDS.simple.get(seconds) or SECONDS.parse(seconds)
    pattern.minutes = MINUTES.simple.get(minutes) or MINUTES.parse(minutes)
    pattern.hours = HOURS.simple.get(hours) or HOURS.parse(hours)
    pattern.months = MONTH.simple.get(month) or MONTH.parse(month)
    pattern.years = None if year == "*" else YEAR.parse(year) >> FIRST_YEAR
    pattern.is_wildcard = seconds[0] == "*" or minutes[0] == "*" or hours[0] == "*"
    _read_days(pattern, month_days, week_days)
    _refuse_never(pattern, fields)
    return pattern


def _read_days(pattern: Pattern, month_days: str, week_days: str) -> None:
    pattern.month_days_open = month_days[0] in "*?"
    pattern.week_days_open = week_days[0] in "*?"
    pattern.special_month_days = pattern.special_week_days = None
    if known := DAY_OF_MONTH.simple.get(month_days):
        pattern.month_days = known
    elif month_days == "?":
        pattern.month_days = ANY_MONTH_DAY
    else:
        pattern.month_days, pattern.special_month_days = read_month_days(month_days)
    if known := DAY_OF_WEEK.simple.get(week_days):
        pattern.week_days = known
    elif week_days == "?":
        pattern.week_days = ANY_WEEKDAY
    else:
        pattern.week_days, pattern.special_week_days = read_week_days(week_days)


def _refuse_never(pattern: Pattern, fields: list[str]) -> None:
    # Each of the first 28 days comes in every month and, over the years, on every weekday; and
    # every month has all weekdays. Only what rests on less has to be looked for, first where nearly
    # all of it is: in a leap year.
    if pattern.years is None and (
        (pattern.month_days & _FIRST_28_DAYS and pattern.week_days)
        or pattern.days_of(_LEAP_YEAR + lowest(pattern.months) - 1)
    ):
        return
    if not any(pattern.days_of(month) for month in _months_to_try(pattern)):
        raise InvalidCron(
            "Invalid cron expression: expected a date that exists, "
            f'got one that never comes: "{" ".join(fields)}"'
        )


def _months_to_try(pattern: Pattern) -> Iterable[int]:
    """One month of each shape, of those years that are named."""
    years = pattern.years
    if years is None:
        return ONE_OF_EACH_SHAPE
    named = (month for month in range(MONTH_COUNT) if years >> month // 12 & 1)
    return {SHAPES[month]: month for month in named}.values()


def _refuse_odd_letters(expression: str) -> None:
    """Only tabs may stand beside what can be printed: a line break may hide a second expression."""
    for letter in expression:
        if letter != "\t" and not (letter.isascii() and letter.isprintable()):
            raise InvalidCron(
                f"Invalid cron expression: expected printable ASCII characters only, got {letter!r}"
            )


def _macro(expression: str) -> str:
    name = expression.strip().lower()
    if name not in MACROS:
        hint = _HINTS.get(name.split()[0], "")
        raise InvalidCron(
            f"Invalid cron expression: expected one of {', '.join(MACROS)}, got {name!r}{hint}"
        )
    return MACROS[name]


def _refusal(expression: str, count: int) -> str:
    if "TZ=" in expression.upper():
        return (
            "Invalid cron expression: expected no zone inside the expression; "
            "give it as the timezone instead"
        )
    number = expression.strip()
    hint = ""
    if number.isdecimal():
        hint = f'; an interval needs a unit, such as "{number} seconds" or "{number}ms"'
    return (
        "Invalid cron expression: expected 5 fields (minute hour day-of-month month day-of-week), "
        f"6 (with seconds first) or 7 (with a year last), got {count}: {expression!r}{hint}"
    )
