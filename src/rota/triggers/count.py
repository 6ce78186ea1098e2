"""How many slots lie in a range: by arithmetic, where the trigger allows it. Pure.

An every-second schedule has 86,400 slots in a day. When a thousand of them come back from a day's
outage, counting one by one would keep the loop from firing what is due now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.triggers.calendars import Filtered
from rota.triggers.civil import DAY, FIRST_DAYS, floor_second, month_index
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.zones import DATE_LINE_GAP

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.cron.pattern import Pattern
    from rota.triggers.trigger import Trigger
    from rota.triggers.zones import Zone

MAX_COUNT = 100_000
"""Triggers other than cron and intervals are counted one by one, and no further than this."""


def slots_within(trigger: Trigger, after: datetime, until: datetime) -> int:
    """The number of slots in (after, until]; at most MAX_COUNT where they have to be walked."""
    if until <= after:
        return 0
    if isinstance(trigger, Limited):
        return _limited(trigger, after, until)
    if isinstance(trigger, Interval) and trigger.anchor is not None:
        return _passed(trigger, trigger.anchor, until) - _passed(trigger, trigger.anchor, after)
    if isinstance(trigger, Cron):
        return _cron_slots(trigger, floor_second(after) + 1, floor_second(until) + 1)
    if not isinstance(trigger, Filtered):
        return _walked(trigger, after, until)
    spans = trigger.included_spans(after, until)
    return sum(slots_within(trigger.trigger, since, to) for since, to in spans)


def _limited(trigger: Limited, after: datetime, until: datetime) -> int:
    if trigger.end_at is not None:
        until = min(until, trigger.end_at)
    if trigger.start_at is not None and trigger.start_at > after:
        # The start is a slot itself if the inner trigger has one there.
        at_start = trigger.next_after(after) == trigger.start_at
        begun = int(at_start and trigger.start_at <= until)
        return begun + slots_within(trigger.trigger, trigger.start_at, until)
    return slots_within(trigger.trigger, after, until)


def _passed(interval: Interval, anchor: datetime, until: datetime) -> int:
    """How many slots there are from the anchor up to and including the instant."""
    return max(0, (until - anchor) // interval.period + 1)


def _walked(trigger: Trigger, after: datetime, until: datetime) -> int:
    count = 0
    slot = trigger.next_after(after)
    while slot is not None and slot <= until and count < MAX_COUNT:
        count += 1
        slot = trigger.next_after(slot)
    return count


def _cron_slots(cron: Cron, first: int, end: int) -> int:
    """Slots from the second `first` up to, but not including, `end`: stretch by stretch."""
    clock = cron.zone
    last_stretch = clock.stretch_at(end - 1)
    total = 0
    for stretch in range(clock.stretch_at(first), last_stretch + 1):
        begins = max(first, clock.starts[stretch])
        ends = end if stretch == last_stretch else clock.starts[stretch + 1]
        local_end = ends + clock.offsets[stretch]
        local = begins + clock.offsets[stretch]
        if not cron.pattern.is_wildcard:
            # A second pass fires nothing; the end of a gap stands for the times in it.
            local = max(local, clock.reached[stretch])
            if begins == clock.starts[stretch]:
                total += _fires_for_gap(cron.pattern, clock, stretch)
        total += _matches(cron.pattern, local, local_end)
    return total


def _fires_for_gap(pattern: Pattern, clock: Zone, stretch: int) -> int:
    """1 when the gap before the stretch is made up for by a slot that would not be there anyway."""
    if not 0 < clock.gap_before(stretch) < DATE_LINE_GAP:
        return 0
    match = pattern.first_from(clock.reached[stretch])
    return int(match is not None and match < clock.local_start(stretch)) - int(
        match is not None
        and match < clock.local_start(stretch)
        and pattern.first_from(clock.local_start(stretch)) == clock.local_start(stretch)
    )


def _matches(pattern: Pattern, first: int, end: int) -> int:
    """How many wall-clock times in [first, end) match."""
    if end <= first:
        return 0
    first_day, begin = divmod(first, DAY)
    last_day, finish = divmod(end, DAY)
    if first_day == last_day:
        return _day_matches(pattern, first_day) * (_times(pattern, finish) - _times(pattern, begin))
    whole = _times(pattern, DAY)
    total = _day_matches(pattern, first_day) * (whole - _times(pattern, begin))
    total += _days(pattern, first_day + 1, last_day) * whole
    # The calendar may end with the last day.
    return total + (_day_matches(pattern, last_day) * _times(pattern, finish) if finish else 0)


def _day_matches(pattern: Pattern, day: int) -> int:
    month = month_index(day)
    return pattern.days_of(month) >> day - FIRST_DAYS[month] + 1 & 1


def _days(pattern: Pattern, first: int, end: int) -> int:
    """How many days in [first, end) match: a month at a time."""
    total = 0
    while first < end:
        month = month_index(first)
        stop = min(end, FIRST_DAYS[month + 1])
        days = pattern.days_of(month) >> first - FIRST_DAYS[month] + 1
        total += (days & (1 << stop - first) - 1).bit_count()
        first = stop
    return total


def _times(pattern: Pattern, second: int) -> int:
    """How many times of a day before its `second` match."""
    minute, second = divmod(second, 60)
    hour, minute = divmod(minute, 60)
    of_minute = pattern.seconds.bit_count()
    of_hour = pattern.minutes.bit_count() * of_minute
    total = _below(pattern.hours, hour) * of_hour
    if pattern.hours >> hour & 1:
        total += _below(pattern.minutes, minute) * of_minute
        if pattern.minutes >> minute & 1:
            total += _below(pattern.seconds, second)
    return total


def _below(mask: int, value: int) -> int:
    return (mask & (1 << value) - 1).bit_count()
