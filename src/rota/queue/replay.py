"""Firings that are to be repeated."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, LiteralString

from rota.db import locks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EVER = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A firing that has ended."""

    id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: str
    slot_count: int
    payload: str | None
    """What was given in place of the schedule's payload."""
    triggered_by: str


_ORIGIN: LiteralString = """
    SELECT f.id, f.schedule_id, f.scheduled_for, f.status, f.slot_count, f.payload,
           f.triggered_by
      FROM firings f
"""

_ORIGINS: LiteralString = (
    _ORIGIN
    + """
     WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) AND f.scheduled_for BETWEEN $3 AND $4
"""
)


async def origins(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Origin]:
    """The tenant's firings with these ids, as far as they have ended."""
    rows = await tx.fetch(_ORIGINS, tenant_id, list(ids), *_near(ids))
    found = {row["id"]: Origin(**dict(row.items())) for row in rows}
    left = [each for each in ids if each not in found]
    if left:
        # An id need not be from near its firing's slot.
        rows = await tx.fetch(_ORIGINS, tenant_id, left, *_EVER)
        found |= {row["id"]: Origin(**dict(row.items())) for row in rows}
    return found


# Until the transaction ends, as whoever comes second must see what the first has replayed.
_LOCK_DEAD: LiteralString = (
    "SELECT pg_advisory_xact_lock(" + locks.DEAD_LETTERS + ", hashtext($1::uuid::text))"
)

# The oldest first, as they would have run. What has a replay already is not taken again: if that
# failed too, it is a dead letter itself. What has no schedule any more has nothing to send.
_DEAD: LiteralString = (
    _ORIGIN
    + """
      JOIN schedules s ON s.id = f.schedule_id
     WHERE f.tenant_id = $1 AND f.status = 'dead'
       AND ($2::uuid IS NULL OR f.schedule_id = $2)
       AND ($3::timestamptz IS NULL OR f.scheduled_for >= $3)
       AND ($4::timestamptz IS NULL OR f.scheduled_for < $4)
       AND NOT EXISTS (SELECT FROM queue r WHERE r.replay_of = f.id AND r.replay_of IS NOT NULL)
       AND NOT EXISTS (SELECT FROM firings r WHERE r.replay_of = f.id AND r.replay_of IS NOT NULL)
     ORDER BY f.scheduled_for, f.id
     LIMIT $5
"""
)


async def dead(
    tx: Tx,
    tenant_id: UUID,
    *,
    schedule_id: UUID | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
) -> list[Origin]:
    """The tenant's oldest dead letters of these slots that have no replay yet.

    Nobody else gets them until the transaction ends: asked for twice, they are replayed once.
    """
    await tx.fetch(_LOCK_DEAD, tenant_id)
    rows = await tx.fetch(_DEAD, tenant_id, schedule_id, since, until, limit)
    return [Origin(**dict(row.items())) for row in rows]


_REPLAYED: LiteralString = """
    SELECT replay_of FROM queue WHERE replay_of = ANY ($1::uuid[]) AND replay_of IS NOT NULL
     UNION
    SELECT replay_of FROM firings WHERE replay_of = ANY ($1::uuid[]) AND replay_of IS NOT NULL
"""


async def replayed(tx: Tx, ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these that have been repeated already, live or ended."""
    rows = await tx.fetch(_REPLAYED, list(ids))
    return frozenset(row["replay_of"] for row in rows)


def _near(ids: Sequence[UUID]) -> tuple[datetime, datetime]:
    """Around the instants in the ids, which name the partitions to look in."""
    millis = [int.from_bytes(each.bytes[:6], "big") for each in ids]
    try:
        first, last = (_EPOCH + timedelta(milliseconds=f(millis)) for f in (min, max))
        return first - _DAY, last + _DAY
    except (OverflowError, ValueError):
        return _EVER
