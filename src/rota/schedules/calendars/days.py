"""What a calendar's rules come to, as days; and days as they are stored."""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from rota.schedules.calendars import spans
from rota.triggers.calendars import Days

if TYPE_CHECKING:
    from rota.schedules.calendars.calendar import Rules

YEARS_BACK: Final = 5
"""How far back holidays are written out, for backfills and for asking why."""
YEARS_AHEAD: Final = 10
"""How many years after this one. Every year there is one more, long before it matters."""

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class _Stored(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    dates: dict[str, str] = {}
    weekdays: tuple[int, ...] = ()
    kept: tuple[str, ...] = ()


def resolve(rules: Rules, holidays: dict[date, str]) -> Days:
    """The days, given the holidays of its country. Pure."""
    named = dict.fromkeys(spans.dates(rules.dates), "") | holidays
    return Days(
        excluded=frozenset(named),
        weekdays=frozenset(_WEEKDAYS.index(day) for day in rules.weekdays),
        kept=frozenset(spans.dates(rules.except_dates)),
        names={day: name for day, name in named.items() if name},
    )


def years(today: date) -> range:
    """The years whose holidays are written out."""
    return range(today.year - YEARS_BACK, today.year + YEARS_AHEAD + 1)


def encode(days: Days) -> str:
    """As stored in calendars.days; the same days are the same text."""
    stored = _Stored(
        dates={day.isoformat(): days.names.get(day, "") for day in sorted(days.excluded)},
        weekdays=tuple(sorted(days.weekdays)),
        kept=tuple(day.isoformat() for day in sorted(days.kept)),
    )
    return msgspec.json.encode(stored).decode()


@lru_cache(maxsize=1024)
def decode(stored: str) -> Days:
    """What `encode` made; one value for as many schedules as have the calendar."""
    read = msgspec.json.decode(stored, type=_Stored)
    named = {date.fromisoformat(day): name for day, name in read.dates.items()}
    return Days(
        excluded=frozenset(named),
        weekdays=frozenset(read.weekdays),
        kept=frozenset(date.fromisoformat(day) for day in read.kept),
        names={day: name for day, name in named.items() if name},
    )
