"""Changing schedules: edit, upsert, pause, resume, delete.

Whatever a change takes back is recorded in the same transaction, so that every slot has its
outcome: firings that wait in the queue, and slots that have passed and were not fired. Nothing is
ever fired for the past.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rota import timers
from rota.schedules import (
    after_links,
    arming,
    carry_sql,
    celery_access,
    fields,
    live_sql,
    monitoring,
    names,
    sql,
    task_queues,
    when,
)
from rota.schedules.creating import anchor, calendars_of, insert, stripped
from rota.schedules.errors import InvalidSchedule, NoSuchSchedule, Problem, VersionChanged
from rota.schedules.passed import passed
from rota.schedules.saved import Saved
from rota.schedules.taking_back import take_back
from rota.targets import OPEN, TargetPolicy
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.definition import Definition
    from rota.schedules.fields import Parsed
    from rota.schedules.schedule import Schedule, Status
    from rota.schedules.taking_back import Reason
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
    """The tenant's schedule of this key, made or changed to be of these fields (TR15).

    The same fields again change nothing, not even the version. Without `enabled` a schedule that
    somebody paused stays so.
    """
    if given.get("key") not in (None, key):
        wrong = f'Invalid key: expected "{key[:60]}", as in the address, or none'
        raise InvalidSchedule((Problem("key", wrong),))
    whole = {**given, "key": key}
    while True:
        schedule_id = await sql.id_of_key(tx, tenant.id, key)
        if schedule_id is None:
            now = await sql.now(tx)
            made = fields.read(
                whole,
                now=anchor(now),
                min_interval=tenant.min_interval,
                targets=targets.of_tenant(tenant.id),
                calendars=await calendars_of(tx, tenant, whole),
            )
            saved = await insert(tx, tenant, [made], shards=shards, now=now)
            if saved:
                return saved[0]
            continue  # Somebody else made it just now, so it is there to be changed.
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
    """Change some fields; null takes one away. Armed anew from now, never for the past."""
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
    id_ = await sql.id_of_key(tx, tenant.id, named) if isinstance(named, str) else named
    held = None if id_ is None else await _hold(tx, tenant.id, id_)
    if held is None and not isinstance(named, str):
        raise NoSuchSchedule
    version = None if held is None else held.schedule.version
    if version is None or (versions is not None and version not in versions):
        raise VersionChanged(version)


async def pause(tx: Tx, tenant: Tenant, schedule_id: UUID) -> Schedule:
    """No firing from now on. What waits is recorded as skipped; what runs ends as it will."""
    held = await _require(tx, tenant.id, schedule_id)
    return await _pause(tx, held)


async def pause_version(
    tx: Tx, tenant_id: UUID, schedule_id: UUID, *, version: int, reason: str
) -> bool:
    """Pause it, for a reason that is Rota's own, if it is still what it was at this version.

    False when it has been changed, paused or deleted since: what was wrong with it may be mended.
    """
    held = await _hold(tx, tenant_id, schedule_id)
    if held is None or held.schedule.version != version or held.schedule.status != "active":
        return False
    await _pause(tx, held, reason)
    return True


async def resume(tx: Tx, tenant: Tenant, schedule_id: UUID) -> Schedule:
    """Fire again, from now on. The slots that passed meanwhile are recorded as skipped."""
    held = await _require(tx, tenant.id, schedule_id)
    return await _resume(tx, held)


async def delete(tx: Tx, tenant: Tenant, schedule_id: UUID) -> None:
    """Forget it, but for its history. What waits is recorded as skipped."""
    held = await _require(tx, tenant.id, schedule_id)
    await _record_overdue(tx, held, "deleted")
    await timers.disarm(tx, schedule_id)
    await take_back(tx, held.schedule, "deleted")
    await sql.delete(tx, schedule_id)


async def hold(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> tuple[Schedule, datetime]:
    """The schedule, ours with its timer, and the time; `NoSuchSchedule` when there is none."""
    held = await _require(tx, tenant_id, schedule_id)
    return held.schedule, held.now


async def _require(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> _Held:
    held = await _hold(tx, tenant_id, schedule_id)
    if held is None:
        raise NoSuchSchedule
    return held


async def _hold(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> _Held | None:
    if not await sql.is_owned(tx, tenant_id, schedule_id):
        return None
    # The timer first, as firing does: one that completes a schedule goes on to the schedule.
    timer = await timers.lock(tx, schedule_id)
    schedule = await sql.lock(tx, tenant_id, schedule_id)
    if schedule is None:
        return None
    if timer is None:
        # There was none to lock, so it may have been made while we waited for the schedule.
        timer = await timers.lock(tx, schedule_id)
    fired = timer.fired if timer else await sql.fired(tx, schedule_id)
    return _Held(schedule, timer, await sql.now(tx), fired)


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
        calendars=await calendars_of(tx, tenant, whole),
    )
    celery_access.require(tenant, read.definition)
    restated = fields.restated(stripped(read.definition), old)
    new = await task_queues.place(tx, tenant.id, restated)
    schedule, outcome = held.schedule, "unchanged"
    if not fields.same(old, new):
        schedule, outcome = await _edit(tx, held, read, new), "updated"
        timer = await timers.lock(tx, schedule.id)
        held = _Held(schedule, timer, held.now, timer.fired if timer else held.fired)
    if "enabled" in read.given:
        switched = await (_resume if read.definition.enabled else _pause)(tx, held)
        if switched is not schedule:
            schedule, outcome = switched, "updated"
    warnings = (*read.warnings, *await after_links.warnings(tx, schedule))
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
    await _carry_over(tx, schedule, held)
    taken_back = await take_back(tx, schedule, "edited", but=schedule.version)
    held = replace(held, fired=max(held.fired - taken_back, 0))
    slot = await _first_open_slot(tx, schedule, held)
    if not arming.goes_on(schedule, slot):
        schedule = replace(schedule, status="completed")
    elif schedule.status != "paused":
        schedule = replace(schedule, status="active")
    await sql.update(tx, schedule)
    await _set_timer(tx, schedule, slot, fired=held.fired)
    if held.schedule.definition.monitor is not None and new.monitor is None:
        await monitoring.forget(tx, schedule.id)
    await monitoring.arm(tx, [schedule], now=held.now)
    return schedule


async def _pause(tx: Tx, held: _Held, reason: str | None = None) -> Schedule:
    schedule = held.schedule
    if schedule.status == "paused" and reason is None:
        # Its owner's own wish from now on: resuming all must not undo it.
        await sql.pause_alone(tx, schedule.id)
    if schedule.status != "active":
        return schedule
    await timers.park(tx, schedule.id)
    await timers.uncount(tx, schedule.id, await take_back(tx, schedule, "paused"))
    if schedule.definition.monitor is not None:
        await monitoring.park(tx, [schedule.id])
    return await _switch(tx, held, "paused", reason)


async def _resume(tx: Tx, held: _Held) -> Schedule:
    if held.schedule.status != "paused":
        return held.schedule
    await _record_overdue(tx, held, "paused")
    slot = await _first_open_slot(tx, held.schedule, held)
    goes_on = arming.goes_on(held.schedule, slot)
    schedule = await _switch(tx, held, "active" if goes_on else "completed")
    await _set_timer(tx, schedule, slot, fired=held.fired)
    await live_sql.free_enqueued(tx, schedule.id)
    await monitoring.arm(tx, [schedule], now=held.now)
    return schedule


async def _switch(tx: Tx, held: _Held, status: Status, reason: str | None = None) -> Schedule:
    await sql.set_status(tx, held.schedule.id, status, at=held.now, reason=reason)
    return replace(held.schedule, status=status, updated_at=held.now)


async def _set_timer(tx: Tx, schedule: Schedule, slot: datetime | None, *, fired: int) -> None:
    if slot is None:
        await timers.disarm(tx, schedule.id)
        await sql.keep_fired(tx, schedule.id, fired)
    else:
        await timers.arm(tx, [arming.timer(schedule, slot, fired=fired)])


async def _record_overdue(tx: Tx, held: _Held, reason: Reason) -> None:
    """The slots that have passed and that no pass has fired: because it was paused, if it was."""
    if held.timer is None:
        return
    gone = passed(held.schedule.trigger, held.timer.scheduled_for, held.now)
    if gone is not None:
        because = "paused" if held.schedule.status == "paused" else reason
        await live_sql.record_passed(tx, held.schedule, gone, reason=because)


async def _first_open_slot(tx: Tx, schedule: Schedule, held: _Held) -> datetime | None:
    """Its first slot from now on that is neither in the queue nor recorded; None without any."""
    known = await live_sql.known_slots(tx, schedule.id, after=held.now)
    return arming.open_slot(schedule, fired=held.fired, now=held.now, known=known)


async def _carry_over(tx: Tx, schedule: Schedule, held: _Held) -> None:
    """Slots ahead that are in the queue already, and that it still has, fire as edited."""
    now, trigger = held.now, schedule.trigger
    if not is_timed(trigger):
        await live_sql.lock_live(tx, schedule.id)
        await carry_sql.carry_over_asked(tx, schedule, before=held.schedule.definition)
        return
    if schedule.status == "paused":
        return
    await live_sql.lock_live(tx, schedule.id)
    ahead = await carry_sql.prepared(tx, schedule.id, after=now)
    slots = [slot for slot in ahead if trigger.next_after(slot - _TICK) == slot]
    if slots:
        spread = arming.due_at(schedule.id, schedule.definition, now) - now
        await carry_sql.carry_over(tx, schedule, slots, spread=spread)


def _is_retimed(old: Definition, new: Definition) -> bool:
    timing = (*names.TRIGGERS, *names.FRAME)
    return any(getattr(old, name) != getattr(new, name) for name in timing)


def _trigger_field(definition: Definition) -> str:
    return next(name for name in names.TRIGGERS if getattr(definition, name) is not None)
