"""What people should hear before they trust a cron expression.

Each is legal, means something definite here, and surprises somebody.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota.triggers.calendars import Filtered
from rota.triggers.civil import DAY, floor_second, instant_at
from rota.triggers.cron import Cron
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY
from rota.triggers.cron.text import FULL_HOURS
from rota.triggers.limits import Limited
from rota.triggers.preview import innermost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from rota.triggers.cron.pattern import Pattern
    from rota.triggers.trigger import Trigger

#: How far ahead an empty day is looked for.
HORIZON = 2 * 366 * DAY


def warnings(trigger: Trigger, *, after: datetime) -> list[str]:
    """Sentences for whoever creates it; none for most triggers."""
    cron = innermost(trigger)
    if not isinstance(cron, Cron):
        return []
    return [*_day_fields(cron.pattern), *_empty_day(cron, trigger, after)]


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
