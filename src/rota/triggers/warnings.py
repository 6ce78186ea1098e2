"""What people should hear before they trust a cron expression, or a time on the wall clock.

Each is legal, means something definite here, and surprises somebody.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.triggers.at import At
from rota.triggers.calendars import Filtered
from rota.triggers.civil import DAY, floor_second, instant_at, wall_second
from rota.triggers.cron import Cron
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY
from rota.triggers.cron.text import FULL_HOURS
from rota.triggers.limits import Limited
from rota.triggers.preview import innermost, local_time
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rota.triggers.cron.pattern import Pattern
    from rota.triggers.trigger import Trigger

#: How far ahead an empty day is looked for.
HORIZON = 2 * 366 * DAY


def warnings(trigger: Trigger, *, after: datetime, clock_changes: bool = True) -> list[str]:
    """Sentences for the person who creates it; none for most triggers.

    Without `clock_changes`, none about times that run once, but at another time than written.
    """
    cron = innermost(trigger)
    if isinstance(cron, At):
        return [*_one_off(cron)]
    if not isinstance(cron, Cron):
        return []
    return [
        *_day_fields(cron.pattern),
        *_empty_day(cron, trigger, after),
        *(_clock_changes(cron, trigger, after) if clock_changes else ()),
    ]


def _one_off(trigger: At) -> Iterator[str]:
    """One instant, written without an offset, that clocks skip or read twice."""
    if trigger.wall is None:
        return
    clock = zone(trigger.timezone)
    local = wall_second(trigger.wall)
    stretch = clock.first_reading(local)
    runs = local_time(trigger.instant, clock).isoformat()
    if local < clock.local_start(stretch):
        yield (
            f"{_clock(local)} does not exist on {_date(local)} in {clock.name}: clocks skip it. "
            f"It runs at the end of the gap, {runs}."
        )
    elif local >= clock.next_local_start(stretch):
        yield (
            f"{_clock(local)} exists twice on {_date(local)} in {clock.name}. It runs the first "
            f"time, {runs}; write the offset to choose."
        )


def _day_fields(pattern: Pattern) -> Iterator[str]:
    if pattern.days_joined_by_or:
        yield (
            "Both day of month and day of week are given: it runs on days that match either. "
            "Some other tools want both."
        )
    elif _both_narrowed(pattern):
        yield (
            "One day field begins with *, so the two are joined by AND: it runs only on days that "
            "match both. Some other tools take either."
        )


def _both_narrowed(pattern: Pattern) -> bool:
    return pattern.month_days != ANY_MONTH_DAY and pattern.week_days != ANY_WEEKDAY


def _empty_day(cron: Cron, trigger: Trigger, after: datetime) -> Iterator[str]:
    """A day on which every run falls into the hour that the clocks skip."""
    if not cron.pattern.is_wildcard or cron.pattern.hours == FULL_HOURS:
        return
    clock = cron.zone
    first_second, last_second = _looked_at(trigger, after)
    stretches = range(clock.stretch_at(first_second) + 1, clock.stretch_at(last_second) + 1)
    for stretch in stretches:
        if clock.gap_before(stretch) and _has_none(cron, (clock.local_start(stretch) - 1) // DAY):
            day = instant_at(clock.local_start(stretch) - 1)
            yield (
                f"No run on {day:%Y-%m-%d} in {clock.name}: every time of that day falls into the "
                "gap when clocks go forward. Fixed times, without a *, would run at its end."
            )
            return


def _clock_changes(cron: Cron, trigger: Trigger, after: datetime) -> Iterator[str]:
    """The next day on which clocks skip a fixed time, and the next on which they read it twice."""
    if cron.pattern.is_wildcard:
        return
    clock = cron.zone
    first_second, last_second = _looked_at(trigger, after)
    skipped = repeated = False
    for stretch in range(clock.stretch_at(first_second) + 1, clock.stretch_at(last_second) + 1):
        start, reached = clock.local_start(stretch), clock.reached[stretch]
        nominal = cron.pattern.first_from(min(start, reached))
        if nominal is None or nominal >= max(start, reached):
            continue
        if start > reached and not skipped:
            skipped = True
            yield _skipped_time(cron, stretch, nominal)
        elif start < reached and not repeated:
            repeated = True
            yield (
                f"On {_date(nominal)} clocks in {clock.name} read {_clock(nominal)} twice: it runs "
                "the first time only."
            )


def _skipped_time(cron: Cron, stretch: int, nominal: int) -> str:
    clock = cron.zone
    end = instant_at(clock.starts[stretch])
    runs = cron.next_after(end - timedelta(seconds=1)) == end
    then = f"it runs at {_clock(clock.local_start(stretch))}" if runs else "it does not run"
    return f"On {_date(nominal)} clocks in {clock.name} skip {_clock(nominal)}: {then} instead."


def _clock(local: int) -> str:
    return f"{instant_at(local):%H:%M}"


def _date(local: int) -> str:
    return f"{instant_at(local):%Y-%m-%d}"


def _looked_at(trigger: Trigger, after: datetime) -> tuple[int, int]:
    """From when to when an empty day matters: two years, within the trigger's own limits."""
    first = floor_second(after)
    last = first + HORIZON
    while isinstance(trigger, Limited | Filtered):
        if isinstance(trigger, Limited):
            first = max(first, floor_second(trigger.start_at)) if trigger.start_at else first
            last = min(last, floor_second(trigger.end_at)) if trigger.end_at else last
        trigger = trigger.trigger
    return first, last


def _has_none(cron: Cron, day: int) -> bool:
    """The local day is one of the pattern's, and has no slot."""
    nominal = cron.pattern.first_from(day * DAY)
    if nominal is None or nominal >= (day + 1) * DAY:
        return False
    begin = cron.zone.first_instant(day * DAY)
    end = cron.zone.first_instant((day + 1) * DAY)
    slot = cron.next_after(instant_at(begin) - timedelta(seconds=1))
    return slot is None or floor_second(slot) >= end
