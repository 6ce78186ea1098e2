"""The statements on schedules, and on the firings that a change of one takes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota import ids
from rota.schedules import definition as definitions
from rota.schedules.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.passed import Passed
    from rota.schedules.schedule import Status

_NOW: LiteralString = "SELECT clock_timestamp()"

# Those whose key is taken are left out, and so are not returned.
_INSERT: LiteralString = """
    INSERT INTO schedules (id, tenant_id, key, name, tags, job_type, status, shard, anchor_at,
                           definition, created_at, updated_at)
    SELECT x.id, $1, x.key, x.definition ->> 'name',
           ARRAY(SELECT jsonb_array_elements_text(x.definition -> 'tags')),
           x.definition ->> 'job_type', x.status, x.shard, $2, x.definition, $3, $3
      FROM unnest($4::uuid[], $5::text[], $6::text[], $7::smallint[], $8::jsonb[])
           AS x(id, key, status, shard, definition)
        ON CONFLICT (tenant_id, key) DO NOTHING
 RETURNING id
"""

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
           definition = $3, status = $2, version = $4, anchor_at = $5, updated_at = $6
     WHERE id = $1
"""

_SET_STATUS: LiteralString = """
    UPDATE schedules SET status = $2, updated_at = $3, status_reason = $4 WHERE id = $1
"""

_DELETE: LiteralString = "DELETE FROM schedules WHERE id = $1"

# Until the transaction ends no worker claims, ends or frees one of these; and none can be added, as
# whoever adds one has the timer or the schedule, which are ours. The oldest first: an end frees a
# younger one, and two that wait for each other's rows would wait for ever.
_LOCK_LIVE: LiteralString = """
    SELECT state FROM queue WHERE schedule_id = $1 ORDER BY scheduled_for, id FOR UPDATE
"""

# Prepared ahead, by the schedule itself, and not begun as far as anybody can tell from here.
_PREPARED: LiteralString = """
    SELECT scheduled_for FROM queue
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
       AND attempt <= CASE state WHEN 'running' THEN 1 ELSE 0 END AND cancel_reason IS NULL
"""

# Whoever holds one hears of it and lets go of it; claimed again, it is of the new version.
_CARRY_OVER: LiteralString = """
    WITH carried AS (
        UPDATE queue
           SET version = $3, priority = $4, lane = $5, host = $6,
               available_at = scheduled_for + $7::interval
         WHERE schedule_id = $1 AND scheduled_for = ANY ($2::timestamptz[])
           AND triggered_by = 'schedule'
     RETURNING schedule_id, state
    )
    SELECT pg_notify('rota_recall', schedule_id::text)
      FROM (SELECT DISTINCT schedule_id FROM carried WHERE state = 'running') AS held
"""

_KNOWN_SLOTS: LiteralString = """
    SELECT scheduled_for FROM queue
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
     UNION
    SELECT scheduled_for FROM firings
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
"""

_TAKE: LiteralString = """
    DELETE FROM queue
     WHERE schedule_id = $1 AND state <> 'running' AND version IS DISTINCT FROM $2
 RETURNING id, version, scheduled_for, attempt, triggered_by, catch_up
"""

# Held ahead of its instant, so not begun: whoever holds it gives it back if that is still true.
_RECALL: LiteralString = """
    WITH held AS (
        UPDATE queue
           SET cancel_reason = coalesce(cancel_reason, $2)
         WHERE schedule_id = $1 AND state = 'running'
           AND (available_at > clock_timestamp() OR $2 = 'deleted')
           AND version IS DISTINCT FROM $3
     RETURNING schedule_id, triggered_by, attempt
    ), asked AS MATERIALIZED (
        SELECT pg_notify('rota_recall', schedule_id::text)
          FROM (SELECT DISTINCT schedule_id FROM held) AS h
    )
    SELECT (SELECT count(*) FROM held WHERE triggered_by = 'schedule' AND attempt = 1),
           (SELECT count(*) FROM asked)
"""

_FIRED: LiteralString = "SELECT fired FROM schedules WHERE id = $1"

_KEEP_FIRED: LiteralString = "UPDATE schedules SET fired = $2 WHERE id = $1"

# Whoever holds one is told to end it, begun or not. What is left to its target (held by the nil
# UUID, `queue.states.NOBODY`) has its time cut to now: the next look for what is overdue ends it.
_CANCEL: LiteralString = """
    UPDATE queue
       SET cancel_reason = coalesce(cancel_reason, $2),
           claimed_until = CASE WHEN worker = '00000000-0000-0000-0000-000000000000'
                                THEN clock_timestamp() ELSE claimed_until END
     WHERE schedule_id = $1 AND state = 'running'
 RETURNING pg_notify('rota_cancel', id::text)
"""

_RECORD: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, catch_up, started_at, finished_at)
    SELECT x.id, $1, $2, x.version, x.scheduled_for, $3, $4, x.attempt, x.triggered_by, x.catch_up,
           CASE WHEN x.attempt > 0 THEN
                (SELECT min(a.started_at) FROM attempts a
                  WHERE a.firing_id = x.id AND a.scheduled_for = x.scheduled_for) END,
           clock_timestamp()
      FROM unnest($5::uuid[], $6::integer[], $7::timestamptz[], $8::smallint[], $9::text[],
                  $10::boolean[])
           AS x(id, version, scheduled_for, attempt, triggered_by, catch_up)
        ON CONFLICT DO NOTHING
"""

_RECORD_PASSED: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                         slot_count, status, reason, triggered_by, finished_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'skipped', $8, 'schedule', clock_timestamp())
        ON CONFLICT DO NOTHING
"""

# A manual run is rare, so it may wake the workers; a scheduled one never does.
_ENQUEUE: LiteralString = """
    WITH entered AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                           priority, state, triggered_by, lane, host, payload)
        VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11)
        RETURNING lane
    )
    SELECT pg_notify('rota_queue', lane) FROM entered
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """A row to be."""

    id: UUID
    key: str
    status: Status
    shard: int
    definition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A firing that was in the queue and that no worker had."""

    id: UUID
    version: int
    scheduled_for: datetime
    attempt: int
    triggered_by: str
    catch_up: bool


async def now(tx: Tx) -> datetime:
    """The database's clock."""
    return await tx.fetch_value(_NOW)


async def insert(
    tx: Tx, tenant_id: UUID, schedules: Sequence[NewSchedule], *, anchor_at: datetime, at: datetime
) -> set[UUID]:
    """Store those whose key is free, and return their ids."""
    rows = await tx.fetch(
        _INSERT,
        tenant_id,
        anchor_at,
        at,
        [each.id for each in schedules],
        [each.key for each in schedules],
        [each.status for each in schedules],
        [each.shard for each in schedules],
        [each.definition for each in schedules],
    )
    return {row["id"] for row in rows}


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
    return None if row is None else of_row(row)


async def update(tx: Tx, schedule: Schedule) -> None:
    await tx.execute(
        _UPDATE,
        schedule.id,
        schedule.status,
        definitions.encode(schedule.definition),
        schedule.version,
        schedule.anchor_at,
        schedule.updated_at,
    )


async def set_status(
    tx: Tx, schedule_id: UUID, status: Status, *, at: datetime, reason: str | None = None
) -> None:
    await tx.execute(_SET_STATUS, schedule_id, status, at, reason)


async def delete(tx: Tx, schedule_id: UUID) -> None:
    await tx.execute(_DELETE, schedule_id)


async def lock_live(tx: Tx, schedule_id: UUID) -> list[str]:
    """The states of its firings in the queue, which stay so until the transaction ends.

    To be called with the schedule and its timer locked, and before what follows is asked.
    """
    return [row["state"] for row in await tx.fetch(_LOCK_LIVE, schedule_id)]


async def prepared(tx: Tx, schedule_id: UUID, *, after: datetime) -> list[datetime]:
    """The slots after the instant that wait in the queue, or that a worker holds ahead of time."""
    rows = await tx.fetch(_PREPARED, schedule_id, after)
    return [row["scheduled_for"] for row in rows]


async def carry_over(
    tx: Tx, schedule: Schedule, slots: Sequence[datetime], *, spread: timedelta
) -> None:
    """Make the firings of these slots firings of the schedule as it is now."""
    definition = schedule.definition
    await tx.fetch(
        _CARRY_OVER,
        schedule.id,
        list(slots),
        schedule.version,
        definition.priority,
        definition.lane,
        definition.host,
        spread,
    )


async def known_slots(tx: Tx, schedule_id: UUID, *, after: datetime) -> set[datetime]:
    """The slots after the instant that are in the queue or have their outcome already."""
    rows = await tx.fetch(_KNOWN_SLOTS, schedule_id, after)
    return {row["scheduled_for"] for row in rows}


async def take(tx: Tx, schedule_id: UUID, *, but: int | None = None) -> list[Taken]:
    """Take the firings that no worker has out of the queue, but for those of this version."""
    rows = await tx.fetch(_TAKE, schedule_id, but)
    return [Taken(**dict(row.items())) for row in rows]


async def recall(tx: Tx, schedule_id: UUID, reason: str, *, but: int | None = None) -> int:
    """Ask for those back that a worker has and has not begun, but for those of this version.

    How many slots of the schedule's own that is.
    """
    count: int = await tx.fetch_value(_RECALL, schedule_id, reason, but)
    return count


async def fired(tx: Tx, schedule_id: UUID) -> int:
    """How many firings it had had when it was completed."""
    count: int | None = await tx.fetch_value(_FIRED, schedule_id)
    return count or 0


async def keep_fired(tx: Tx, schedule_id: UUID, count: int) -> None:
    """Remember how many firings it has had, now that it has no timer to count them."""
    await tx.execute(_KEEP_FIRED, schedule_id, count)


async def cancel(tx: Tx, schedule_id: UUID, reason: str) -> None:
    """Ask for an end of those that a worker has."""
    await tx.fetch(_CANCEL, schedule_id, reason)


async def record(
    tx: Tx, schedule: Schedule, taken: Sequence[Taken], *, status: str, reason: str
) -> None:
    """Write down what became of firings."""
    if not taken:
        return
    await tx.execute(
        _RECORD,
        schedule.id,
        schedule.tenant_id,
        status,
        reason,
        [each.id for each in taken],
        [each.version for each in taken],
        [each.scheduled_for for each in taken],
        [each.attempt for each in taken],
        [each.triggered_by for each in taken],
        [each.catch_up for each in taken],
    )


async def record_passed(tx: Tx, schedule: Schedule, passed: Passed, *, reason: str) -> None:
    """Write down, as one row, slots that passed and were not to fire."""
    several = passed.count > 1
    await tx.execute(
        _RECORD_PASSED,
        ids.firing_id(schedule.id, passed.first),
        schedule.id,
        schedule.tenant_id,
        schedule.version,
        passed.first,
        passed.last if several else None,
        passed.count,
        reason,
    )


async def enqueue(
    tx: Tx,
    schedule: Schedule,
    *,
    id_: UUID,
    at: datetime,
    state: str,
    triggered_by: str,
    payload: str | None,
) -> None:
    """Put a run that somebody asked for into the queue."""
    definition = schedule.definition
    await tx.fetch(
        _ENQUEUE,
        id_,
        schedule.id,
        schedule.tenant_id,
        schedule.version,
        at,
        definition.priority,
        state,
        triggered_by,
        definition.lane,
        definition.host,
        payload,
    )


def of_row(row: Row) -> Schedule:
    """The schedule that a row of `schedules` is; its definition must have been read as text."""
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
    )
