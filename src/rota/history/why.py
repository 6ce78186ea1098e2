"""What happened to a slot, and why: one answer for any instant, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.history import queries, sql, why_monitor
from rota.history.retention import KEEP
from rota.triggers.english import explain as explained
from rota.triggers.never import is_timed
from rota.triggers.preview import local_time
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from rota.db import Tx
    from rota.history.firing import Firing
    from rota.schedules.schedule import Schedule
    from rota.triggers.trigger import Trigger

_TICK = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)

_SKIPPED = {
    "overlap": "the firing before it was still under way (overlap_policy skip)",
    "overlap_queue_full": "too many firings waited before it already (overlap_policy queue)",
    "paused": "the schedule was paused",
    "edited": "the schedule was changed before it could run",
    "deleted": "the schedule was deleted before it could run",
}


_CANCELLED = {
    "overlap": "a later firing took its place (overlap_policy cancel_previous)",
    "edited": "the schedule was changed between two attempts",
    "deleted": "the schedule was deleted",
    "paused": "the schedule was paused between two attempts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """What became of the slot at an instant.

    `outcome` is a firing's status, or: `future`, `due` (not fired yet), `paused`, `completed`,
    `not_armed` (the schedule was made or changed later), `forgotten` (older than history),
    `unrecorded`, `not_a_slot`.
    """

    at: datetime
    outcome: str
    sentence: str
    firing: Firing | None = None
    previous_slot: datetime | None = None
    next_slot: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that an answer is made of."""

    schedule: Schedule
    at: datetime
    now: datetime
    """By the database's clock."""
    firing: Firing | None
    timer_slot: datetime | None
    """The slot that is armed; None when none is."""
    keep: timedelta = KEEP


async def why(tx: Tx, schedule: Schedule, at: datetime, *, keep: timedelta = KEEP) -> Why:
    """What became of the schedule's slot at this instant."""
    at = at.astimezone(UTC)
    if schedule.definition.monitor is not None:
        firing = await why_monitor.outcome_of(tx, schedule, at)
    elif is_timed(schedule.trigger):
        firing = await queries.at_slot(tx, schedule.id, at)
    else:
        # Nobody types the microseconds at which somebody asked for a run.
        firing = await queries.within(tx, schedule.id, at, _TICK if at.microsecond else _SECOND)
        at = at if firing is None else firing.scheduled_for
    standing = await tx.fetch_row(sql.STANDING, schedule.id)
    assert standing is not None
    return explain(
        Facts(
            schedule=schedule,
            at=at,
            now=standing["now"],
            firing=firing,
            timer_slot=standing["scheduled_for"],
            keep=keep,
        )
    )


def meant(trigger: Trigger, at: datetime) -> datetime:
    """The slot within the second that was named: nobody types an interval's milliseconds."""
    slot = trigger.next_after(at - _TICK)
    return slot if not at.microsecond and slot is not None and slot - at < _SECOND else at


def explain(facts: Facts) -> Why:
    """The answer. Pure."""
    trigger, at = facts.schedule.slots, facts.at
    previous, following = trigger.previous_before(at), trigger.next_after(at)
    is_slot = trigger.next_after(at - _TICK) == at
    if is_slot and facts.schedule.definition.monitor is not None:
        outcome, sentence = why_monitor.sentence(facts.schedule, at, facts.firing, facts.now)
    elif facts.firing is not None and (is_slot or facts.firing.scheduled_for == at):
        # What is recorded stands, even if the trigger has been changed since.
        outcome, sentence = facts.firing.status, _recorded(facts, facts.firing)
    elif not is_timed(trigger):
        outcome, sentence = "not_a_slot", _untimed(facts)
    elif not is_slot:
        outcome, sentence = "not_a_slot", _not_a_slot(facts, previous, following)
    elif at > facts.now:
        outcome, sentence = _to_come(facts)
    else:
        outcome, sentence = _unrecorded(facts)
    return Why(
        at=at,
        outcome=outcome,
        sentence=sentence,
        firing=facts.firing if outcome != "not_a_slot" else None,
        previous_slot=previous,
        next_slot=following,
    )


def _recorded(facts: Facts, firing: Firing) -> str:
    match firing.status:
        case "succeeded":
            return f"It ran and succeeded{_details(firing)}."
        case "dead":
            return f"It failed for good: {firing.reason or 'no reason was given'}."
        case "cancelled":
            reason = firing.reason or "no reason was given"
            return f"It was cancelled: {_CANCELLED.get(reason, reason)}."
        case "skipped":
            reason = firing.reason or "no reason was given"
            return f"It was skipped: {_SKIPPED.get(reason, reason)}{_run(facts, firing)}."
        case "missed":
            return f"It was missed: {_missed(facts, firing)}{_run(facts, firing)}."
        case _:
            return _live(facts, firing)


def _missed(facts: Facts, firing: Firing) -> str:
    """By which of the schedule's settings it was not fired late."""
    definition = facts.schedule.definition
    match firing.reason:
        case "misfire_policy":
            return f"nothing fired it in time (misfire_policy {definition.misfire_policy})"
        case "misfire_cap":
            return f"only the newest are caught up with (misfire_cap {definition.misfire_cap})"
        case "misfire_window":
            window = durations.compact(definition.misfire_window)
            return f"it was too old to be caught up with (misfire_window {window})"
        case "max_firings":
            return f"there were no firings left for it (max_firings {definition.max_firings})"
        case reason:
            return reason or "nothing fired it in time"


def _details(firing: Firing) -> str:
    parts = [] if firing.result_code is None else [f"HTTP {firing.result_code}"]
    parts.append(f"attempt {firing.attempt}")
    if firing.started_at is not None:
        late = max(firing.started_at - firing.scheduled_for, timedelta())
        parts.append(f"begun {_span(late)} after its slot")
    if firing.duration_ms is not None:
        parts.append(f"over after {_span(timedelta(milliseconds=firing.duration_ms))}")
    return ": " + ", ".join(parts)


def _live(facts: Facts, firing: Firing) -> str:
    match firing.status:
        case "blocked":
            return "It waits for the firing before it to end."
        case "running" if firing.detached_until is not None:
            until = _show(facts, firing.detached_until)
            return f"Its target has taken it on, and has until {until} to complete it."
        case "running":
            return f"It is running: attempt {firing.attempt}."
        case "retrying":
            at = firing.available_at or facts.now
            return f"Attempt {firing.attempt} failed; the next is due at {_show(facts, at)}."
        case _ if firing.available_at is not None and firing.available_at > facts.now:
            return f"It is prepared, and begins at {_show(facts, firing.available_at)}."
        case _:
            return "It is due, and waits for a worker."


def _run(facts: Facts, firing: Firing) -> str:
    if firing.last_slot_at is None or firing.slot_count < 2:
        return ""
    return (
        f", as one of {firing.slot_count} slots from {_show(facts, firing.scheduled_for)} "
        f"to {_show(facts, firing.last_slot_at)}"
    )


def _not_a_slot(facts: Facts, previous: datetime | None, following: datetime | None) -> str:
    before = "none before it" if previous is None else f"{_show(facts, previous)} before it"
    after = "none after it" if following is None else f"{_show(facts, following)} after it"
    changed = "" if facts.at >= facts.schedule.updated_at else " as it is defined now"
    return (
        f"The schedule has no slot at that instant{changed}{_left_out(facts)}; "
        f"the nearest are {before} and {after}."
    )


def _left_out(facts: Facts) -> str:
    """Whether it would be one, had its calendar not left the date out."""
    calendar = facts.schedule.calendar
    if calendar is None:
        return ""
    local = local_time(facts.at, zone(facts.schedule.slots.timezone)).date()
    if calendar.days.includes(local):
        return ""
    reason = calendar.days.reason(local)
    because = f" ({reason})" if reason else ""
    return f": its calendar {calendar.name} leaves out {local.isoformat()}{because}"


def _untimed(facts: Facts) -> str:
    words = explained(facts.schedule.trigger)
    return f"Nothing was fired at that instant. The schedule has no slots: it fires {words}."


def _to_come(facts: Facts) -> tuple[str, str]:
    match facts.schedule.status:
        case "paused":
            return "paused", "It is to come, but the schedule is paused: it will not fire."
        case "completed":
            return "completed", "It will not fire: the schedule has completed."
        case "active":
            wait = _span(facts.at - facts.now)
            return "future", f"It is to come, at {_show(facts, facts.at)}: in {wait}."


def _unrecorded(facts: Facts) -> tuple[str, str]:
    schedule, at = facts.schedule, facts.at
    if facts.timer_slot is not None and facts.timer_slot <= at:
        return "due", "It is due, and has not been fired yet."
    if at < schedule.created_at:
        made = _show(facts, schedule.created_at)
        return "not_armed", f"The schedule was made later, at {made}."
    if facts.now - at > facts.keep:
        days = durations.words(facts.keep)
        return "forgotten", f"It is older than what history keeps ({days})."
    if schedule.status == "paused":
        return "paused", "It passed while the schedule was paused."
    if at < schedule.updated_at:
        changed = _show(facts, schedule.updated_at)
        return "not_armed", f"The schedule was changed later, at {changed}, and armed from then on."
    completed = "completed", "It did not fire: the schedule had completed."
    return completed if schedule.status == "completed" else ("unrecorded", "There is no record.")


def _show(facts: Facts, instant: datetime) -> str:
    """As the schedule's owner reads it, and without any doubt."""
    name = facts.schedule.slots.timezone
    local = local_time(instant, zone(name)).replace(microsecond=0)
    return f"{local:%Y-%m-%d %H:%M:%S} {name}"


def _span(length: timedelta) -> str:
    """Not more exact than anybody wants to know."""
    if length < timedelta(seconds=10):
        return f"{length // timedelta(milliseconds=1)} ms"
    return durations.compact(timedelta(seconds=length // timedelta(seconds=1)))
