"""What a tenant's schedules will do next, as far as their timers tell: each knows its next slot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx

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

# Sorted first and looked up after: with many of this tenant's among them, few are looked up.
_OF_MANY: LiteralString = """
    SELECT s.id, s.name, t.due_at, s.timezone
      FROM (SELECT t.schedule_id, t.due_at
              FROM leases l
             CROSS JOIN LATERAL (
                   SELECT t.schedule_id, t.due_at
                     FROM timers t
                    WHERE t.shard = l.shard AND t.due_at > now() - interval '1 minute'
                      AND t.due_at < now() + $2::interval
                    ORDER BY t.due_at
                    LIMIT $3) AS t
             ORDER BY t.due_at, t.schedule_id) AS t
     CROSS JOIN LATERAL (
           SELECT id, name, definition ->> 'timezone' AS timezone
             FROM schedules
            WHERE id = t.schedule_id AND tenant_id = $1 OFFSET 0) AS s
     ORDER BY t.due_at, t.schedule_id
     LIMIT $3
"""
_STEPS: Final = (60, 10, 1)
"""Of many, a sixtieth of the time is looked at first, then a tenth: where there is enough, a
million timers of the hour need not be sorted for the first two thousand."""


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
    rows = []
    if active < FEW:
        rows = await tx.fetch(_OF_FEW, tenant_id, within, limit)
    else:
        for step in _STEPS:
            rows = await tx.fetch(_OF_MANY, tenant_id, within / step, limit)
            if len(rows) >= limit:
                break
    return [
        Upcoming(
            id=row["id"],
            name=row["name"],
            due_at=row["due_at"],
            timezone=row["timezone"] or "UTC",
        )
        for row in rows
    ]
