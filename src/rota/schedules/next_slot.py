"""A schedule's next slot and its timer, the slots it missed, and how close its slots are. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from rota import timers
from rota.queue.record import UnfiredSlots
from rota.triggers.at import At
from rota.triggers.count import slots_within
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.never import Never, is_timed
from rota.triggers.preview import innermost, slots

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule
    from rota.triggers.trigger import Trigger

_TICK: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)
_MINUTE: Final = timedelta(minutes=1)

SAMPLE: Final = 100
"""How many slots are looked at to find the smallest gap."""


def next_slot(schedule: Schedule, *, fired: int, now: datetime) -> datetime | None:
    """Its first slot from now on; None when there is none left, or it has fired all it may."""
    trigger = schedule.trigger
    if isinstance(trigger, Limited) and trigger.exhausted(fired):
        return None
    return trigger.next_after(now)


def goes_on(schedule: Schedule, slot: datetime | None) -> bool:
    """Whether it can still fire: it has this slot to come, or needs none to fire."""
    return slot is not None or not is_timed(schedule.trigger)


def open_slot(
    schedule: Schedule, *, fired: int, now: datetime, known: Collection[datetime]
) -> datetime | None:
    """Its first slot from now on that is not one of the known ones.

    A timer must not stand at a slot that has its outcome: an outage would begin there, and the
    record of all it missed would be taken for one that exists.
    """
    slot = next_slot(schedule, fired=fired, now=now)
    while slot is not None and slot in known:
        slot = next_slot(schedule, fired=fired, now=slot)
    return slot


def due_at(schedule_id: UUID, definition: Definition, slot: datetime) -> datetime:
    """When a slot is due: the slot plus the schedule's own offset within jitter and window."""
    if not definition.jitter_seconds and not definition.fire_window_seconds:
        return slot
    return slot + timers.offset(schedule_id, definition.spread_window)


def spread(schedule: Schedule) -> timedelta:
    """How much later than its slot a firing is due; nothing for a monitor, which fires nothing."""
    if schedule.definition.monitor is not None:
        return timedelta()
    return timers.offset(schedule.id, schedule.definition.spread_window)


def timer(schedule: Schedule, slot: datetime, *, fired: int = 0) -> timers.Armed:
    """The timer for a slot of it; suspended while the schedule is paused."""
    return timers.Armed(
        schedule_id=schedule.id,
        shard=schedule.shard,
        scheduled_for=slot,
        due_at=due_at(schedule.id, schedule.definition, slot),
        version=schedule.version,
        fired=fired,
        suspended=schedule.status == "paused",
    )


@dataclass(frozen=True, slots=True)
class MissedSlots:
    """A run of slots without a firing, both ends included."""

    first: datetime
    last: datetime
    count: int


def missed_slots(trigger: Trigger, first: datetime, until: datetime) -> MissedSlots | None:
    """The trigger's slots from its slot `first` to the instant `until`; None when there is none."""
    last = trigger.previous_before(until + _TICK)
    if last is None or last < first:
        return None
    return MissedSlots(first, last, 1 + slots_within(trigger, first, last))


def unfired(schedule: Schedule, missed: MissedSlots, *, reason: str) -> UnfiredSlots:
    """What is recorded of them: slots of the schedule that were skipped for this reason."""
    return UnfiredSlots(
        schedule_id=schedule.id,
        tenant_id=schedule.tenant_id,
        version=schedule.version,
        first=missed.first,
        last=missed.last,
        count=missed.count,
        reason=reason,
    )


def gap_below(trigger: Trigger, min_interval: timedelta, *, after: datetime) -> timedelta | None:
    """The smallest gap between the next slots, if it is below `min_interval`; None otherwise."""
    inner = innermost(trigger)
    if _cannot_be_below(inner, min_interval):
        return None
    if isinstance(inner, Interval):
        gap = inner.period
    else:
        # By the day: a schedule need not be measured again for every second it is created in.
        gap = _smallest_gap(inner, after.replace(hour=0, minute=0, second=0, microsecond=0))
    return gap if gap is not None and gap < min_interval else None


def _cannot_be_below(trigger: Trigger, min_interval: timedelta) -> bool:
    """What is known without measuring, which covers most of what people write."""
    if isinstance(trigger, At | Never) or min_interval <= _SECOND:
        return not isinstance(trigger, Interval)
    if not isinstance(trigger, Cron) or min_interval > _MINUTE:
        return False
    seconds = trigger.pattern.seconds
    return seconds & (seconds - 1) == 0  # One second of the minute, so a minute apart.


@lru_cache(maxsize=4096)
def _smallest_gap(trigger: Trigger, after: datetime) -> timedelta | None:
    found = slots(trigger, after=after, count=SAMPLE)
    return min((later - earlier for earlier, later in pairwise(found)), default=None)
