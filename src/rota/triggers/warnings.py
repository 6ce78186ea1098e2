"""What people should hear before they trust a cron expression.

Each is legal, means something definite here, and surprises somebody.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rota.triggers.civil import DAY, floor_second, instant_at
from rota.triggers.cron import Cron
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY
from rota.triggers.cron.text import FULL_HOURS
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.triggers.cron.pattern import Pattern
    from rota.triggers.trigger import Trigger

#: How far ahead an empty day is looked for.
HORIZON = timedelta(days=2 * 366)


def warnings(trigger: Trigger, *, after: datetime) -> list[str]:
    """Sentences for whoever creates it; none for most triggers."""
    if isinstance(trigger, Limited):
        return warnings(trigger.trigger, after=after)
    if not isinstance(trigger, Cron):
        return []
    return [*_day_fields(trigger.pattern), *_empty_day(trigger, after)]


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


def _empty_day(cron: Cron, after: datetime) -> Iterator[str]:
    """A day on which every run falls into the hour that the clocks skip."""
    if not cron.pattern.is_wildcard or cron.pattern.hours == FULL_HOURS:
        return
    clock = cron.zone
    first = clock.stretch_at(floor_second(after)) + 1
    last = clock.stretch_at(floor_second(after + HORIZON))
    for stretch in range(first, last + 1):
        if clock.gap_before(stretch) and _has_none(cron, (clock.local_start(stretch) - 1) // DAY):
            day = instant_at(clock.local_start(stretch) - 1)
            yield (
                f"No run on {day:%Y-%m-%d} in {clock.name}: every time of that day falls into the "
                "gap when clocks go forward. Fixed times, without a *, would run at its end."
            )
            return


def _has_none(cron: Cron, day: int) -> bool:
    """The local day is one of the pattern's, and has no slot."""
    nominal = cron.pattern.first_from(day * DAY)
    if nominal is None or nominal >= (day + 1) * DAY:
        return False
    begin = cron.zone.first_instant(day * DAY)
    end = cron.zone.first_instant((day + 1) * DAY)
    slot = cron.next_after(instant_at(begin) - timedelta(seconds=1))
    return slot is None or floor_second(slot) >= end
