"""A cron trigger of APScheduler 3 as a `Pattern`. Pure."""

from __future__ import annotations

from typing import Any

from rota.library.importers.imported import NotTaken
from rota.library.importers.patterns import DAYS, WEEKS, Pattern

_RANGES = {
    "year": (1970, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "week": (1, 53),
    "day_of_week": (0, 6),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}


def pattern_of(given: Any) -> Pattern:
    """The moments that the trigger names, whatever its start and end."""
    fields = {field.name: field.expressions for field in given.fields}
    values = {name: _values(name, fields[name]) for name in _RANGES if name != "day"}
    weeks, years = values["week"], values["year"]
    low, high = _RANGES["year"]
    return Pattern(
        seconds=values["second"],
        minutes=values["minute"],
        hours=values["hour"],
        months=values["month"],
        # Monday is 0 there, and Sunday here.
        weekdays=frozenset((day + 1) % 7 for day in values["day_of_week"]),
        weeks=WEEKS if weeks == WEEKS else weeks,
        years=None if len(years) == high - low + 1 else years,
        **_days(fields["day"]),
    )


def _days(expressions: list[Any]) -> dict[str, Any]:
    named = [each for each in expressions if not hasattr(each, "option_num") and not _is_last(each)]
    days = _values("day", named)
    if days == DAYS:
        return {"days": DAYS}
    positions = [each for each in expressions if hasattr(each, "option_num")]
    return {
        "days": days,
        "last_day": any(map(_is_last, expressions)),
        "positions": tuple(
            (-1 if each.option_num == 5 else each.option_num + 1, (each.weekday + 1) % 7)
            for each in positions
        ),
    }


def _is_last(expression: Any) -> bool:
    return type(expression).__name__ == "LastDayOfMonthExpression"


def _values(name: str, expressions: list[Any]) -> frozenset[int]:
    low, high = _RANGES[name]
    found: set[int] = set()
    for each in expressions:
        first: int = getattr(each, "first", low)
        last: int | None = getattr(each, "last", high)
        found |= set(range(first, (high if last is None else last) + 1, each.step or 1))
    if name == "year" and max(found) > 2299 and len(found) < high - low + 1:
        raise NotTaken("it names years after 2299, where Rota's calendar ends")
    return frozenset(found)
