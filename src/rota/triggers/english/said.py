"""What a text has said so far: the parts of a schedule, each filled in by one phrase.

The phrases only fill this in. Whether the parts fit together, and what they mean together, is
decided in `meaning.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

    from rota.triggers.english.words import Time


@dataclass(slots=True)
class Reading:
    """Which seconds, minutes or hours; `every` when it runs with the clock ("every 5th minute")."""

    mask: int
    every: bool


@dataclass(slots=True)
class Days:
    """Days of the month or of the week: plain ones in a mask, special ones beside it."""

    mask: int = 0
    before_last: set[int] = field(default_factory=set[int])
    last_weekday: bool = False
    nearest: int = 0
    nth: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])

    def __bool__(self) -> bool:
        special = self.before_last or self.last_weekday or self.nearest or self.nth
        return bool(self.mask or special)


@dataclass(frozen=True, slots=True)
class EveryNth:
    """Every other week, every third monday: which ones? Always refused, with dates."""

    count: int
    unit: str
    """day, week, month, quarter or year."""
    is_ordinal: bool = False
    """It may also be meant within the month: the third monday."""


@dataclass(slots=True)
class Said:
    """The parts of a text."""

    text: str
    """The text itself, in the grammar's spelling."""
    repeats: bool = False
    """It says that it recurs: every, daily, mondays, of the month."""
    readings: dict[str, Reading] = field(default_factory=dict[str, Reading])
    """By unit: second, minute, hour."""
    step: tuple[int, str] | None = None
    """N units: every 5 minutes."""
    period: str | None = None
    """day, week, month, quarter or year, of "every month" or "monthly"."""
    times: list[Time] = field(default_factory=list[tuple[int, int, int]])
    part_of_day: str | None = None
    """morning, afternoon, evening or night, if the text names just one."""
    window: tuple[Time, Time] | None = None
    month_days: Days = field(default_factory=Days)
    week_days: Days = field(default_factory=Days)
    falling: bool = False
    """A day of the month counts only when it falls on such a weekday."""
    joined: bool = False
    """An "and" or "or" stood between phrases."""
    every_nth: EveryNth | None = None
    every_month_name: bool = False
    """An "every" stood right before a month's name: on all of its days, or once?"""
    without_week_days: int = 0
    without_months: int = 0
    months: int = 0
    days_of_months: tuple[Days, Days] | None = None
    """The days that had been said when the first months were."""
    years: int = 0
    date: date | None = None
    relative_day: int | None = None
    """Days from today: tomorrow is 1."""
    this_weekday: int | None = None
    """This friday: today or within six days."""
    next_weekday: int | None = None
    """Next friday: which one? Always refused, with dates."""
