"""The seconds in which a trigger is due, within a range. Pure.

Intervals come as ranges, which cost nothing until somebody walks them; others slot by slot.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from rota.triggers.calendars import Filtered
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.count import slots_within
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.preview import innermost
from rota.triggers.recurrence import Recurrence
from rota.triggers.trigger import Trigger

TICK: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)
MOST_WALKED: Final = 100_000
"""Of a trigger that has to be walked, no more slots than this are looked at."""


def is_countable(trigger: Trigger) -> bool:
    """Whether its slots can be counted by arithmetic."""
    return isinstance(innermost(trigger), Cron | Interval)


def is_whole(trigger: Trigger) -> bool:
    """Whether its slots are at whole seconds, so that an offset moves all of them alike."""
    return isinstance(innermost(trigger), Cron | Recurrence)


def count(trigger: Trigger, first: int, end: int, *, offset: timedelta) -> int:
    """How often it is due in the seconds from `first` up to, not including, `end`."""
    return slots_within(trigger, *_range(first, end, offset))


def seconds(trigger: Trigger, first: int, end: int, *, offset: timedelta) -> Iterable[int]:
    """The seconds of [first, end) in which it is due, in their order."""
    return _due(trigger, *_range(first, end, offset), offset)


def _range(first: int, end: int, offset: timedelta) -> tuple[datetime, datetime]:
    """The slots that are due then: after the one instant, until the other."""
    return instant_at(first) - offset - TICK, instant_at(end) - offset - TICK


def _due(trigger: Trigger, after: datetime, until: datetime, offset: timedelta) -> Iterable[int]:
    if isinstance(trigger, Limited):
        if trigger.start_at is not None:
            after = max(after, trigger.start_at - TICK)
        if trigger.end_at is not None:
            until = min(until, trigger.end_at)
        return _due(trigger.trigger, after, until, offset)
    if isinstance(trigger, Filtered):
        spans = trigger.included_spans(after, until)
        return chain.from_iterable(_due(trigger.trigger, since, to, offset) for since, to in spans)
    if isinstance(trigger, Interval) and trigger.anchor is not None:
        return _even(trigger, after, until, offset)
    return _walked(trigger, after, until, offset)


def _even(interval: Interval, after: datetime, until: datetime, offset: timedelta) -> Iterable[int]:
    slot = interval.next_after(after)
    if slot is None or slot > until:
        return ()
    due, period = slot + offset, interval.period
    number = (until - slot) // period + 1
    if period % _SECOND:
        return (floor_second(due + each * period) for each in range(number))
    begins, step = floor_second(due), period // _SECOND
    return range(begins, begins + number * step, step)


def _walked(trigger: Trigger, after: datetime, until: datetime, offset: timedelta) -> Iterator[int]:
    slot = trigger.next_after(after)
    walked = 0
    while slot is not None and slot <= until and walked < MOST_WALKED:
        yield floor_second(slot + offset)
        walked += 1
        slot = trigger.next_after(slot)
