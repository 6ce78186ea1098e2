"""Changing schedules: edit, upsert, pause, resume, delete.

Whatever a change takes back is recorded in the same transaction, so that every slot has its
outcome: firings that wait in the queue, and slots that have passed and were not fired. Nothing is
ever fired for the past.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, LiteralString

from rota import timers
from rota.queue import overlap, record, reversion, unblock, withdraw
from rota.queue.reversion import Terms
from rota.schedules import (
    after_links,
    audit,
    celery_access,
    fields,
    monitoring,
    names,
    next_slot,
    secret_names,
    task_queues,
    when,
)
from rota.schedules import schedule as schedules
from rota.schedules.create import Saved, create_parsed, share_calendars
from rota.schedules.errors import InvalidSchedule, NoSuchSchedule, Problem, VersionChanged
from rota.schedules.schedule import anchor, without_enabled
from rota.targets import OPEN, TargetPolicy
from rota.triggers.limits import Limited
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.withdraw import Reason
    from rota.schedules.definition import Definition
    from rota.schedules.fields import Parsed
    from rota.schedules.schedule import Schedule, Status
    from rota.tenants.tenant import Tenant

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Held:
    """A schedule and its timer, ours until the transaction ends; `now` was read after that."""

    schedule: Schedule
    timer: timers.Timer | None
    now: datetime
    fired: int
    """How many firings it has had, for max_firings."""


async def upsert_by_key(
    tx: Tx,
    tenant: Tenant,
    key: str,
    given: Mapping[str, object],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
) -> Saved:
    """The tenant's schedule of this key, made or changed to be of these fields.

    The same fields again change nothing, not even the version. Without `enabled` a schedule that
    somebody paused stays so.
    """
    if given.get("key") not in (None, key):
        wrong = f'Invalid key: expected "{key[:60]}", as in the address, or none'
        raise InvalidSchedule((Problem("key", wrong),))
    whole = {**given, "key": key}
    while True:
        schedule_id = await schedules.id_of_key(tx, tenant.id, key)
        if schedule_id is None:
            now = await schedules.now(tx)
            parsed = fields.read(
                whole,
                now=anchor(now),
                min_interval=tenant.min_interval,
                targets=targets.of_tenant(tenant.id),
                calendars=await share_calendars(tx, tenant, whole),
            )
            saved = await create_parsed(tx, tenant, [parsed], shards=shards, now=now)
            if saved:
                return saved[0]
            continue  # Another transaction has just created it: change that one.
        held = await _hold(tx, tenant.id, schedule_id)
        if held is not None:
            return await _replace(tx, held, whole, tenant, targets)


async def update(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    changes: Mapping[str, object],
    *,
    targets: TargetPolicy = OPEN,
) -> Saved:
    """Change some fields; null takes one away. Re-armed from now, never for the past."""
    held = await _require(tx, tenant.id, schedule_id)
    if changes.get("key", held.schedule.key) != held.schedule.key:
        wrong = "Invalid key: it names the schedule for ever; make another one"
        raise InvalidSchedule((Problem("key", wrong),))
    whole = fields.merge(held.schedule.definition, changes)
    if changes.get("enabled") is None:
        whole.pop("enabled", None)
    return await _replace(tx, held, whole, tenant, targets)


async def require_version(
    tx: Tx, tenant: Tenant, named: UUID | str, versions: Collection[int] | None
) -> None:
    """Go on only if the schedule of this id or key is there, and of one of these versions.

    None is any version. It stays so until the transaction ends; otherwise `VersionChanged`.
    """
    id_ = await schedules.id_of_key(tx, tenant.id, named) if isinstance(named, str) else named
    held = None if id_ is None else await _hold(tx, tenant.id, id_)
    if held is None and not isinstance(named, str):
        raise NoSuchSchedule
    version = None if held is None else held.schedule.version
    if version is None or (versions is not None and version not in versions):
        raise VersionChanged(version)


async def pause(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    *,
    reason: str | None = None,
    until: datetime | None = None,
) -> Schedule:
    """No firing from now on. What waits is recorded as skipped; what runs ends as it will."""
    held = await _require(tx, tenant.id, schedule_id)
    if held.schedule.status == "paused" and (reason is not None or until is not None):
        noted = audit.noted(status_reason=reason, paused_until=until)
        await audit.record(tx, "paused", [schedule_id], at=held.now, changes=noted)
        await schedules.note_pause(tx, schedule_id, at=held.now, reason=reason, until=until)
        return replace(held.schedule, updated_at=held.now)
    return await _pause(tx, held, reason, until)


async def pause_version(
    tx: Tx, tenant_id: UUID, schedule_id: UUID, *, version: int, reason: str
) -> bool:
    """Pause it, for a reason of Rota's, if it is still at this version.

    False when it has been changed, paused or deleted since: what was wrong with it may be mended.
    """
    held = await _hold(tx, tenant_id, schedule_id)
    if held is None or held.schedule.version != version or held.schedule.status != "active":
        return False
    await _pause(tx, held, reason)
    return True


async def resume(tx: Tx, tenant: Tenant, schedule_id: UUID) -> Schedule:
    """Fire again, from now on. The slots missed in the meantime are recorded as skipped."""
    held = await _require(tx, tenant.id, schedule_id)
    return await _resume(tx, held)


async def delete(tx: Tx, tenant: Tenant, schedule_id: UUID) -> None:
    """Delete it; its history stays. What waits is recorded as skipped."""
    held = await _require(tx, tenant.id, schedule_id)
    await _record_overdue(tx, held, "deleted")
    await timers.disarm(tx, [schedule_id])
    await withdraw.withdraw(tx, [schedule_id], "deleted")
    await audit.record(tx, "deleted", [schedule_id], at=held.now)
    await schedules.delete(tx, schedule_id)


# A timer counts the firings; without one they are counted by what is recorded of them.
_COUNT_FIRED: LiteralString = """
    SELECT (SELECT count(*) FROM firings
             WHERE schedule_id = $1 AND triggered_by = 'schedule'
               AND status NOT IN ('skipped', 'missed'))
         + (SELECT count(*) FROM queue WHERE schedule_id = $1 AND triggered_by = 'schedule')
"""


async def rearm(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> datetime | None:
    """Arm a schedule that is active and has lost its timer, from now on; its next slot.

    None when there was nothing to arm: it has a timer, is not active, or has no slot left, and is
    completed in that case.
    """
    held = await _hold(tx, tenant_id, schedule_id)
    if held is None or held.timer is not None or held.schedule.status != "active":
        return None
    schedule = held.schedule
    if not is_timed(schedule.trigger):
        return None
    if isinstance(schedule.trigger, Limited) and schedule.trigger.max_firings is not None:
        held = replace(held, fired=max(held.fired, await tx.fetch_value(_COUNT_FIRED, schedule_id)))
    slot = await _first_open_slot(tx, schedule, held)
    if slot is None:
        await audit.record(tx, "completed", [schedule_id], at=held.now, status="completed")
        await _switch(tx, held, "completed")
    await _set_timer(tx, schedule, slot, fired=held.fired)
    return slot


async def hold(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> tuple[Schedule, datetime]:
    """The schedule, ours with its timer, and the time; `NoSuchSchedule` when there is none."""
    held = await _require(tx, tenant_id, schedule_id)
    return held.schedule, held.now


async def _require(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> _Held:
    held = await _hold(tx, tenant_id, schedule_id)
    if held is None:
        raise NoSuchSchedule
    return held


async def lock_several(tx: Tx, schedule_ids: Collection[UUID]) -> None:
    """Lock schedules with their timers and live firings, to be changed one after another.

    Each change locks its own rows in the order of docs/lock-order.md, but the second would lock a
    timer after the queue's rows of the first.
    """
    if len(schedule_ids) > 1:
        await timers.lock(tx, schedule_ids)
        await schedules.lock_many(tx, list(schedule_ids))
        await overlap.lock_live(tx, list(schedule_ids))


async def _hold(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> _Held | None:
    if not await schedules.is_owned(tx, tenant_id, schedule_id):
        return None
    # The timer first, as firing does: one that completes a schedule goes on to the schedule.
    timer = (await timers.lock(tx, [schedule_id])).get(schedule_id)
    schedule = await schedules.lock(tx, tenant_id, schedule_id)
    if schedule is None:
        return None
    if timer is None:
        # There was none to lock, so it may have been made while we waited for the schedule.
        timer = (await timers.lock(tx, [schedule_id])).get(schedule_id)
    fired = timer.fired if timer else await schedules.fired(tx, schedule_id)
    return _Held(schedule, timer, await schedules.now(tx), fired)


async def _replace(
    tx: Tx, held: _Held, whole: Mapping[str, object], tenant: Tenant, targets: TargetPolicy
) -> Saved:
    """Make the schedule be of these fields."""
    old = held.schedule.definition
    read = fields.read(
        whole,
        now=anchor(held.now),
        min_interval=tenant.min_interval,
        require_future=False,
        targets=targets.of_tenant(tenant.id),
        calendars=await share_calendars(tx, tenant, whole),
    )
    celery_access.require(tenant, read.definition)
    restated = fields.restated(without_enabled(read.definition), old)
    new = await task_queues.place(tx, tenant.id, restated)
    schedule, outcome = held.schedule, "unchanged"
    if not fields.same(old, new):
        schedule, outcome = await _edit(tx, held, read, new), "updated"
        timer = (await timers.lock(tx, [schedule.id])).get(schedule.id)
        held = _Held(schedule, timer, held.now, timer.fired if timer else held.fired)
    if "enabled" in read.given:
        switched = await (_resume if read.definition.enabled else _pause)(tx, held)
        if switched is not schedule:
            schedule, outcome = switched, "updated"
    warnings = (
        *read.warnings,
        *await after_links.warnings(tx, schedule),
        *await secret_names.warnings(tx, schedule),
    )
    return Saved(schedule=schedule, outcome=outcome, warnings=warnings)


async def _edit(tx: Tx, held: _Held, read: Parsed, new: Definition) -> Schedule:
    retimed = _is_retimed(held.schedule.definition, new)
    filtered = held.schedule.definition.calendar != new.calendar
    if (retimed or filtered) and read.next_slot is None and is_timed(read.trigger):
        wrong = when.no_future(read.trigger, held.now)
        raise InvalidSchedule((Problem(_trigger_field(new), wrong),))
    schedule = replace(
        held.schedule,
        name=new.name,
        definition=new,
        version=held.schedule.version + 1,
        anchor_at=anchor(held.now) if retimed else held.schedule.anchor_at,
        updated_at=held.now,
        calendar=read.calendar,
    )
    await after_links.change(tx, held.schedule, schedule)
    await _record_overdue(tx, held, "edited")
    await _reversion(tx, schedule, held)
    unbegun = await withdraw.withdraw(tx, [schedule.id], "edited", but_version=schedule.version)
    held = replace(held, fired=max(held.fired - unbegun.get(schedule.id, 0), 0))
    slot = await _first_open_slot(tx, schedule, held)
    if not next_slot.goes_on(schedule, slot):
        schedule = replace(schedule, status="completed")
    elif schedule.status != "paused":
        schedule = replace(schedule, status="active")
    changes = audit.edit(held.schedule.definition, new)
    await audit.record(
        tx, "edited", [schedule.id], at=held.now, status=schedule.status, changes=changes
    )
    await schedules.update(tx, schedule)
    await _set_timer(tx, schedule, slot, fired=held.fired)
    if held.schedule.definition.monitor is not None and new.monitor is None:
        await monitoring.forget(tx, schedule.id)
    await monitoring.arm(tx, [schedule], now=held.now)
    return schedule


async def _pause(
    tx: Tx, held: _Held, reason: str | None = None, until: datetime | None = None
) -> Schedule:
    schedule = held.schedule
    # Its owner's own wish from now on: resuming all must not undo it.
    if (
        schedule.status == "paused"
        and reason is None
        and await schedules.pause_alone(tx, schedule.id)
    ):
        await audit.record(tx, "paused", [schedule.id], at=held.now)
    if schedule.status != "active":
        return schedule
    await timers.suspend(tx, [schedule.id])
    await timers.unfire(tx, await withdraw.withdraw(tx, [schedule.id], "paused"))
    if schedule.definition.monitor is not None:
        await monitoring.park(tx, [schedule.id])
    noted = audit.noted(status_reason=reason, paused_until=until)
    await audit.record(tx, "paused", [schedule.id], at=held.now, status="paused", changes=noted)
    return await _switch(tx, held, "paused", reason, until)


async def _resume(tx: Tx, held: _Held) -> Schedule:
    if held.schedule.status != "paused":
        return held.schedule
    await _record_overdue(tx, held, "paused")
    slot = await _first_open_slot(tx, held.schedule, held)
    goes_on = next_slot.goes_on(held.schedule, slot)
    status: Status = "active" if goes_on else "completed"
    await audit.record(tx, "resumed", [held.schedule.id], at=held.now, status=status)
    schedule = await _switch(tx, held, status)
    await _set_timer(tx, schedule, slot, fired=held.fired)
    await unblock.resume_held(tx, [schedule.id])
    await monitoring.arm(tx, [schedule], now=held.now)
    return schedule


async def _switch(
    tx: Tx,
    held: _Held,
    status: Status,
    reason: str | None = None,
    until: datetime | None = None,
) -> Schedule:
    await schedules.set_status(
        tx, held.schedule.id, status, at=held.now, reason=reason, until=until
    )
    return replace(held.schedule, status=status, updated_at=held.now)


async def _set_timer(tx: Tx, schedule: Schedule, slot: datetime | None, *, fired: int) -> None:
    if slot is None:
        await timers.disarm(tx, [schedule.id])
        await schedules.keep_fired(tx, schedule.id, fired)
    else:
        await timers.arm(tx, [next_slot.timer(schedule, slot, fired=fired)])


async def _record_overdue(tx: Tx, held: _Held, reason: Reason) -> None:
    """The slots that have passed and that no pass has fired: because it was paused, if it was."""
    if held.timer is None:
        return
    missed = next_slot.missed_slots(held.schedule.trigger, held.timer.scheduled_for, held.now)
    if missed is not None:
        because = "paused" if held.schedule.status == "paused" else reason
        unfired = next_slot.unfired(held.schedule, missed, reason=because)
        await record.record_unfired(tx, [unfired])


async def _first_open_slot(tx: Tx, schedule: Schedule, held: _Held) -> datetime | None:
    """Its first slot from now on that is neither in the queue nor recorded; None without any."""
    found = await record.known_slots(tx, [schedule.id], after=held.now)
    known = found.get(schedule.id, ())
    return next_slot.open_slot(schedule, fired=held.fired, now=held.now, known=known)


async def _reversion(tx: Tx, schedule: Schedule, held: _Held) -> None:
    """Slots ahead that are in the queue already, and that it still has, fire as edited."""
    now, trigger = held.now, schedule.trigger
    if not is_timed(trigger):
        await overlap.lock_live(tx, [schedule.id])
        await reversion.reversion_requested(
            tx,
            schedule.id,
            before=_terms(held.schedule),
            after=_terms(schedule),
            sends_the_same=schedule.definition.sends == held.schedule.definition.sends,
        )
        return
    if schedule.status == "paused":
        return
    await overlap.lock_live(tx, [schedule.id])
    ahead = await reversion.slots_ahead(tx, schedule.id, after=now)
    slots = [slot for slot in ahead if trigger.next_after(slot - _TICK) == slot]
    if slots:
        jitter = next_slot.due_at(schedule.id, schedule.definition, now) - now
        await reversion.reversion_slots(tx, schedule.id, slots, _terms(schedule), jitter=jitter)


def _terms(schedule: Schedule) -> Terms:
    definition = schedule.definition
    return Terms(
        version=schedule.version,
        priority=definition.priority,
        lane=definition.lane,
        host=definition.host,
    )


def _is_retimed(old: Definition, new: Definition) -> bool:
    timing = (*names.TRIGGERS, *names.FRAME)
    return any(getattr(old, name) != getattr(new, name) for name in timing)


def _trigger_field(definition: Definition) -> str:
    return next(name for name in names.TRIGGERS if getattr(definition, name) is not None)
