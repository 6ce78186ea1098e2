"""Hours as a heat map: a row for each day, a column for each hour of it. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from rota.triggers.civil import instant_at

HOUR: Final = 3_600
DAY: Final = 86_400
SHARES: Final = (0.2, 0.4, 0.6, 0.8)
"""Where one tone ends and the next begins, as shares of the busiest hour."""


@dataclass(frozen=True, slots=True)
class Cell:
    """An hour."""

    count: int
    level: int
    """From 0 (nothing) to 5 (the busiest)."""
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Row:
    """A day in UTC."""

    day: datetime
    cells: list[Cell | None]
    """Its 24 hours; None for one that is not within the week."""
    total: int


def rows(first_hour: int, hours: Sequence[int]) -> list[Row]:
    """The hours from this one on, day by day."""
    most = max(hours, default=0)
    first_day = first_hour - first_hour % DAY
    last = first_hour + len(hours) * HOUR
    return [_row(day, first_hour, hours, most) for day in range(first_day, last, DAY)]


def _row(day: int, first_hour: int, hours: Sequence[int], most: int) -> Row:
    places = [(day + hour * HOUR - first_hour) // HOUR for hour in range(24)]
    there = [each for each in places if 0 <= each < len(hours)]
    return Row(
        day=instant_at(day),
        cells=[
            _cell(first_hour + each * HOUR, hours[each], most) if each in there else None
            for each in places
        ],
        total=sum(hours[each] for each in there),
    )


def _cell(begins: int, count: int, most: int) -> Cell:
    at = instant_at(begins)
    until = at + timedelta(hours=1)
    firings = "1 firing" if count == 1 else f"{count:,} firings"
    return Cell(
        count=count,
        level=level(count, most),
        text=short(count) if count else "",
        title=f"{at:%a} {at.day} {at:%b}, {at:%H:%M} to {until:%H:%M} UTC: {firings}",
    )


def level(count: int, most: int) -> int:
    """How dark: 0 for nothing, else by the share of the busiest hour."""
    if count <= 0:
        return 0
    return 1 + sum(count > share * most for share in SHARES)


def short(number: int) -> str:
    """A number in at most four characters or so: 950, 1.2k, 34k, 1.2M."""
    for unit, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            value = number / unit
            return f"{value:.1f}{letter}" if value < 9.95 else f"{value:.0f}{letter}"
    return str(number)
