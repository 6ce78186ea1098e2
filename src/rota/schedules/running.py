"""Running a schedule now, because somebody asked (TR12)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from rota import ids, timers
from rota.schedules import live_sql
from rota.schedules.changing import hold
from rota.schedules.errors import InvalidSchedule, IsAMonitor, Problem
from rota.schedules.values import wrong_with_json, wrong_with_placeholders

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

TriggeredBy = Literal["manual", "api"]

OVERLAP = "overlap"
"""The reason of what the overlap policy skipped or cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A firing that was asked for, as it stands."""

    id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: Literal["waiting", "blocked", "skipped"]
    reason: str | None
    triggered_by: TriggeredBy


async def trigger_now(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    *,
    payload: object = None,
    triggered_by: TriggeredBy = "manual",
) -> Run:
    """Fire once, now, paused or not, with the payload given or the schedule's own.

    The overlap policy counts this run like any other: it may be skipped, wait, or end another.
    """
    wrong = wrong_with_json(payload) or wrong_with_placeholders(payload)
    if wrong:
        raise InvalidSchedule((Problem("payload", f"Invalid payload: {wrong}"),))
    schedule, now = await hold(tx, tenant.id, schedule_id)
    if schedule.definition.monitor is not None:
        raise IsAMonitor
    # A firing pass that looked before this run was there must not advance the timer on what it saw.
    await timers.touch(tx, schedule_id)
    status = await _enter(tx, schedule)
    run = Run(
        id=ids.manual_firing_id(now),
        schedule_id=schedule_id,
        scheduled_for=now,
        status=status,
        reason=OVERLAP if status == "skipped" else None,
        triggered_by=triggered_by,
    )
    given = None if payload is None else msgspec.json.encode(payload).decode()
    if status == "skipped":
        await _record_skipped(tx, schedule, run, given)
    else:
        await live_sql.enqueue(
            tx,
            schedule,
            id_=run.id,
            at=now,
            state=status,
            triggered_by=triggered_by,
            payload=given,
        )
    return run


async def _enter(tx: Tx, schedule: Schedule) -> Literal["waiting", "blocked", "skipped"]:
    """How the run enters the queue, with the ones before it ended if the policy says so."""
    policy = schedule.definition.overlap_policy
    if policy == "allow":
        return "waiting"
    live = await live_sql.lock_live(tx, schedule.id)
    if not live:
        return "waiting"
    if policy == "skip":
        return "skipped"
    if policy == "cancel_previous":
        taken = await live_sql.take(tx, schedule.id)
        await live_sql.record(tx, schedule, taken, status="cancelled", reason=OVERLAP)
        await live_sql.cancel(tx, schedule.id, OVERLAP)
        return "blocked" if "running" in live else "waiting"
    return "blocked"


async def _record_skipped(tx: Tx, schedule: Schedule, run: Run, payload: str | None) -> None:
    skipped = live_sql.Taken(
        id=run.id,
        version=schedule.version,
        scheduled_for=run.scheduled_for,
        attempt=0,
        triggered_by=run.triggered_by,
        catch_up=False,
        payload=payload,
    )
    await live_sql.record(tx, schedule, [skipped], status="skipped", reason=OVERLAP)
