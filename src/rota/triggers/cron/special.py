"""The days that depend on the month: L, L-3, LW, 15W and L-3W; FRIL, FRI#L and FRI#2.

Each day field is read into plain values (a mask) and, where it has any, special ones.
"""

from __future__ import annotations

from typing import NamedTuple

from rota.triggers.civil import FIRST_WEEKDAYS, LENGTHS
from rota.triggers.cron.fields import DAY_OF_MONTH, DAY_OF_WEEK, one_sunday

#: "Last" among the n-th weekdays.
LAST = 0

# A week's mask times this is the mask of six weeks, which any month fits in. Bit 1 is its first.
_WEEKS = sum(1 << 7 * week for week in range(6)) << 1
_FIRST_WEEK = 0xFE


class MonthDays(NamedTuple):
    """Special items of the day-of-month field."""

    before_last: tuple[int, ...] = ()
    """L-n: this many days before the last one; L itself is 0."""
    last_weekday: bool = False
    """LW: the last day from Monday to Friday."""
    nearest: int = 0
    """nW: the day from Monday to Friday nearest to the n-th, inside the month.

    Negative for L-nW: nearest to the day that is n days before the last one.
    """

    def of(self, month: int) -> int:
        """Those days of that month, as a mask: bit d is the d-th."""
        length = LENGTHS[month]
        days = 0
        for before in self.before_last:
            if before < length:
                days |= 1 << length - before
        if self.last_weekday:
            days |= _nearest_weekday(month, length)
        near = self.nearest if self.nearest >= 0 else length + self.nearest
        if 0 < near <= length:
            days |= _nearest_weekday(month, near)
        return days


class WeekDays(NamedTuple):
    """Special items of the day-of-week field: (weekday, n) for its n-th in the month, or LAST."""

    nth: tuple[tuple[int, int], ...] = ()

    def of(self, month: int) -> int:
        """Those days of that month, as a mask: bit d is the d-th."""
        days = 0
        for weekday, nth in self.nth:
            window = _FIRST_WEEK << (LENGTHS[month] - 7 if nth == LAST else 7 * (nth - 1))
            days |= every_week(1 << weekday, month) & window
        return days


def every_week(weekdays: int, month: int) -> int:
    """The days of six weeks from the month's first on that are such weekdays, as a mask."""
    return weekdays * _WEEKS >> FIRST_WEEKDAYS[month] & ~1


def read_month_days(text: str) -> tuple[int, MonthDays | None]:
    """The plain and the special days of a day-of-month field."""
    mask, special = _SIMPLE_MONTH_DAYS.get(text) or _parse_month_days(text)
    # Beside all days, a special one adds nothing, and equal meanings must compare equal.
    return mask, None if mask == DAY_OF_MONTH.simple["*"] else special


def read_week_days(text: str) -> tuple[int, WeekDays | None]:
    """The plain and the special days of a day-of-week field."""
    mask, special = _SIMPLE_WEEK_DAYS.get(text) or _parse_week_days(text)
    return mask, None if mask == DAY_OF_WEEK.simple["*"] else special


def _parse_month_days(text: str) -> tuple[int, MonthDays | None]:
    if text.endswith("W") and text != "LW" and "," not in text:
        return 0, _nearest(text)
    mask, before_last, last_weekday = 0, set[int](), False
    for item in DAY_OF_MONTH.items(text):
        if item == "LW":
            last_weekday = True
        elif item.endswith("W"):
            raise DAY_OF_MONTH.error("expected W alone in its field, such as 15W or L-3W", text)
        elif item.startswith("L"):
            before_last.add(_before_last(item))
        else:
            mask |= DAY_OF_MONTH.item(item)
    if not (before_last or last_weekday):
        return mask, None
    return mask, MonthDays(tuple(sorted(before_last)), last_weekday)


def _parse_week_days(text: str) -> tuple[int, WeekDays | None]:
    mask, nth = 0, set[tuple[int, int]]()
    for item in DAY_OF_WEEK.items(text):
        if "#" in item:
            nth.add(_nth(item))
        elif item.endswith("L"):
            nth.add((_weekday(item[:-1], item), LAST))
        else:
            mask |= DAY_OF_WEEK.item(item)
    return one_sunday(mask), WeekDays(tuple(sorted(nth))) if nth else None


def _nearest(text: str) -> MonthDays:
    """15W or L-3W; L-0W is another spelling of LW."""
    day = text[:-1]
    if day == "L-0":
        return MonthDays(last_weekday=True)
    if day.startswith("L"):
        return MonthDays(nearest=-_before_last(day))
    return MonthDays(nearest=DAY_OF_MONTH.value(day, text))


def _before_last(item: str) -> int:
    if item == "L":
        return 0
    count = item[2:]
    if item[1] != "-" or not (count.isdecimal() and len(count) <= 2 and 1 <= int(count) <= 30):
        raise DAY_OF_MONTH.error("expected L, LW, or L-1 to L-30", item)
    return int(count)


def _nth(item: str) -> tuple[int, int]:
    day, _, nth = item.partition("#")
    if nth == "L":
        return _weekday(day, item), LAST
    if nth not in {"1", "2", "3", "4", "5"}:
        raise DAY_OF_WEEK.error("expected #1 to #5 or #L", item)
    return _weekday(day, item), int(nth)


def _weekday(text: str, item: str) -> int:
    if not text:
        raise DAY_OF_WEEK.error("expected a weekday before L or #, such as FRIL or FRI#2", item)
    return DAY_OF_WEEK.value(text, item) % 7


def _nearest_weekday(month: int, day: int) -> int:
    """The mask of the day from Monday to Friday nearest to this one, never leaving the month."""
    weekday = (FIRST_WEEKDAYS[month] + day - 1) % 7
    if weekday == 6:
        day += 2 if day == 1 else -1
    elif weekday == 0:
        day += -2 if day == LENGTHS[month] else 1
    return 1 << day


# As in `fields`: what most such fields consist of is in tables, made by the parser itself.
_SIMPLE_MONTH_DAYS = {
    text: _parse_month_days(text)
    for text in (
        *("L", "LW"),
        *(f"L-{n}{w}" for n in range(1, 31) for w in ("", "W")),
        *(f"{n}W" for n in range(1, 32)),
    )
}
_SIMPLE_WEEK_DAYS = {
    text: _parse_week_days(text)
    for day in (*DAY_OF_WEEK.names, *map(str, range(8)))
    for text in (f"{day}L", *(f"{day}#{n}" for n in "12345L"))
}
