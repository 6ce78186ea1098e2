"""The days of a cron pattern in words: "every weekday", "on the 1st and last day of the month"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.triggers.civil import FIRST_YEAR
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY
from rota.triggers.cron.special import LAST
from rota.triggers.cron.text import Meaning, runs, values
from rota.triggers.english.clock_words import join, number_words
from rota.triggers.english.words import DAY_NAMES, MONTH_NAMES, ordinal_text

if TYPE_CHECKING:
    from rota.triggers.cron.pattern import Pattern

_WEEKDAYS = 0b0111110
_WEEKEND = 0b1000001
_ANY_MONTH = Meaning().months


def day_words(pattern: Pattern, *, leading: bool) -> str:
    """Days, months and years; empty when every day is meant.

    Leading, before a time: "every Monday". Else, after one: "on Mondays".
    """
    month_side = _month_side(pattern)
    week_side = _week_side(pattern, leading=leading)
    months = join(_month_runs(pattern.months)) if pattern.months != _ANY_MONTH else ""
    days = _joined(pattern, month_side, week_side)
    if (
        months
        and "every" not in days
        and days.endswith("of the month")
        and days.count("on the") == 1
    ):
        days, months = f"{days.removesuffix('the month')}{months}", ""
        if leading:
            days = f"every year {days}"
    restricted = months or pattern.years is not None
    if leading and restricted and not days:
        days = "every day"
    parts = [days, f"in {months}" if months else ""]
    if pattern.years is not None:
        parts.append(f"in {number_words(pattern.years << FIRST_YEAR)}")
    return " ".join(part for part in parts if part)


def _joined(pattern: Pattern, month_side: str, week_side: str) -> str:
    """Both day fields as they are meant: either will do, or both are needed."""
    if pattern.days_joined_by_or:
        return f"{month_side} or {week_side}"
    if month_side and week_side:
        return f"{month_side} {_falling(pattern)}"
    return month_side or week_side


def _month_side(pattern: Pattern) -> str:
    if pattern.month_days == ANY_MONTH_DAY and not pattern.days_joined_by_or:
        return ""
    items = [
        ordinal_text(first) if first == last else f"{ordinal_text(first)} to {ordinal_text(last)}"
        for first, last in runs(pattern.month_days)
    ]
    special = pattern.special_month_days
    if special is not None:
        items += [
            "last day" if before == 0 else _before_last(before) for before in special.before_last
        ]
        items += ["last weekday"] * special.last_weekday
        if special.nearest:
            day = special.nearest
            near = f"the {ordinal_text(day)}" if day > 0 else _before_last(-day)
            items.append(f"weekday nearest to {near}")
    return f"on the {join(items)} of the month"


def _before_last(days: int) -> str:
    return f"{days} day{'s' * (days > 1)} before the last day"


def _week_side(pattern: Pattern, *, leading: bool) -> str:
    if pattern.week_days == ANY_WEEKDAY and not pattern.days_joined_by_or:
        return ""
    terms: list[str] = []
    if pattern.week_days:
        terms.append(
            _every_weekday(pattern.week_days) if leading else _on_weekdays(pattern.week_days)
        )
    if pattern.special_week_days is not None:
        terms.append(f"on {_nth_words(pattern)} of the month")
    return " and ".join(terms)


def _falling(pattern: Pattern) -> str:
    terms: list[str] = []
    if pattern.week_days:
        names = [DAY_NAMES[day] for day in values(pattern.week_days)]
        terms.append(f"falling on a {join(names, 'or')}")
    if pattern.special_week_days is not None:
        terms.append(f"falling on {_nth_words(pattern)} of the month")
    return " or ".join(terms)


def _every_weekday(mask: int) -> str:
    named = {_WEEKDAYS: "weekday", _WEEKEND: "weekend day"}.get(mask)
    return f"every {named or join([DAY_NAMES[day] for day in _from_monday(mask)])}"


def _on_weekdays(mask: int) -> str:
    named = {_WEEKDAYS: "weekdays", _WEEKEND: "weekends"}.get(mask)
    return f"on {named or join([f'{DAY_NAMES[day]}s' for day in _from_monday(mask)])}"


def _from_monday(mask: int) -> list[int]:
    return sorted(values(mask), key=lambda day: (day - 1) % 7)


def _nth_words(pattern: Pattern) -> str:
    assert pattern.special_week_days is not None
    return join(
        [
            f"the {'last' if nth == LAST else ordinal_text(nth)} {DAY_NAMES[day]}"
            for day, nth in pattern.special_week_days.nth
        ]
    )


def _month_runs(mask: int) -> list[str]:
    return [
        MONTH_NAMES[first - 1]
        if first == last
        else f"{MONTH_NAMES[first - 1]} to {MONTH_NAMES[last - 1]}"
        for first, last in runs(mask)
    ]
