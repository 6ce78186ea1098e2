"""How close together a trigger's slots are. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from rota.triggers.at import At
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.never import Never
from rota.triggers.preview import innermost, slots

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

#: How many slots are looked at.
SAMPLE = 100

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)


def tighter_than(trigger: Trigger, least: timedelta, *, after: datetime) -> timedelta | None:
    """The smallest gap between the next slots, when it is below `least`; None when it is not."""
    inner = innermost(trigger)
    if _cannot_be(inner, least):
        return None
    if isinstance(inner, Interval):
        gap = inner.period
    else:
        # By the day: a schedule is not worth measuring anew for every second it is created in.
        gap = _smallest_gap(inner, after.replace(hour=0, minute=0, second=0, microsecond=0))
    return gap if gap is not None and gap < least else None


def _cannot_be(trigger: Trigger, least: timedelta) -> bool:
    """What can be told without measuring, which is most of what people write."""
    if isinstance(trigger, At | Never) or least <= _SECOND:
        return not isinstance(trigger, Interval)
    if not isinstance(trigger, Cron) or least > _MINUTE:
        return False
    seconds = trigger.pattern.seconds
    return seconds & (seconds - 1) == 0  # One second of the minute, so a minute apart.


@lru_cache(maxsize=4096)
def _smallest_gap(trigger: Trigger, after: datetime) -> timedelta | None:
    found = slots(trigger, after=after, count=SAMPLE)
    return min((later - earlier for earlier, later in pairwise(found)), default=None)
