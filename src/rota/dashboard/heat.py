"""A year of a schedule as a calendar: half a year of what became of its slots, and half a year of
those to come. Weeks are columns, from Monday down. Pure."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from rota.dashboard import times
from rota.history.days import Day, Span
from rota.triggers.civil import DAY, instant_at
from rota.triggers.count import slots_within
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.preview import innermost
from rota.triggers.trigger import Trigger
from rota.triggers.zones import zone

WEEKS: Final = 26
STEP: Final = 14
SIZE: Final = 12
TOP: Final = 16
WIDTH: Final = WEEKS * STEP
HEIGHT: Final = TOP + 7 * STEP
_MOST_WALKED: Final = 2_000
_TICK = timedelta(microseconds=1)
_EPOCH = date(1970, 1, 1)
_BAD: Final = ("dead", "missed")
_WORDS: Final = ("succeeded", "dead", "missed", "skipped", "cancelled")


@dataclass(frozen=True, slots=True)
class Cell:
    """A day."""

    x: int
    y: int
    tone: str
    level: int
    """How much there was, from 1 (little) to 4 (most); 0 for nothing."""
    title: str


@dataclass(frozen=True, slots=True)
class Half:
    """Twenty-six weeks."""

    cells: list[Cell]
    months: list[tuple[int, str]]
    """Where each month's name stands."""


def first_day(now: datetime, timezone: str) -> date:
    """The Monday on which the calendar begins: this week is the last of the first half."""
    today = times.at(now, timezone).date()
    return today - timedelta(days=today.weekday(), weeks=WEEKS - 1)


def spans(first: date, timezone: str, *, weeks: int = WEEKS) -> list[Span]:
    """The days from this one on, as instants of the zone's clock."""
    clock = zone(timezone)
    starts = [
        instant_at(clock.first_instant(((first - _EPOCH).days + each) * DAY))
        for each in range(weeks * 7 + 1)
    ]
    # A day that a zone left out when it moved across the date line is empty.
    return [Span(at, until) for at, until in itertools.pairwise(starts)]


def planned(trigger: Trigger, days: Sequence[Span], now: datetime) -> dict[datetime, int]:
    """How many slots each day has from now on; days that are not there were not counted."""
    ahead = [(each.at, max(each.at - _TICK, now), each.until - _TICK) for each in days]
    ahead = [each for each in ahead if each[2] > now]
    if isinstance(innermost(trigger), Cron | Interval):
        return {at: slots_within(trigger, after, until) for at, after, until in ahead}
    return _walked(trigger, ahead)


def _walked(
    trigger: Trigger, ahead: Sequence[tuple[datetime, datetime, datetime]]
) -> dict[datetime, int]:
    found: dict[datetime, int] = {}
    walked = 0
    for at, after, until in ahead:
        count = 0
        slot = trigger.next_after(after)
        while slot is not None and slot <= until:
            count, walked = count + 1, walked + 1
            if walked > _MOST_WALKED:
                return found
            slot = trigger.next_after(slot)
        found[at] = count
    return found


def half(
    first: date,
    days: Sequence[Span],
    *,
    recorded: Mapping[datetime, Day],
    to_come: Mapping[datetime, int],
    now: datetime,
) -> Half:
    """The days as cells. `recorded` lacks the days that were not counted."""
    most = max((each.total for each in recorded.values()), default=0)
    most_ahead = max(to_come.values(), default=0)
    cells: list[Cell] = []
    for at, span in enumerate(days):
        day = first + timedelta(days=at)
        if span.at <= now:
            what = _past(recorded.get(span.at), most, to_come.get(span.at, 0))
        else:
            what = _ahead(to_come.get(span.at), most_ahead)
        x, y = at // 7 * STEP, TOP + at % 7 * STEP
        cells.append(Cell(x, y, what[0], what[1], f"{_named(day)}: {what[2]}"))
    return Half(cells, _months(first, len(days)))


def _past(day: Day | None, most: int, still: int) -> tuple[str, int, str]:
    if day is None:
        return "unknown", 0, "not counted yet"
    later = f", {still:,} to come" if still else ""
    if not day.total:
        return "none", 0, f"nothing{later}"
    words = ", ".join(f"{day.slots[each]:,} {each}" for each in _WORDS if day.slots.get(each))
    counted = f"of the {day.rows:,} that were counted, " if day.is_cut else ""
    return _tone(day), _level(day.total, most), counted + words + later


def _ahead(count: int | None, most: int) -> tuple[str, int, str]:
    if count is None:
        return "none", 0, "not counted"
    return ("plan", _level(count, most), f"{count:,} to come") if count else ("none", 0, "nothing")


def _tone(day: Day) -> str:
    """The worst that there was; what was only left out is muted."""
    if any(day.slots.get(each) for each in _BAD):
        return "bad"
    return "good" if day.slots.get("succeeded") else "mute"


def _level(count: int, most: int) -> int:
    return min(4, 1 + 4 * count // (most + 1))


def _named(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b %Y}"


def _months(first: date, count: int) -> list[tuple[int, str]]:
    """Each month over the first whole week of it; one at the very edge has no room."""
    found: list[tuple[int, str]] = []
    for week in range(count // 7):
        day = first + timedelta(weeks=week)
        if day.day <= 7 and week < count // 7 - 1:
            found.append((week * STEP, f"{day:%b}"))
    return found


def after(first: date) -> date:
    """The Monday on which the half after this one begins."""
    return first + timedelta(weeks=WEEKS)
