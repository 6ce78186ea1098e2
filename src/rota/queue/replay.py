"""Firings that are to be repeated, and the new ones that repeat them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from rota.queue import replay_sql

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A firing to be: new, and naming the one it repeats."""

    id: UUID
    replay_of: UUID
    schedule_id: UUID
    tenant_id: UUID
    version: int
    scheduled_for: datetime
    status: Literal["waiting", "blocked", "skipped"]
    reason: str | None
    priority: int
    lane: str
    host: str | None
    payload: str | None
    triggered_by: str


async def origins(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Origin]:
    """The tenant's firings with these ids, as far as they have ended."""
    rows = await tx.fetch(replay_sql.ORIGINS, tenant_id, list(ids), *_near(ids))
    found = {row["id"]: Origin(**dict(row.items())) for row in rows}
    left = [each for each in ids if each not in found]
    if left:
        # An id need not be from near its firing's slot.
        rows = await tx.fetch(replay_sql.ORIGINS, tenant_id, left, *_EVER)
        found |= {row["id"]: Origin(**dict(row.items())) for row in rows}
    return found


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
    await tx.fetch(replay_sql.LOCK_DEAD, tenant_id)
    rows = await tx.fetch(replay_sql.DEAD, tenant_id, schedule_id, since, until, limit)
    return [Origin(**dict(row.items())) for row in rows]


async def replayed(tx: Tx, ids: Sequence[UUID]) -> frozenset[UUID]:
    """Those of these that have been repeated already, live or ended."""
    rows = await tx.fetch(replay_sql.REPLAYED, list(ids))
    return frozenset(row["replay_of"] for row in rows)


async def enter(tx: Tx, replays: Sequence[Replay]) -> None:
    """Put them into the queue, or into history where they are skipped, and wake the workers."""
    await tx.fetch(
        replay_sql.ENTER,
        [each.id for each in replays],
        [each.schedule_id for each in replays],
        [each.tenant_id for each in replays],
        [each.version for each in replays],
        [each.scheduled_for for each in replays],
        [each.priority for each in replays],
        [each.status for each in replays],
        [each.lane for each in replays],
        [each.host for each in replays],
        [each.payload for each in replays],
        [each.replay_of for each in replays],
        [each.reason for each in replays],
        [each.triggered_by for each in replays],
    )


def _near(ids: Sequence[UUID]) -> tuple[datetime, datetime]:
    """Around the instants in the ids, which name the partitions to look in."""
    millis = [int.from_bytes(each.bytes[:6], "big") for each in ids]
    try:
        first, last = (_EPOCH + timedelta(milliseconds=f(millis)) for f in (min, max))
        return first - _DAY, last + _DAY
    except (OverflowError, ValueError):
        return _EVER
