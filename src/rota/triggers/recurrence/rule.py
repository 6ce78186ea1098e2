"""A recurrence rule as a value: its parts, in one order, whatever the order they came in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from rota.errors import InvalidRecurrence
from rota.triggers.civil import DAY, instant_at

WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_LONGEST_SHOWN = 64


class Frequency(IntEnum):
    """How often the period repeats; the numbers are python-dateutil's."""

    YEARLY = 0
    MONTHLY = 1
    WEEKLY = 2
    DAILY = 3
    HOURLY = 4
    MINUTELY = 5
    SECONDLY = 6

    @property
    def unit(self) -> int:
        """Seconds in a period shorter than a day; a day for the others."""
        return {Frequency.HOURLY: 3600, Frequency.MINUTELY: 60, Frequency.SECONDLY: 1}.get(
            self, DAY
        )


class NthWeekday(NamedTuple):
    """A weekday (Monday is 0): every one of them, or the n-th, from the end when negative."""

    weekday: int
    nth: int = 0

    def __str__(self) -> str:
        return f"{self.nth or ''}{WEEKDAYS[self.weekday]}"


class Until(NamedTuple):
    """The last second at which it may fire: an instant, or a reading of the wall clock."""

    second: int
    is_utc: bool

    def __str__(self) -> str:
        return show_time(self.second) + ("Z" if self.is_utc else "")


@dataclass(frozen=True, slots=True)
class Rule:
    """The parts of one RRULE. Lists are sorted and without repeats; empty when not given."""

    frequency: Frequency
    interval: int = 1
    count: int | None = None
    until: Until | None = None
    by_month: tuple[int, ...] = ()
    by_week_no: tuple[int, ...] = ()
    by_year_day: tuple[int, ...] = ()
    by_month_day: tuple[int, ...] = ()
    by_day: tuple[NthWeekday, ...] = ()
    by_hour: tuple[int, ...] = ()
    by_minute: tuple[int, ...] = ()
    by_second: tuple[int, ...] = ()
    by_set_pos: tuple[int, ...] = ()
    week_start: int = 0

    @property
    def names_days(self) -> bool:
        """It says which days; otherwise the start's day does."""
        return bool(self.by_week_no or self.by_year_day or self.by_month_day or self.by_day)

    def completed(self, start: int) -> Rule:
        """With everything written out that the start (a wall-clock second) implies.

        Two rules are completed to the same one when they mean the same from that start.
        """
        at = instant_at(start)
        often = self.frequency
        yearly = often is Frequency.YEARLY and not self.names_days
        monthly = often is Frequency.MONTHLY and not self.names_days
        weekly = often is Frequency.WEEKLY and not self.names_days
        weeks_matter = self.by_week_no or (
            often is Frequency.WEEKLY and (self.interval > 1 or self.by_set_pos)
        )
        return replace(
            self,
            by_month=self.by_month or ((at.month,) if yearly else ()),
            by_month_day=(at.day,) if yearly or monthly else self.by_month_day,
            by_day=(NthWeekday(at.weekday()),) if weekly else self.by_day,
            by_hour=self.by_hour or ((at.hour,) if often < Frequency.HOURLY else ()),
            by_minute=self.by_minute or ((at.minute,) if often < Frequency.MINUTELY else ()),
            by_second=self.by_second or ((at.second,) if often < Frequency.SECONDLY else ()),
            week_start=self.week_start if weeks_matter else 0,
        )

    def __str__(self) -> str:
        parts: dict[str, object] = {
            "FREQ": self.frequency.name,
            "INTERVAL": self.interval if self.interval > 1 else "",
            "COUNT": self.count or "",
            "UNTIL": self.until or "",
            "BYMONTH": _join(self.by_month),
            "BYWEEKNO": _join(self.by_week_no),
            "BYYEARDAY": _join(self.by_year_day),
            "BYMONTHDAY": _join(self.by_month_day),
            "BYDAY": _join(self.by_day),
            "BYHOUR": _join(self.by_hour),
            "BYMINUTE": _join(self.by_minute),
            "BYSECOND": _join(self.by_second),
            "BYSETPOS": _join(self.by_set_pos),
            "WKST": WEEKDAYS[self.week_start] if self.week_start else "",
        }
        return ";".join(f"{name}={value}" for name, value in parts.items() if value)


def show_time(second: int) -> str:
    """A wall-clock second as iCalendar writes it: 20250131T090000."""
    return f"{instant_at(second):%Y%m%dT%H%M%S}"


def refusal(part: str, expected: str, got: str) -> InvalidRecurrence:
    """The error for one part of a text."""
    shown = got if len(got) <= _LONGEST_SHOWN else f"{got[: _LONGEST_SHOWN - 3]}..."
    return InvalidRecurrence(
        f"Invalid recurrence rule: {part}: expected {expected}, got {shown!r}", field=part
    )


def _join(values: tuple[object, ...]) -> str:
    return ",".join(str(value) for value in values)
