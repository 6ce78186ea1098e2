"""Sets of values, as other libraries have them, in the words of cron and of RRULE. Pure.

Elsewhere a day must match day of month *and* day of week; in cron either will do. So what names
both becomes an RRULE, in which all must match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

Values = frozenset[int]

MINUTES: Final = frozenset(range(60))
HOURS: Final = frozenset(range(24))
DAYS: Final = frozenset(range(1, 32))
MONTHS: Final = frozenset(range(1, 13))
WEEKDAYS: Final = frozenset(range(7))
WEEKS: Final = frozenset(range(1, 54))

_ON_THE_MINUTE: Final = frozenset({0})
_NAMES = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """Which moments match: those whose every part does."""

    seconds: Values = _ON_THE_MINUTE
    minutes: Values = MINUTES
    hours: Values = HOURS
    days: Values = DAYS
    """Of the month: all of them, or those that match beside the last and the positions."""
    last_day: bool = False
    positions: tuple[tuple[int, int], ...] = ()
    """(2, 5) for the second Friday, (-1, 5) for the last; Sunday is 0."""
    months: Values = MONTHS
    weekdays: Values = WEEKDAYS
    """Sunday is 0."""
    weeks: Values = WEEKS
    """ISO weeks of the year."""
    years: Values | None = None

    @property
    def picks_days(self) -> bool:
        """Whether it says anything of the day of the month."""
        return self.days != DAYS


class Inexpressible(ValueError):
    """Neither cron nor a rule of RFC 5545 says this."""


def trigger(pattern: Pattern) -> dict[str, str]:
    """The field that names the same moments: `cron_expr`, or `rrule` where cron cannot."""
    both = pattern.picks_days and pattern.weekdays != WEEKDAYS
    if pattern.weeks == WEEKS and not both:
        return {"cron_expr": _cron(pattern)}
    if pattern.years is not None:
        raise Inexpressible("it names years beside weeks, or days of the week beside days")
    return {"rrule": _rule(pattern)}


def listed(values: Collection[int], low: int, high: int) -> str:
    """The shortest usual text of a cron field: `*`, `*/15`, `9-17`, `1,15`."""
    found = sorted(values)
    for step in range(1, high - low + 1):
        if found == list(range(low, high + 1, step)):
            return "*" if step == 1 else f"*/{step}"
    return ",".join(_ranges(found))


def _ranges(found: list[int]) -> list[str]:
    texts: list[str] = []
    begin = 0
    for at in range(1, len(found) + 1):
        if at == len(found) or found[at] != found[at - 1] + 1:
            first, last = found[begin], found[at - 1]
            # Two in a row read better apart.
            if last - first > 1:
                texts.append(f"{first}-{last}")
            else:
                texts += [str(first)] if first == last else [str(first), str(last)]
            begin = at
    return texts


def _cron(pattern: Pattern) -> str:
    days, weekdays = _cron_days(pattern)
    parts = [
        listed(pattern.minutes, 0, 59),
        listed(pattern.hours, 0, 23),
        days,
        listed(pattern.months, 1, 12),
        weekdays,
    ]
    if pattern.seconds != _ON_THE_MINUTE or pattern.years is not None:
        parts.insert(0, listed(pattern.seconds, 0, 59))
    if pattern.years is not None:
        parts.append(",".join(_ranges(sorted(pattern.years))))
    return " ".join(parts)


def _cron_days(pattern: Pattern) -> tuple[str, str]:
    """Day of month and day of week. In cron either will do, which is what positions want."""
    if not pattern.picks_days:
        return "*", _weekdays(pattern.weekdays)
    if not pattern.last_day and not pattern.positions:
        return listed(pattern.days, 1, 31), "*"
    # Never `*/2`: a field that begins with a star is not one of two that will do.
    days = [*_ranges(sorted(pattern.days)), *(["L"] if pattern.last_day else [])]
    positions = [f"{_NAMES[day]}#{'L' if at < 0 else at}" for at, day in pattern.positions]
    return ",".join(days) or "*", ",".join(positions) or "*"


def _weekdays(values: Values) -> str:
    if values == WEEKDAYS:
        return "*"
    texts = _ranges(sorted(values))
    return ",".join("-".join(_NAMES[int(each)] for each in text.split("-")) for text in texts)


def _rule(pattern: Pattern) -> str:
    parts: dict[str, str] = {"FREQ": "DAILY" if pattern.weeks == WEEKS else "YEARLY"}
    days, weekdays = _rule_days(pattern)
    if pattern.weeks != WEEKS:
        parts["BYWEEKNO"] = _joined(pattern.weeks)
        if weekdays is None and days is None:
            weekdays = WEEKDAYS
    if pattern.months != MONTHS:
        parts["BYMONTH"] = _joined(pattern.months)
    if days is not None:
        parts["BYMONTHDAY"] = _joined(days)
    if weekdays is not None:
        parts["BYDAY"] = ",".join(_NAMES[each][:2] for each in sorted(weekdays))
    parts["BYHOUR"] = _joined(pattern.hours)
    parts["BYMINUTE"] = _joined(pattern.minutes)
    parts["BYSECOND"] = _joined(pattern.seconds)
    return "RRULE:" + ";".join(f"{name}={value}" for name, value in parts.items())


def _rule_days(pattern: Pattern) -> tuple[Values | None, Values | None]:
    """Days of the month and of the week that must both match; None for any."""
    weekdays = None if pattern.weekdays == WEEKDAYS else pattern.weekdays
    if not pattern.positions:
        if not pattern.picks_days:
            return None, weekdays
        return pattern.days | ({-1} if pattern.last_day else set[int]()), weekdays
    if len(pattern.positions) != 1 or pattern.days or pattern.last_day:
        raise Inexpressible("it names several days by their position, beside days of the week")
    at, day = pattern.positions[0]
    if weekdays is not None and day not in weekdays:
        raise Inexpressible("no day is on both of the days of the week that it names")
    within = range(-7, 0) if at < 0 else range(at * 7 - 6, min(at * 7, 31) + 1)
    return frozenset(within), frozenset({day})


def _joined(values: Collection[int]) -> str:
    return ",".join(map(str, sorted(values)))
