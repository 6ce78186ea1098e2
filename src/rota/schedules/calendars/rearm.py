"""Arming the schedules of a calendar anew, once its days have changed.

As an edit does: from now on, never for the past; what is prepared for a date that is left out now
is withdrawn. What else is live goes on, as nothing changed but the days. In batches, each a
transaction of its caller's; whoever stops half-way goes on by asking again.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, LiteralString
from uuid import UUID

from rota import timers
from rota.db.tx import ENGINE
from rota.queue import record, reversion, withdraw
from rota.schedules import audit, monitoring, next_slot
from rota.schedules import schedule as rows_of
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Row, Tx
    from rota.queue.record import UnfiredSlots
    from rota.schedules.next_slot import MissedSlots
    from rota.schedules.schedule import Schedule, Status
    from rota.timers import Timer

BATCH: Final = 100
START: Final = UUID(int=0)
"""Before every schedule."""

BUDGET: Final = timedelta(seconds=8)
"""How long whoever changed a calendar waits; the rest is left to the scheduler's own loop."""

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Part:
    """How many were armed anew, and where the next batch begins; None when nothing is left."""

    changed: int
    last: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """All that is decided on."""

    schedule: Schedule
    """As it was, with its calendar's days as they are."""
    timer: Timer | None
    fired: int
    known: frozenset[datetime]
    """Slots ahead that are in the queue or have their outcome."""
    live: tuple[Row, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Armed:
    """What becomes of a schedule."""

    schedule: Schedule
    slot: datetime | None
    fired: int
    withdrawn: tuple[UUID, ...]
    gone: MissedSlots | None
    """Slots that have passed and that nobody has fired."""
    was: Status


async def rearm_all(
    db: Database, clock: Clock, tenant_id: UUID, name: str, *, actor: str = ENGINE
) -> tuple[int, bool]:
    """Arm its schedules, batch after batch; how many, and whether the time was up before the end.

    Each batch is committed by itself, and made twice it does no more than once.
    """
    ends_at = clock.monotonic() + BUDGET.total_seconds()
    count, after = 0, START
    while True:
        part = await db.run(
            lambda tx, at=after: rearm_some(tx, tenant_id, name, after=at),
            repeatable=True,
            tenant=tenant_id,
            actor=actor,
        )
        count += part.changed
        if part.last is None:
            return count, False
        if clock.monotonic() >= ends_at:
            return count, True
        after = part.last


# Those of one calendar that are not armed by its days.
_STALE: LiteralString = """
    SELECT s.id
      FROM schedules s
      JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.tenant_id = $1 AND s.calendar = $2 AND s.id > $3
       AND s.calendar_version IS DISTINCT FROM c.version
     ORDER BY s.id
     LIMIT $4
"""

_LOCK: LiteralString = f"""
    SELECT {rows_of.COLUMNS}, s.fired
      FROM schedules s
     WHERE s.id = ANY ($1::uuid[]) AND s.calendar = $2
     ORDER BY s.id
       FOR NO KEY UPDATE
"""


async def rearm_some(
    tx: Tx, tenant_id: UUID, name: str, *, after: UUID = START, limit: int = BATCH
) -> Part:
    """Arm the next of those that are not armed by the calendar's days as they are."""
    rows = await tx.fetch(_STALE, tenant_id, name, after, limit)
    found = [row["id"] for row in rows]
    if not found:
        return Part(0, None)
    held = await timers.lock(tx, found)
    locked = await tx.fetch(_LOCK, found, name)
    schedules = await rows_of.with_calendars(tx, [rows_of.of_row(row) for row in locked])
    now = await rows_of.now(tx)
    live = await _live(tx, [each.id for each in schedules])
    known = await record.known_slots(tx, [each.id for each in schedules], after=now)
    facts = [
        _Facts(
            schedule=schedule,
            timer=held.get(schedule.id),
            fired=held[schedule.id].fired if schedule.id in held else row["fired"],
            known=frozenset(known.get(schedule.id, ())),
            live=live.get(schedule.id, ()),
        )
        for schedule, row in zip(schedules, locked, strict=True)
        if schedule.calendar is not None
    ]
    # In a thread: some hundred triggers would keep everything else in the process waiting.
    armed = await asyncio.to_thread(lambda: [_decide(each, now) for each in facts])
    await _carry_out(tx, armed, now)
    return Part(len(armed), found[-1])


def _decide(facts: _Facts, now: datetime) -> _Armed:
    """Pure: its first open slot from now on, and what is withdrawn."""
    schedule = facts.schedule
    trigger = schedule.trigger
    dropped = [
        row
        for row in facts.live
        if _is_prepared(row, now)
        and trigger.next_after(row["scheduled_for"] - _TICK) != row["scheduled_for"]
    ]
    fired = max(facts.fired - len(dropped), 0)
    slot = next_slot.open_slot(schedule, fired=fired, now=now, known=facts.known)
    gone = None
    if facts.timer is not None:
        gone = next_slot.missed_slots(trigger, facts.timer.scheduled_for, now)
    status: Status = schedule.status
    if not next_slot.goes_on(schedule, slot):
        status = "completed"
    elif status != "paused":
        status = "active"
    return _Armed(
        schedule=replace(schedule, version=schedule.version + 1, status=status),
        slot=slot,
        fired=fired,
        withdrawn=tuple(row["id"] for row in dropped),
        gone=gone,
        was=schedule.status,
    )


def _noted(schedule: Schedule) -> dict[str, Any]:
    """What the audit trail says: its definition is the same, the days that it is armed by not."""
    calendar = schedule.calendar
    return {
        "calendar": calendar and calendar.name,
        "calendar_version": calendar and calendar.version,
    }


def _is_prepared(row: Row, now: datetime) -> bool:
    """Put into the queue ahead of its slot by the schedule itself, and not begun."""
    unbegun = row["attempt"] <= (1 if row["state"] == "running" else 0)
    return row["triggered_by"] == "schedule" and row["available_at"] > now and unbegun


async def _live(tx: Tx, schedule_ids: Sequence[UUID]) -> Mapping[UUID, tuple[Row, ...]]:
    live: dict[UUID, tuple[Row, ...]] = {}
    for row in await reversion.lock_live(tx, schedule_ids):
        live[row["schedule_id"]] = (*live.get(row["schedule_id"], ()), row)
    return live


# Those without a slot left have no timer that could count.
_CHANGE: LiteralString = """
    UPDATE schedules s
       SET version = x.version, status = x.status, calendar_version = x.calendar_version,
           fired = CASE WHEN x.status = 'completed' THEN x.fired ELSE s.fired END,
           updated_at = $6, updated_by = $7
      FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::integer[], $5::integer[])
           AS x(id, version, status, fired, calendar_version)
     WHERE s.id = x.id
"""


async def _carry_out(tx: Tx, armed: Sequence[_Armed], now: datetime) -> None:
    withdrawn = [each for each in armed if each.withdrawn]
    if withdrawn:
        ids = [id_ for each in withdrawn for id_ in each.withdrawn]
        await withdraw.withdraw(tx, [each.schedule.id for each in withdrawn], "edited", only=ids)
    await record.record_unfired(tx, [_unfired(each) for each in armed if each.gone is not None])
    statuses: set[Status] = {each.schedule.status for each in armed}
    for status in sorted(statuses):
        those = [each for each in armed if each.schedule.status == status]
        await audit.record(
            tx,
            "edited",
            [each.schedule.id for each in those],
            at=now,
            status=status,
            changes=[_noted(each.schedule) for each in those],
        )
    await tx.execute(
        _CHANGE,
        [each.schedule.id for each in armed],
        [each.schedule.version for each in armed],
        [each.schedule.status for each in armed],
        [each.fired for each in armed],
        [each.schedule.calendar and each.schedule.calendar.version for each in armed],
        now,
        tx.actor,
    )
    # What is live goes on as it is: the definition has not changed, only its version has.
    await reversion.set_version(tx, {each.schedule.id: each.schedule.version for each in armed})
    completed = [each.schedule.id for each in armed if each.schedule.status == "completed"]
    await timers.disarm(tx, completed)
    await timers.arm(
        tx,
        [
            next_slot.timer(each.schedule, each.slot, fired=each.fired)
            for each in armed
            if each.slot is not None and is_timed(each.schedule.trigger)
        ],
    )
    await monitoring.arm(tx, [each.schedule for each in armed], now=now)


def _unfired(each: _Armed) -> UnfiredSlots:
    assert each.gone is not None
    reason = "paused" if each.was == "paused" else "edited"
    return next_slot.unfired(each.schedule, each.gone, reason=reason)
