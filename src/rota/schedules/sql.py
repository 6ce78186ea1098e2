"""The statements on schedules, and on the firings that a change of one takes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, LiteralString

from rota.schedules import definition as definitions
from rota.schedules.calendars import sql as calendars
from rota.schedules.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.calendars.calendar import Known
    from rota.schedules.schedule import Status

_NOW: LiteralString = "SELECT clock_timestamp()"

_COUNT: LiteralString = "SELECT count(*) FROM schedules WHERE tenant_id = $1"

# Held until the transaction ends: two that create at once would both see room for one more.
_LOCK_TENANT: LiteralString = "SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE"

_ID_OF_KEY: LiteralString = "SELECT id FROM schedules WHERE tenant_id = $1 AND key = $2"

_OWNED: LiteralString = "SELECT EXISTS (SELECT FROM schedules WHERE tenant_id = $1 AND id = $2)"

_LOCK: LiteralString = """
    SELECT id, tenant_id, key, name, status, version, shard, anchor_at,
           definition::text AS definition, created_at, updated_at
      FROM schedules
     WHERE tenant_id = $1 AND id = $2
       FOR NO KEY UPDATE
"""

_UPDATE: LiteralString = """
    UPDATE schedules
       SET name = $3::jsonb ->> 'name',
           tags = ARRAY(SELECT jsonb_array_elements_text($3::jsonb -> 'tags')),
           job_type = $3::jsonb ->> 'job_type',
           definition = $3, status = $2, version = $4, anchor_at = $5, updated_at = $6,
           calendar = $3::jsonb ->> 'calendar', calendar_version = $7
     WHERE id = $1
"""

_SET_STATUS: LiteralString = """
    UPDATE schedules
       SET status = $2, updated_at = $3, status_reason = $4,
           paused_together = false, paused_until = NULL
     WHERE id = $1
"""

_PAUSE_ALONE: LiteralString = """
    UPDATE schedules
       SET status_reason = CASE WHEN paused_together THEN NULL ELSE status_reason END,
           paused_together = false, paused_until = NULL
     WHERE id = $1 AND status = 'paused' AND (paused_together OR paused_until IS NOT NULL)
"""

_DELETE: LiteralString = "DELETE FROM schedules WHERE id = $1"

_FIRED: LiteralString = "SELECT fired FROM schedules WHERE id = $1"

_KEEP_FIRED: LiteralString = "UPDATE schedules SET fired = $2 WHERE id = $1"


async def now(tx: Tx) -> datetime:
    """The database's clock."""
    return await tx.fetch_value(_NOW)


async def count(tx: Tx, tenant_id: UUID) -> int:
    """How many schedules the tenant has; it gets no others before the transaction ends."""
    await tx.execute(_LOCK_TENANT, tenant_id)
    return await tx.fetch_value(_COUNT, tenant_id)


async def id_of_key(tx: Tx, tenant_id: UUID, key: str) -> UUID | None:
    return await tx.fetch_value(_ID_OF_KEY, tenant_id, key)


async def is_owned(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> bool:
    return bool(await tx.fetch_value(_OWNED, tenant_id, schedule_id))


async def lock(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Schedule | None:
    row = await tx.fetch_row(_LOCK, tenant_id, schedule_id)
    if row is None:
        return None
    return (await with_calendars(tx, [of_row(row)]))[0]


async def with_calendars(tx: Tx, schedules: Sequence[Schedule]) -> list[Schedule]:
    """These schedules, each with its calendar's days as they are now.

    A statement of its own, after those that lock: one that has waited for a lock would see the
    schedule as it is by then, and the calendar as it was before.
    """
    having = [each.id for each in schedules if each.definition.calendar is not None]
    found = await calendars.of_schedules(tx, having) if having else {}
    return [replace(s, calendar=found[s.id]) if s.id in found else s for s in schedules]


async def update(tx: Tx, schedule: Schedule) -> None:
    await tx.execute(
        _UPDATE,
        schedule.id,
        schedule.status,
        definitions.encode(schedule.definition),
        schedule.version,
        schedule.anchor_at,
        schedule.updated_at,
        schedule.calendar and schedule.calendar.version,
    )


async def set_status(
    tx: Tx, schedule_id: UUID, status: Status, *, at: datetime, reason: str | None = None
) -> None:
    await tx.execute(_SET_STATUS, schedule_id, status, at, reason)


async def pause_alone(tx: Tx, schedule_id: UUID) -> None:
    """Of one that is paused: its pause is its own from now on, and has no end."""
    await tx.execute(_PAUSE_ALONE, schedule_id)


async def delete(tx: Tx, schedule_id: UUID) -> None:
    await tx.execute(_DELETE, schedule_id)


async def fired(tx: Tx, schedule_id: UUID) -> int:
    """How many firings it had had when it was completed."""
    count: int | None = await tx.fetch_value(_FIRED, schedule_id)
    return count or 0


async def keep_fired(tx: Tx, schedule_id: UUID, count: int) -> None:
    """Remember how many firings it has had, now that it has no timer to count them."""
    await tx.execute(_KEEP_FIRED, schedule_id, count)


def of_row(row: Row, *, calendar: Known | None = None) -> Schedule:
    """The schedule that a row of `schedules` is; its definition must have been read as text.

    Whoever asks for its slots gives its calendar, or sees to `with_calendars`.
    """
    return Schedule(
        id=row["id"],
        tenant_id=row["tenant_id"],
        key=row["key"],
        name=row["name"],
        status=row["status"],
        version=row["version"],
        shard=row["shard"],
        anchor_at=row["anchor_at"],
        definition=definitions.decode(row["definition"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        calendar=calendar,
    )
