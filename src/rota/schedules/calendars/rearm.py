"""Arming the schedules of a calendar anew, once its days have changed.

As an edit does: from now on, never for the past; what is prepared for a date that is left out now
is taken back. What else is live goes on, as nothing changed but the days. In batches, each a
transaction of its caller's; whoever stops half-way goes on by asking again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota import ids, timers
from rota.schedules import arming, monitoring, sql
from rota.schedules import together_sql as many
from rota.schedules.calendars import rearm_sql
from rota.schedules.passed import passed
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Row, Tx
    from rota.schedules.passed import Passed
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
    taken_back: tuple[UUID, ...]
    gone: Passed | None
    """Slots that have passed and that nobody has fired."""
    was: Status


async def rearm_all(db: Database, clock: Clock, tenant_id: UUID, name: str) -> tuple[int, bool]:
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
        )
        count += part.changed
        if part.last is None:
            return count, False
        if clock.monotonic() >= ends_at:
            return count, True
        after = part.last


async def rearm_some(
    tx: Tx, tenant_id: UUID, name: str, *, after: UUID = START, limit: int = BATCH
) -> Part:
    """Arm the next of those that are not armed by the calendar's days as they are."""
    rows = await tx.fetch(rearm_sql.STALE, tenant_id, name, after, limit)
    found = [row["id"] for row in rows]
    if not found:
        return Part(0, None)
    held = {timer.schedule_id: timer for timer in await timers.lock_all(tx, found)}
    locked = await tx.fetch(rearm_sql.LOCK, found, name)
    schedules = await sql.with_calendars(tx, [sql.of_row(row) for row in locked])
    now = await sql.now(tx)
    live = await _live(tx, [each.id for each in schedules])
    known = await _known_slots(tx, [each.id for each in schedules], now)
    facts = [
        _Facts(
            schedule=schedule,
            timer=held.get(schedule.id),
            fired=held[schedule.id].fired if schedule.id in held else row["fired"],
            known=known.get(schedule.id, frozenset()),
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
    """Pure: its first open slot from now on, and what is taken back."""
    schedule = facts.schedule
    trigger = schedule.trigger
    dropped = [
        row
        for row in facts.live
        if _is_prepared(row, now)
        and trigger.next_after(row["scheduled_for"] - _TICK) != row["scheduled_for"]
    ]
    fired = max(facts.fired - len(dropped), 0)
    slot = arming.open_slot(schedule, fired=fired, now=now, known=facts.known)
    gone = None
    if facts.timer is not None:
        gone = passed(trigger, facts.timer.scheduled_for, now)
    status: Status = schedule.status
    if not arming.goes_on(schedule, slot):
        status = "completed"
    elif status != "paused":
        status = "active"
    return _Armed(
        schedule=replace(schedule, version=schedule.version + 1, status=status),
        slot=slot,
        fired=fired,
        taken_back=tuple(row["id"] for row in dropped),
        gone=gone,
        was=schedule.status,
    )


def _is_prepared(row: Row, now: datetime) -> bool:
    """Put into the queue ahead of its slot by the schedule itself, and not begun."""
    unbegun = row["attempt"] <= (1 if row["state"] == "running" else 0)
    return row["triggered_by"] == "schedule" and row["available_at"] > now and unbegun


async def _live(tx: Tx, schedule_ids: Sequence[UUID]) -> Mapping[UUID, tuple[Row, ...]]:
    live: dict[UUID, tuple[Row, ...]] = {}
    for row in await tx.fetch(rearm_sql.LOCK_LIVE, list(schedule_ids)):
        live[row["schedule_id"]] = (*live.get(row["schedule_id"], ()), row)
    return live


async def _known_slots(
    tx: Tx, schedule_ids: Sequence[UUID], now: datetime
) -> dict[UUID, frozenset[datetime]]:
    known: dict[UUID, set[datetime]] = {}
    for row in await tx.fetch(many.KNOWN_SLOTS, list(schedule_ids), now):
        known.setdefault(row["schedule_id"], set()).add(row["scheduled_for"])
    return {id_: frozenset(slots) for id_, slots in known.items()}


async def _carry_out(tx: Tx, armed: Sequence[_Armed], now: datetime) -> None:
    taken_back = [id_ for each in armed for id_ in each.taken_back]
    if taken_back:
        await tx.fetch(rearm_sql.TAKE_BACK, taken_back)
    await _record_passed(tx, armed)
    await tx.execute(
        rearm_sql.CHANGE,
        [each.schedule.id for each in armed],
        [each.schedule.version for each in armed],
        [each.schedule.status for each in armed],
        [each.fired for each in armed],
        [each.schedule.calendar and each.schedule.calendar.version for each in armed],
        now,
    )
    await timers.arm(
        tx,
        [
            arming.timer(each.schedule, each.slot, fired=each.fired)
            for each in armed
            if each.slot is not None and is_timed(each.schedule.trigger)
        ],
    )
    await monitoring.arm(tx, [each.schedule for each in armed], now=now)


async def _record_passed(tx: Tx, armed: Sequence[_Armed]) -> None:
    gone = [(each, each.gone) for each in armed if each.gone is not None]
    if not gone:
        return
    await tx.execute(
        rearm_sql.RECORD_PASSED,
        [ids.firing_id(each.schedule.id, run.first) for each, run in gone],
        [each.schedule.id for each, _ in gone],
        [each.schedule.tenant_id for each, _ in gone],
        [each.schedule.version for each, _ in gone],
        [run.first for _, run in gone],
        [run.last if run.count > 1 else None for _, run in gone],
        [run.count for _, run in gone],
        ["paused" if each.was == "paused" else "edited" for each, _ in gone],
    )
