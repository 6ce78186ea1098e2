"""RRULEs to offer for what a cron expression cannot hold: every other monday, friday the 13th."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

from rota.triggers.cron.text import values
from rota.triggers.english import words
from rota.triggers.english.refusals import Ambiguity, from_weekday

if TYPE_CHECKING:
    from rota.triggers.english.said import Said

_DAYS = ("SU", "MO", "TU", "WE", "TH", "FR", "SA")
_FREQUENCIES = {"day": "DAILY", "week": "WEEKLY", "month": "MONTHLY", "year": "YEARLY"}


def which_ones(said: Said, count: int, unit: str, today: date | None) -> Ambiguity:
    """The refusal of "every other monday" and "every 3 days at 9am": from when on?"""
    nth = said.every_nth
    candidates: list[str] = []
    if _is_all_said(said, unit) and not (said.times or said.week_days or said.month_days):
        if unit in {"day", "week"} or (unit == "month" and count < 12 and 12 % count == 0):
            candidates.append(f"every {count} {unit}s")
        elif (count, unit) == (12, "month"):
            candidates.append("every year")
    if _is_all_said(said, unit):
        candidates += _alternating(said, count, unit, today)
    if nth and nth.is_ordinal and count <= 5:
        day = words.DAY_NAMES[values(said.week_days.mask)[0]].lower()
        candidates.append(f"on the {words.ordinal_text(count)} {day} of the month{_at(said)}")
    return Ambiguity(f"it does not say which {unit}s", *candidates)


def matching_both(said: Said) -> tuple[str, ...]:
    """The rule of days of the month that are also such weekdays, where an RRULE can say it."""
    days = said.month_days
    if days.nearest or days.last_weekday or said.week_days.nth:
        return ()
    numbers = [*values(days.mask), *(-1 - before for before in sorted(days.before_last))]
    months = f";BYMONTH={_listed(values(said.months))}" if said.months else ""
    rule = f"RRULE:FREQ=MONTHLY;BYMONTHDAY={_listed(numbers)};BYDAY={_weekdays(said)}"
    return (f"{rule}{months}{_times(said)}",)


def _is_all_said(said: Said, unit: str) -> bool:
    """Whether a rule of this unit can hold all that was said."""
    days = said.month_days
    if said.months or said.years or said.readings or said.window or said.week_days.nth:
        return False
    if days.before_last or days.last_weekday or days.nearest:
        return False
    return (unit == "week" or not said.week_days) and (unit in {"month", "quarter"} or not days)


def _alternating(said: Said, count: int, unit: str, today: date | None) -> list[str]:
    """Every so many days, weeks, …, beginning with each of the next two."""
    if unit == "quarter":
        count, unit = 3 * count, "month"
    rule = f"RRULE:FREQ={_FREQUENCIES[unit]};INTERVAL={count}"
    if unit == "week" and said.week_days.mask:
        rule += f";BYDAY={_weekdays(said)}"
    elif unit == "month":
        rule += f";BYMONTHDAY={_listed(values(said.month_days.mask)) or 1}"
    rule += _times(said)
    if today is None:
        return [rule]
    return [f"DTSTART:{start:%Y%m%d}T000000 {rule}" for start in _starts(unit, today)]


def _starts(unit: str, today: date) -> tuple[date, date]:
    """The first days of the next two days, weeks, months or years."""
    if unit == "day":
        return today + timedelta(days=1), today + timedelta(days=2)
    if unit == "week":
        # Weeks begin on Monday, as they do for INTERVAL.
        monday = from_weekday(today + timedelta(days=1), 1)
        return monday, monday + timedelta(days=7)
    if unit == "month":
        first = (today.replace(day=1) + timedelta(days=32)).replace(day=1)
        return first, (first + timedelta(days=32)).replace(day=1)
    return date(today.year + 1, 1, 1), date(today.year + 2, 1, 1)


def _times(said: Said) -> str:
    """The times said, as parts of an RRULE."""
    units = (
        ("HOUR", "MINUTE", "SECOND") if any(time[2] for time in said.times) else ("HOUR", "MINUTE")
    )
    parts = zip(units, zip(*said.times, strict=True), strict=False)
    return "".join(f";BY{unit}={_listed(sorted(set(found)))}" for unit, found in parts)


def _at(said: Said) -> str:
    times = " and ".join(words.clock_text(*time) for time in said.times)
    return f" at {times}" if times else ""


def _weekdays(said: Said) -> str:
    return ",".join(_DAYS[day] for day in values(said.week_days.mask))


def _listed(numbers: list[int]) -> str:
    return ",".join(map(str, numbers))
