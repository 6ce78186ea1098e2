"""The latest outcomes of some schedules, in one look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx

LATEST = 20

# For each schedule a short run of its own index; the newest day's partition is read first.
_STRIPS: LiteralString = """
    SELECT f.schedule_id, f.id, f.scheduled_for, f.status, f.reason
      FROM unnest($1::uuid[]) AS s(id)
     CROSS JOIN LATERAL (
           SELECT f.schedule_id, f.id, f.scheduled_for, f.status, f.reason
             FROM firings f
            WHERE f.schedule_id = s.id
            ORDER BY f.scheduled_for DESC
            LIMIT $2) AS f
     ORDER BY f.schedule_id, f.scheduled_for
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a slot."""

    id: UUID
    scheduled_for: datetime
    status: str
    reason: str | None


async def strips(
    tx: Tx, schedule_ids: Sequence[UUID], *, latest: int = LATEST
) -> dict[UUID, list[Outcome]]:
    """The latest outcomes of each schedule, the oldest first; those without any are left out."""
    found: dict[UUID, list[Outcome]] = {}
    for row in await tx.fetch(_STRIPS, list(schedule_ids), latest):
        found.setdefault(row["schedule_id"], []).append(
            Outcome(
                id=row["id"],
                scheduled_for=row["scheduled_for"],
                status=row["status"],
                reason=row["reason"],
            )
        )
    return found
