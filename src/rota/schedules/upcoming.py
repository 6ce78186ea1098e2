"""What a tenant's schedules will do next, as far as their timers tell: each knows its next slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx

FEW: Final = 2_000
"""Schedules whose timers can be looked at one by one."""

# Few schedules: each by its own timer. Many: along the index of what is due, where they are soon
# met. A scheduler works ahead, so the very next slots are in the queue already.
_OF_FEW: LiteralString = """
    SELECT s.id, s.name, t.due_at, s.definition ->> 'timezone' AS timezone
      FROM schedules s
     CROSS JOIN LATERAL (
           SELECT due_at FROM timers
            WHERE schedule_id = s.id AND due_at < now() + $2::interval OFFSET 0) AS t
     WHERE s.tenant_id = $1 AND s.status = 'active'
     ORDER BY t.due_at, s.id
     LIMIT $3
"""

# Of each shard the first few: schedules are spread evenly, so the first of all are among them. In a
# shard with more than its few, what is later than the last of these may not be all there is. Whose
# a timer is costs a look at its schedule, so they are few whatever the hour brings.
_OF_MANY: LiteralString = """
    WITH firsts AS MATERIALIZED (
        SELECT l.shard, t.schedule_id, t.due_at
          FROM leases l
         CROSS JOIN LATERAL (
               SELECT t.schedule_id, t.due_at
                 FROM timers t
                WHERE t.shard = l.shard AND t.due_at > now() - interval '1 minute'
                  AND t.due_at < now() + $2::interval
                ORDER BY t.due_at
                LIMIT $4) AS t
    ), horizon AS MATERIALIZED (
        SELECT coalesce(min(full_.last), 'infinity') AS at
          FROM (SELECT max(due_at) AS last FROM firsts
                 GROUP BY shard HAVING count(*) >= $4) AS full_)
    SELECT s.id, s.name, t.due_at, s.timezone, (SELECT at = 'infinity' FROM horizon) AS are_all
      FROM (SELECT schedule_id, due_at FROM firsts
             WHERE due_at <= (SELECT at FROM horizon)
             ORDER BY due_at, schedule_id) AS t
     CROSS JOIN LATERAL (
           SELECT id, name, definition ->> 'timezone' AS timezone
             FROM schedules
            WHERE id = t.schedule_id AND tenant_id = $1 OFFSET 0) AS s
     ORDER BY t.due_at, t.schedule_id
     LIMIT $3
"""
_SHARE: Final = 32
"""Of a shard, this part of what is wanted of all: twice what a shard has of them if all have as
many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upcoming:
    """A schedule's next slot."""

    id: UUID
    name: str
    due_at: datetime
    timezone: str


async def upcoming(
    tx: Tx, tenant_id: UUID, within: timedelta, *, active: int, limit: int
) -> list[Upcoming]:
    """The next slot of each schedule that has one within this time, the soonest first.

    `active` is about how many schedules the tenant has: it decides how they are looked for.
    """
    if active < FEW:
        rows = await tx.fetch(_OF_FEW, tenant_id, within, limit)
    else:
        rows = await _of_many(tx, tenant_id, within, limit)
    return [
        Upcoming(
            id=row["id"],
            name=row["name"],
            due_at=row["due_at"],
            timezone=row["timezone"] or "UTC",
        )
        for row in rows
    ]


async def _of_many(tx: Tx, tenant_id: UUID, within: timedelta, limit: int) -> list[Row]:
    # The server takes nearly all timers for somebody else's, and would rather sort a whole hour.
    await tx.execute("SET LOCAL enable_bitmapscan = off")
    few = max(1, limit // _SHARE)
    while True:
        rows = await tx.fetch(_OF_MANY, tenant_id, within, limit, few)
        if not rows or rows[0]["are_all"] or len(rows) >= limit:
            break
        few *= 4
    await tx.execute("SET LOCAL enable_bitmapscan = on")
    return rows
