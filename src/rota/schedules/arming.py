"""Which timer a schedule should have. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import timers
from rota.triggers.limits import Limited
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime
    from uuid import UUID

    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule


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
    """Its first slot from now on that is none of those that are known already.

    A timer must not stand at a slot that has its outcome: an outage would begin there, and the
    record of all it missed would be taken for one that exists.
    """
    slot = next_slot(schedule, fired=fired, now=now)
    while slot is not None and slot in known:
        slot = next_slot(schedule, fired=fired, now=slot)
    return slot


def due_at(schedule_id: UUID, definition: Definition, slot: datetime) -> datetime:
    """When a slot is due: as much later as the schedule's share of jitter and window says."""
    if not definition.jitter_seconds and not definition.fire_window_seconds:
        return slot
    return slot + timers.offset(schedule_id, definition.spread_window)


def timer(schedule: Schedule, slot: datetime, *, fired: int = 0) -> timers.Armed:
    """The timer for a slot of it; parked unless the schedule is active."""
    return timers.Armed(
        schedule_id=schedule.id,
        shard=schedule.shard,
        scheduled_for=slot,
        due_at=due_at(schedule.id, schedule.definition, slot),
        version=schedule.version,
        fired=fired,
        parked=schedule.status == "paused",
    )
