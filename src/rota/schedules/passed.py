"""The slots that have passed without a firing: the first, the last and how many. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rota.triggers.count import slots_within

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

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
    return Passed(first, last, 1 + slots_within(trigger, first, last))
