"""What became of a slot for which a monitor expected a ping, in a sentence."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.history import queries
from rota.schedules.monitor import slot_of
from rota.triggers.preview import local_time
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Tx
    from rota.history.firing import Firing
    from rota.schedules.audit import Span
    from rota.schedules.schedule import Schedule

_TICK = timedelta(microseconds=1)


async def outcome_of(tx: Tx, schedule: Schedule, slot: datetime) -> Firing | None:
    """What is recorded of the slot: at it, or in its window before it, when the ping was early."""
    found = await queries.at_slot(tx, schedule.id, slot)
    if found is not None or schedule.definition.monitor is None:
        return found
    before = schedule.slots.previous_before(slot)
    # The window of the first slot of all begins when the monitor does.
    begins = schedule.anchor_at
    if before is not None:
        begins = before + schedule.definition.monitor.grace + _TICK
    if begins >= slot:
        return None
    early = await queries.within(tx, schedule.id, begins, slot - begins)
    return early if early is not None and _counts_for(schedule, early, slot) else None


def _counts_for(schedule: Schedule, firing: Firing, slot: datetime) -> bool:
    monitor = schedule.definition.monitor
    assert monitor is not None
    return slot_of(schedule.slots, monitor.grace, firing.scheduled_for) == slot


def sentence(
    schedule: Schedule, slot: datetime, firing: Firing | None, now: datetime, then: Span
) -> tuple[str, str] | None:
    """The outcome, and what to say of it; None when nothing is recorded of it. Pure."""
    monitor = schedule.definition.monitor
    assert monitor is not None
    deadline = slot + monitor.grace
    if firing is not None:
        return firing.status, _recorded(schedule, firing, deadline)
    if now <= deadline:
        return _to_come(schedule, slot, deadline, now)
    if then.state == "active" and then.ended is not None and then.until <= deadline:
        changed = _show(schedule, then.until)
        return "not_armed", f"The monitor was changed at {changed}, and waits from then on."
    return None


def _to_come(
    schedule: Schedule, slot: datetime, deadline: datetime, now: datetime
) -> tuple[str, str]:
    if schedule.status == "paused":
        return "paused", "The monitor is paused: no ping is expected."
    by = f"by {_show(schedule, deadline)} (grace {durations.compact(deadline - slot)})"
    if slot > now:
        return "future", f"A ping is expected at {_show(schedule, slot)}, {by}."
    return "due", f"No ping has come yet; it has to come {by}."


def _recorded(schedule: Schedule, firing: Firing, deadline: datetime) -> str:
    match firing.status:
        case "succeeded":
            return f"A ping came in time, at {_show(schedule, firing.started_at)}."
        case "dead":
            at = _show(schedule, firing.started_at)
            return f"A ping at {at} said that the work had failed: {firing.reason}."
        case "missed":
            return f"It was missed: no ping came by {_show(schedule, deadline)}."
        case _:
            return f"It was {firing.status}: {firing.reason or 'no reason was given'}."


def _show(schedule: Schedule, instant: datetime | None) -> str:
    if instant is None:
        return "an unknown time"
    name = schedule.slots.timezone
    local = local_time(instant, zone(name)).replace(microsecond=0)
    return f"{local:%Y-%m-%d %H:%M:%S} {name}"
