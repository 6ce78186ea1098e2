"""Bulk pause: pausing all of a tenant's schedules, or those of a tag, and resuming them.

In batches, each in a transaction of the caller's: a million schedules must not be locked for
minutes. Each batch locks in the order of `db.locks`. A caller that stops half-way goes on by asking
again. What is paused here is marked as paused together, so that resuming all skips what people have
paused one by one.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, LiteralString
from uuid import UUID

from rota import timers
from rota.db import locks
from rota.queue import record, unblock, withdraw
from rota.schedules import audit, monitoring, next_slot
from rota.schedules import schedule as rows_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from rota.db import Tx
    from rota.schedules.next_slot import MissedSlots
    from rota.schedules.schedule import Schedule, Status
    from rota.timers import Timer

BATCH: Final = 1_000
START: Final = UUID(int=0)
"""Before every schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseRequest:
    """Which schedules, why, and until when."""

    tenant_id: UUID
    tag: str | None = None
    """None for all."""
    reason: str | None = None
    until: datetime | None = None

    @property
    def shown_reason(self) -> str:
        """What people read in `status_reason`."""
        if self.reason is not None:
            return self.reason
        return "paused with all" if self.tag is None else f"paused with all of tag {self.tag}"

    @property
    def noted(self) -> dict[str, Any]:
        """What the audit trail says of it."""
        return audit.noted(status_reason=self.shown_reason, paused_until=self.until)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What one batch has done, and where the next begins; None when nothing is left."""

    changed: int
    last: UUID | None
    completed: int = 0
    """Of those resumed: how many have no slot left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resumed:
    """What becomes of a schedule that is resumed."""

    schedule: Schedule
    slot: datetime | None
    gone: MissedSlots | None
    """The slots that have passed meanwhile."""
    fired: int

    @property
    def goes_on(self) -> bool:
        return next_slot.goes_on(self.schedule, self.slot)


_ACTIVE: LiteralString = """
    SELECT id
      FROM schedules
     WHERE tenant_id = $1 AND status = 'active' AND ($2::text IS NULL OR $2 = ANY (tags))
       AND id > $3
     ORDER BY id
     LIMIT $4
"""

# Those that are still active once they are ours.
_LOCK_ACTIVE: LiteralString = """
    SELECT id
      FROM schedules
     WHERE id = ANY ($1::uuid[]) AND status = 'active'
     ORDER BY id
       FOR NO KEY UPDATE
"""

_PAUSE: LiteralString = """
    UPDATE schedules
       SET status = 'paused', status_reason = $2, updated_at = clock_timestamp(),
           paused_together = true, paused_until = $3, updated_by = $4
     WHERE id = ANY ($1::uuid[])
"""


async def pause_some(
    tx: Tx, request: PauseRequest, *, after: UUID = START, limit: int = BATCH
) -> BatchResult:
    """Pause the next active ones after this id, as a single pause would each."""
    rows = await tx.fetch(_ACTIVE, request.tenant_id, request.tag, after, limit)
    found = [row["id"] for row in rows]
    if not found:
        return BatchResult(0, None)
    await timers.lock(tx, found)
    held = [row["id"] for row in await tx.fetch(_LOCK_ACTIVE, found)]
    await timers.suspend(tx, held)
    await timers.unfire(tx, await withdraw.withdraw(tx, held, "paused"))
    await audit.record(tx, "paused", held, status="paused", changes=request.noted)
    count = await tx.execute(_PAUSE, held, request.shown_reason, request.until, tx.actor)
    await monitoring.park(tx, held)
    return BatchResult(count, found[-1])


# Those that were paused together before: the last word on why and how long counts.
_RENEW: LiteralString = """
    WITH old AS MATERIALIZED (
        SELECT id
          FROM schedules
         WHERE tenant_id = $1 AND status = 'paused' AND paused_together
           AND ($2::text IS NULL OR $2 = ANY (tags)) AND id > $3
           AND (status_reason IS DISTINCT FROM $5 OR paused_until IS DISTINCT FROM $6)
         ORDER BY id
         LIMIT $4
           FOR NO KEY UPDATE
    )
    UPDATE schedules
       SET status_reason = $5, paused_until = $6, updated_at = clock_timestamp(), updated_by = $7
     WHERE id = ANY (ARRAY(SELECT old.id FROM old))
 RETURNING id
"""


async def renew_some(
    tx: Tx, request: PauseRequest, *, after: UUID = START, limit: int = BATCH
) -> BatchResult:
    """Give the next of those that are paused together this reason and this end."""
    rows = await tx.fetch(
        _RENEW,
        request.tenant_id,
        request.tag,
        after,
        limit,
        request.shown_reason,
        request.until,
        tx.actor,
    )
    found = [row["id"] for row in rows]
    await audit.record(tx, "paused", found, changes=request.noted)
    return BatchResult(len(found), max(found, default=None))


_TOGETHER: LiteralString = """
    SELECT id
      FROM schedules
     WHERE tenant_id = $1 AND status = 'paused' AND paused_together
       AND ($2::text IS NULL OR $2 = ANY (tags)) AND id > $3
     ORDER BY id
     LIMIT $4
"""


async def resume_some(
    tx: Tx, request: PauseRequest, *, after: UUID = START, limit: int = BATCH
) -> BatchResult:
    """Resume the next of those that were paused together, as a single resume would each."""
    rows = await tx.fetch(_TOGETHER, request.tenant_id, request.tag, after, limit)
    found = [row["id"] for row in rows]
    return await _resume(tx, found, only_over=False)


# One node at a time is enough; the others find it done.
_ONE_AT_A_TIME: LiteralString = "SELECT pg_try_advisory_xact_lock(" + locks.RESUMES + ")"

_OVER: LiteralString = """
    SELECT id
      FROM schedules
     WHERE status = 'paused' AND paused_until <= (SELECT clock_timestamp())
     ORDER BY paused_until
     LIMIT $1
"""


async def resume_over(tx: Tx, *, limit: int = BATCH) -> BatchResult:
    """Resume some of those, of whatever tenant, that were paused until an instant that has passed.

    Many processes may do this at the same time; one of them does it.
    """
    if not await tx.fetch_value(_ONE_AT_A_TIME):
        return BatchResult(0, None)
    found = [row["id"] for row in await tx.fetch(_OVER, limit)]
    return await _resume(tx, found, only_over=True)


# Those that are still paused together once they are ours; or with $2, those whose time is up,
# whether they were paused together or one by one.
_LOCK_TOGETHER: LiteralString = f"""
    SELECT {rows_of.COLUMNS}, s.fired
      FROM schedules s
     WHERE s.id = ANY ($1::uuid[]) AND s.status = 'paused'
       AND CASE WHEN $2 THEN s.paused_until <= clock_timestamp() ELSE s.paused_together END
     ORDER BY s.id
       FOR NO KEY UPDATE
"""


async def _resume(tx: Tx, found: Sequence[UUID], *, only_over: bool) -> BatchResult:
    if not found:
        return BatchResult(0, None)
    armed = await timers.lock(tx, found)
    rows = await tx.fetch(_LOCK_TOGETHER, list(found), only_over)
    schedules = await rows_of.with_calendars(tx, [rows_of.of_row(row) for row in rows])
    held = [(schedule, row["fired"]) for schedule, row in zip(schedules, rows, strict=True)]
    now = await rows_of.now(tx)
    known = await record.known_slots(tx, [schedule.id for schedule, _ in held], after=now)
    # In a thread: a thousand triggers would keep everything else in the process waiting.
    resumed = await asyncio.to_thread(
        lambda: [_decide(each, armed.get(each.id), fired, known, now) for each, fired in held]
    )
    await _record(tx, resumed, now)
    active = [replace(each.schedule, status="active") for each in resumed if each.goes_on]
    await monitoring.arm(tx, active, now=now)
    completed = sum(not each.goes_on for each in resumed)
    return BatchResult(len(resumed) - completed, found[-1], completed)


def _decide(
    schedule: Schedule,
    timer: Timer | None,
    fired: int,
    known: Mapping[UUID, Collection[datetime]],
    now: datetime,
) -> _Resumed:
    """Pure: its first open slot from now on, and the slots that have passed without a firing."""
    fired = timer.fired if timer else fired
    slot = next_slot.open_slot(schedule, fired=fired, now=now, known=known.get(schedule.id, ()))
    gone = next_slot.missed_slots(schedule.trigger, timer.scheduled_for, now) if timer else None
    return _Resumed(schedule=schedule, slot=slot, gone=gone, fired=fired)


# Those without a slot left have no timer that could count.
_RESUME: LiteralString = """
    UPDATE schedules s
       SET status = CASE WHEN x.goes_on THEN 'active' ELSE 'completed' END,
           fired = CASE WHEN x.goes_on THEN s.fired ELSE x.fired END,
           status_reason = NULL, updated_at = $4, paused_together = false, paused_until = NULL,
           updated_by = $5
      FROM unnest($1::uuid[], $2::boolean[], $3::integer[]) AS x(id, goes_on, fired)
     WHERE s.id = x.id
"""


async def _record(tx: Tx, resumed: Sequence[_Resumed], now: datetime) -> None:
    gone = [(each.schedule, each.gone) for each in resumed if each.gone is not None]
    await record.record_unfired(
        tx, [next_slot.unfired(schedule, missed, reason="paused") for schedule, missed in gone]
    )
    for goes_on in (True, False):
        those = [each.schedule.id for each in resumed if each.goes_on is goes_on]
        status: Status = "active" if goes_on else "completed"
        if those:
            await audit.record(tx, "resumed", those, at=now, status=status)
    await tx.execute(
        _RESUME,
        [each.schedule.id for each in resumed],
        [each.goes_on for each in resumed],
        [each.fired for each in resumed],
        now,
        tx.actor,
    )
    await timers.disarm(tx, [each.schedule.id for each in resumed if not each.goes_on])
    await timers.arm(
        tx,
        [
            next_slot.timer(replace(each.schedule, status="active"), each.slot, fired=each.fired)
            for each in resumed
            if each.slot is not None
        ],
    )
    await unblock.resume_held(tx, [each.schedule.id for each in resumed])
