"""The slots that have passed without a firing: the first, the last and how many. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rota.triggers.interval import Interval
from rota.triggers.preview import innermost

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

MAX_COUNT = 100_000
"""Counted one by one no further than this; an interval's slots are divided instead."""

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Passed:
    """A run of slots, both ends included."""

    first: datetime
    last: datetime
    count: int


def passed(trigger: Trigger, first: datetime, until: datetime) -> Passed | None:
    """The trigger's slots from its slot `first` to the instant `until`; None when there is none."""
    last = trigger.previous_before(until + _TICK)
    if last is None or last < first:
        return None
    inner = innermost(trigger)
    if isinstance(inner, Interval):
        return Passed(first, last, (last - first) // inner.period + 1)
    count = 1
    slot = trigger.next_after(first)
    while slot is not None and slot <= last and count < MAX_COUNT:
        count += 1
        slot = trigger.next_after(slot)
    return Passed(first, last, count)
