"""Runs a schedule now, on request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from rota import ids, timers
from rota.queue import overlap
from rota.queue.enqueue import NewFiring, enter
from rota.queue.overlap import Admission
from rota.schedules import audit, prepared
from rota.schedules.errors import InvalidSchedule, IsAMonitor, Problem
from rota.schedules.update import hold
from rota.schedules.values import wrong_with_json, wrong_with_placeholders
from rota.tenants.tenant import is_program

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.overlap import State
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

TriggeredBy = Literal["manual", "api"]
"""By a person, at a terminal or on a page; or by a program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A firing that was asked for, as it stands."""

    id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: State
    reason: str | None
    triggered_by: TriggeredBy


async def trigger_now(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    *,
    payload: object = None,
    triggered_by: TriggeredBy | None = None,
) -> Run:
    """Fire once, now, paused or not, with the payload given or the schedule's own.

    The overlap policy counts this run like any other: it may be skipped, wait, or end another.
    The asker is the transaction's actor, unless it is given.
    """
    triggered_by = triggered_by or asked_by(tx)
    wrong = wrong_with_json(payload) or wrong_with_placeholders(payload)
    if wrong:
        raise InvalidSchedule((Problem("payload", f"Invalid payload: {wrong}"),))
    schedule, now = await hold(tx, tenant.id, schedule_id)
    if schedule.definition.monitor is not None:
        raise IsAMonitor
    # A firing pass that looked before this run was there must not advance the timer on what it saw.
    await timers.bump(tx, [schedule_id])
    state, reason = await _admit(tx, schedule)
    run = Run(
        id=ids.manual_firing_id(now),
        schedule_id=schedule_id,
        scheduled_for=now,
        status=state,
        reason=reason,
        triggered_by=triggered_by,
    )
    told = {"firing_id": ids.to_text(ids.Kind.FIRING, run.id), "outcome": state}
    await audit.record(tx, "triggered", [schedule_id], at=now, changes=told)
    definition = schedule.definition
    entering = NewFiring(
        id=run.id,
        schedule_id=schedule_id,
        tenant_id=schedule.tenant_id,
        version=schedule.version,
        scheduled_for=now,
        state=state,
        reason=reason,
        priority=definition.priority,
        lane=definition.lane,
        host=definition.host,
        triggered_by=triggered_by,
        at=now,
        payload=None if payload is None else msgspec.json.encode(payload).decode(),
    )
    await enter(tx, [entering])
    return run


def asked_by(tx: Tx) -> TriggeredBy:
    """Who asks for a run, by the transaction's actor."""
    return "api" if is_program(tx.actor) else "manual"


async def _admit(tx: Tx, schedule: Schedule) -> tuple[State, str | None]:
    """How the run enters the queue, with the ones before it ended if the policy says so."""
    policy = schedule.definition.overlap_policy
    if policy == "allow":
        return "waiting", None
    snapshot = await overlap.lock_live(tx, [schedule.id])
    live = snapshot.of(schedule.id)
    admission = Admission(policy, live)
    await overlap.make_room(tx, snapshot, {schedule.id: admission})
    state, reason = admission.next()
    if state != "skipped":
        await prepared.give_back(tx, [(schedule, live)])
    return state, reason
