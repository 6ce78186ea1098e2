"""Reading schedules for their owners: one, or a page of those that fit a filter.

Everything is read for one tenant; a schedule of another looks like none at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.schedules import sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.schedules.schedule import Schedule

# A slot that is prepared but not started yet is still to come: the scheduler works ahead of time.
# What was skipped or missed has not fired, so it is not the last firing.
_LIST: LiteralString = """
    WITH page AS (
        SELECT s.*
          FROM schedules s
         WHERE s.tenant_id = $1
           AND ($2::uuid[] IS NULL OR s.id = ANY($2))
           AND ($3::text IS NULL OR s.status = $3)
           AND ($4::boolean IS NULL OR (s.status <> 'paused') = $4)
           AND ($5::text IS NULL OR s.job_type = $5)
           AND ($6::text IS NULL OR $6 = ANY(s.tags))
           AND ($7::text IS NULL OR s.key = $7)
           AND ($8::text IS NULL OR s.name = $8)
           AND ($9::text IS NULL
                OR concat_ws(' ', s.name, s.key, s.definition ->> 'description',
                             s.definition ->> 'target_url', s.job_type,
                             s.definition ->> 'stream', s.definition ->> 'celery_task') ILIKE $9)
           AND ($10::uuid IS NULL OR s.id < $10)
         ORDER BY s.id DESC
         LIMIT $11
    )
    SELECT s.id, s.tenant_id, s.key, s.name, s.status, s.version, s.shard, s.anchor_at,
           s.definition::text AS definition, s.created_at, s.updated_at, s.status_reason,
           CASE WHEN s.status = 'paused' THEN s.paused_until END AS paused_until,
           least(ahead.scheduled_for, CASE WHEN s.status = 'active' THEN t.scheduled_for END)
               AS next_fire_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.scheduled_for ELSE ended.scheduled_for END AS last_fire_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.state ELSE ended.status END AS last_status
      FROM page s
      LEFT JOIN timers t ON t.schedule_id = s.id
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for FROM queue q
            WHERE q.schedule_id = s.id AND q.scheduled_for > now()
            ORDER BY q.scheduled_for LIMIT 1) ahead ON true
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for, q.state FROM queue q
            WHERE q.schedule_id = s.id AND q.attempt > 0 AND q.scheduled_for <= now()
            ORDER BY q.scheduled_for DESC LIMIT 1) live ON true
      LEFT JOIN LATERAL (
           SELECT f.scheduled_for, f.status FROM firings f
            WHERE f.schedule_id = s.id AND f.status IN ('succeeded', 'dead', 'cancelled')
            ORDER BY f.scheduled_for DESC LIMIT 1) ended ON true
     ORDER BY s.id DESC
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A schedule, and where it stands."""

    schedule: Schedule
    next_fire_at: datetime | None
    last_fire_at: datetime | None
    last_status: str | None
    status_reason: str | None = None
    """Why Rota paused it by itself, or somebody paused it with others; None when neither."""
    paused_until: datetime | None = None
    """When it is resumed without being asked; None for never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which schedules are asked for; None asks for all."""

    status: str | None = None
    enabled: bool | None = None
    job_type: str | None = None
    tag: str | None = None
    key: str | None = None
    name: str | None = None
    q: str | None = None


async def page(
    tx: Tx, tenant_id: UUID, wanted: Filter, *, after: UUID | None, limit: int
) -> list[Standing]:
    """The newest schedules that fit, from the one after `after` on."""
    rows = await _read(tx, tenant_id, wanted, after=after, limit=limit)
    return [_standing(row) for row in rows]


async def find(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Standing | None:
    """One schedule; None when the tenant has none of this id."""
    found = await several(tx, tenant_id, [schedule_id])
    return found[0] if found else None


async def several(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> list[Standing]:
    """These schedules, as far as the tenant has them, the newest first."""
    rows = await _read(tx, tenant_id, Filter(), ids=list(ids), limit=len(ids))
    return [_standing(row) for row in rows]


async def _read(
    tx: Tx,
    tenant_id: UUID,
    wanted: Filter,
    *,
    ids: list[UUID] | None = None,
    after: UUID | None = None,
    limit: int,
) -> list[Row]:
    return await tx.fetch(
        _LIST,
        tenant_id,
        ids,
        wanted.status,
        wanted.enabled,
        wanted.job_type,
        wanted.tag,
        wanted.key,
        wanted.name,
        _containing(wanted.q),
        after,
        limit,
    )


def _containing(text: str | None) -> str | None:
    """A pattern for LIKE in which nothing but the ends is special."""
    if text is None:
        return None
    plain = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"


def _standing(row: Row) -> Standing:
    return Standing(
        schedule=sql.of_row(row),
        next_fire_at=row["next_fire_at"],
        last_fire_at=row["last_fire_at"],
        last_status=row["last_status"],
        status_reason=row["status_reason"],
        paused_until=row["paused_until"],
    )
