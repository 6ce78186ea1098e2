"""What happened to a slot, and why: one answer for any instant, in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.history import queries, sql, why_monitor
from rota.history.retention import KEEP
from rota.schedules import audit, next_slot
from rota.schedules import list as listing
from rota.schedules.audit import Span
from rota.triggers.english import explain as explained
from rota.triggers.never import is_timed
from rota.triggers.preview import local_time
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx
    from rota.history.firing import Firing
    from rota.schedules.audit import Change
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


_ASKED = {
    "manual": "No slot, but a run that somebody asked for.",
    "api": "No slot, but a run that a program asked for.",
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
    `deleted`, `not_armed` (the schedule was created later), `forgotten` (older than history),
    `unknown` (there is no record, and no history of changes from then), `unrecorded` (it was
    active, and there should be a record), `not_a_slot`.
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
    """With the definition that it had then, as far as that is known."""
    at: datetime
    now: datetime
    """By the database's clock."""
    firing: Firing | None
    timer_slot: datetime | None
    """The slot that is armed; None when none is."""
    keep: timedelta = KEEP
    span: Span | None = None
    """What the schedule was then; None when only the schedule as it is now is known."""
    deleted: Change | None = None

    @property
    def then(self) -> Span:
        """What the schedule was, by the history of changes or by when it was last changed."""
        if self.span is not None:
            return self.span
        schedule, at = self.schedule, self.at
        state = "absent" if at < schedule.created_at else schedule.status
        if schedule.created_at <= at < schedule.updated_at:
            state = "unknown"
        return Span(since=at, until=at + _TICK, state=state)


async def find(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Schedule | None:
    """A schedule that can be asked about: one that there is, or that was deleted."""
    found = await listing.find(tx, tenant_id, schedule_id)
    return await audit.deleted(tx, tenant_id, schedule_id) if found is None else found.schedule


async def why(tx: Tx, schedule: Schedule, at: datetime, *, keep: timedelta = KEEP) -> Why:
    """What became of the schedule's slot at this instant, by what the schedule was then."""
    at = at.astimezone(UTC)
    standing = await tx.fetch_row(sql.STANDING, schedule.id)
    assert standing is not None
    now: datetime = standing["now"]
    until = max(now, at) + _TICK
    past = await audit.history(tx, schedule.id, since=at, until=until)
    span = None if past is None else past.at(at)
    schedule = _as_of(schedule, span)
    at = meant(schedule.slots, at)
    firing, at = await _firing(tx, schedule, at)
    return explain(
        Facts(
            schedule=schedule,
            at=at,
            now=now,
            firing=firing,
            timer_slot=standing["scheduled_for"],
            keep=keep,
            span=span,
            deleted=past and past.deleted,
        )
    )


def _as_of(schedule: Schedule, span: Span | None) -> Schedule:
    """The schedule with the definition that it had in the span, if that is known."""
    if span is None or span.definition is None or span.anchor_at is None:
        return schedule
    named = schedule.calendar is not None and schedule.calendar.name == span.definition.calendar
    return replace(
        schedule,
        definition=span.definition,
        anchor_at=span.anchor_at,
        calendar=schedule.calendar if named else None,
    )


async def _firing(tx: Tx, schedule: Schedule, at: datetime) -> tuple[Firing | None, datetime]:
    """What is recorded of the slot, or else of a run that was asked for in that second."""
    if schedule.definition.monitor is not None:
        return await why_monitor.outcome_of(tx, schedule, at), at
    if is_timed(schedule.trigger):
        firing = await queries.at_slot(tx, schedule.id, at)
        if firing is not None or schedule.slots.next_after(at - _TICK) == at:
            return firing, at
    # Nobody types the microseconds at which somebody asked for a run.
    firing = await queries.within(tx, schedule.id, at, _TICK if at.microsecond else _SECOND)
    return firing, at if firing is None else firing.scheduled_for


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
        outcome, sentence = why_monitor.sentence(
            facts.schedule, at, facts.firing, facts.now, facts.then
        ) or _unrecorded(facts)
    elif facts.firing is not None and (is_slot or facts.firing.scheduled_for == at):
        # What is recorded stands, even if the trigger has been changed since.
        outcome, sentence = facts.firing.status, _recorded(facts, facts.firing)
        if not is_slot and is_timed(trigger) and facts.firing.triggered_by in _ASKED:
            sentence = f"{_ASKED[facts.firing.triggered_by]} {sentence}"
    elif not is_timed(trigger):
        outcome, sentence = "not_a_slot", _untimed(facts)
    elif not is_slot:
        outcome, sentence = "not_a_slot", _not_a_slot(facts, previous, following)
    elif at > facts.now or _is_spread_ahead(facts):
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
            return f"It ran and succeeded{_details(facts, firing)}."
        case "dead":
            return f"It failed for good: {firing.reason or 'no reason was given'}."
        case "cancelled":
            reason = firing.reason or "no reason was given"
            return f"It was cancelled: {_CANCELLED.get(reason, reason)}."
        case "skipped":
            reason = firing.reason or "no reason was given"
            during = _pause(facts) if reason == "paused" and facts.then.state == "paused" else ""
            return f"It was skipped: {_SKIPPED.get(reason, reason)}{during}{_run(facts, firing)}."
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


def _details(facts: Facts, firing: Firing) -> str:
    parts = [] if firing.result_code is None else [f"HTTP {firing.result_code}"]
    parts.append(f"attempt {firing.attempt}")
    if firing.started_at is not None:
        late = max(firing.started_at - firing.scheduled_for, timedelta())
        parts.append(f"begun {_span(late)} after its slot{_by_spread(facts, firing)}")
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
            because = f" by its {_spread_settings(facts)}" if _by_spread(facts, firing) else ""
            return f"It is prepared, and begins at {_show(facts, firing.available_at)}{because}."
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
    changed = "" if facts.at >= facts.schedule.updated_at else _defined(facts)
    return (
        f"The schedule has no slot at that instant{changed}{_left_out(facts)}; "
        f"the nearest are {before} and {after}."
    )


def _defined(facts: Facts) -> str:
    known = facts.span is not None and facts.span.definition is not None
    return " as it was defined then" if known else " as it is defined now"


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
    if facts.deleted is not None:
        return (
            "deleted",
            f"It will not fire: the schedule was deleted {_done(facts.deleted, facts)}.",
        )
    match facts.schedule.status:
        case "paused":
            return "paused", "It is to come, but the schedule is paused: it will not fire."
        case "completed":
            return "completed", "It will not fire: the schedule has completed."
        case "active":
            due_at = facts.at + next_slot.spread(facts.schedule)
            wait = _span(due_at - facts.now)
            at = f"{_show(facts, facts.at)}{_spread_to(facts, due_at)}"
            return "future", f"It is to come, at {at}: in {wait}."


def _unrecorded(facts: Facts) -> tuple[str, str]:
    then = facts.then
    is_armed = facts.timer_slot is not None and facts.timer_slot <= facts.at
    if is_armed and then.state == "active":
        return "due", "It is due, and has not been fired yet."
    if then.state == "absent":
        made = _show(facts, facts.schedule.created_at)
        return "not_armed", f"The schedule was created later, at {made}."
    if facts.now - facts.at > facts.keep:
        days = durations.words(facts.keep)
        return "forgotten", f"It is older than what history keeps ({days})."
    return _by_state(facts)


def _by_state(facts: Facts) -> tuple[str, str]:
    """Why there is no record, by what the schedule was then."""
    match facts.then.state:
        case "paused":
            return "paused", f"It passed while the schedule was paused{_pause(facts)}."
        case "completed":
            return "completed", "It did not fire: the schedule had completed."
        case "deleted":
            when = "" if facts.deleted is None else f" {_done(facts.deleted, facts)}"
            return "deleted", f"It did not fire: the schedule had been deleted{when}."
        case "unknown":
            return "unknown", (
                "There is no record, and no history of changes from that time: whether the "
                "schedule was active then is not known."
            )
        case _:
            return "unrecorded", (
                "There is no record, although the schedule was active: what became of it is "
                "unexplained."
            )


def _pause(facts: Facts) -> str:
    """Since when, until when and by whom it was paused, as far as that is known."""
    began, ended = facts.then.began, facts.then.ended
    since = began if began is not None and began.action == "paused" else None
    parts = [
        "" if since is None else f"from {_show(facts, since.at)} {audit.words(since.actor)}",
        "" if ended is None else f"until {_show(facts, ended.at)} {audit.words(ended.actor)}",
    ]
    said = ", ".join(filter(None, parts))
    return f", {said}" if said else ""


def _done(change: Change, facts: Facts) -> str:
    return f"at {_show(facts, change.at)}, {audit.words(change.actor)}"


def _by_spread(facts: Facts, firing: Firing) -> str:
    """Why it began later than at its slot, if jitter or a fire window made it due later."""
    due_at = firing.due_at or firing.available_at
    if due_at is None and firing.version == facts.schedule.version:
        due_at = firing.scheduled_for + next_slot.spread(facts.schedule)
    # What another reason has put off, or an edit has moved since, is due at another instant.
    is_spread = due_at == firing.scheduled_for + next_slot.spread(facts.schedule)
    if due_at is None or not is_spread or firing.triggered_by != "schedule":
        return ""
    return _spread_to(facts, due_at)


def _is_spread_ahead(facts: Facts) -> bool:
    """Whether the slot has passed, but not the instant at which it is due."""
    armed = facts.timer_slot is not None and facts.timer_slot <= facts.at
    is_ahead = facts.at + next_slot.spread(facts.schedule) > facts.now
    return armed and is_ahead and facts.schedule.status == "active"


def _spread_to(facts: Facts, due_at: datetime) -> str:
    settings = _spread_settings(facts)
    return f", due at {_show(facts, due_at)} by its {settings}" if settings else ""


def _spread_settings(facts: Facts) -> str:
    definition = facts.schedule.definition
    named = [
        f"{name} {value:g}"
        for name, value in (
            ("jitter_seconds", definition.jitter_seconds),
            ("fire_window_seconds", definition.fire_window_seconds),
        )
        if value
    ]
    return " and ".join(named)


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
