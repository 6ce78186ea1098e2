"""Hours as a heat map: a row for each day, a column for each hour of it. Pure."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from rota.dashboard.times import at, place
from rota.triggers.civil import instant_at

HOUR: Final = 3_600
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
    """A day on a zone's wall clock."""

    day: date
    cells: list[Cell | None]
    """Its 24 hours; None for one that is not within the week, or that the clock skips."""
    total: int


@dataclass(slots=True)
class _Reading:
    """What the clock reads as one hour: two of them when it goes back."""

    begins: int
    length: int = 0
    count: int = 0


def rows(first_hour: int, hours: Sequence[int], timezone: str = "UTC") -> list[Row]:
    """The hours from this one on, day by day; each stands where it begins on the zone's clock."""
    most = max(hours, default=0)
    days: dict[date, dict[int, _Reading]] = {}
    for begins, count in zip(itertools.count(first_hour, HOUR), hours, strict=False):
        local = at(instant_at(begins), timezone)
        there = days.setdefault(local.date(), {}).setdefault(local.hour, _Reading(begins))
        there.length += HOUR
        there.count += count
    return [
        Row(
            day=day,
            cells=[
                _cell(there[hour], most, timezone) if hour in there else None for hour in range(24)
            ],
            total=sum(each.count for each in there.values()),
        )
        for day, there in days.items()
    ]


def _cell(there: _Reading, most: int, timezone: str) -> Cell:
    since = at(instant_at(there.begins), timezone)
    until = at(instant_at(there.begins + there.length), timezone)
    firings = "1 firing" if there.count == 1 else f"{there.count:,} firings"
    back = ", as the clock goes back" if there.length > HOUR else ""
    times = f"{since:%H:%M} to {until:%H:%M} {place(timezone)}{back}"
    return Cell(
        count=there.count,
        level=level(there.count, most),
        text=short(there.count) if there.count else "",
        title=f"{since:%a} {since.day} {since:%b}, {times}: {firings}",
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
