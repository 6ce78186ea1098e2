"""Reversion: live firings become firings of another version of their schedule.

What is in the queue carries what it needs of its schedule: version, priority, lane, host. A change
that leaves its slots as they are rewrites that. A worker that holds one ahead of its instant hears
of it and gives it back; claimed again, it is of the new version.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.db import locks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a row of the queue has of its schedule."""

    version: int
    priority: int
    lane: str
    host: str | None


# In the order of `db.locks`.
_LOCK_LIVE: LiteralString = """
    SELECT id, schedule_id, version, scheduled_for, state, triggered_by, attempt, available_at,
           lane, saga::text AS saga
      FROM queue
     WHERE schedule_id = ANY ($1::uuid[])
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""


async def lock_live(tx: Tx, schedule_ids: Sequence[UUID]) -> list[Row]:
    """The live firings of these schedules, locked until the transaction ends."""
    return await tx.fetch(_LOCK_LIVE, list(schedule_ids))


# Queued ahead by the schedule itself, and not begun as far as the queue tells.
_SLOTS_AHEAD: LiteralString = """
    SELECT scheduled_for FROM queue
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
       AND attempt <= CASE state WHEN 'running' THEN 1 ELSE 0 END AND cancel_reason IS NULL
"""


async def slots_ahead(tx: Tx, schedule_id: UUID, *, after: datetime) -> list[datetime]:
    """The slots after the instant that wait in the queue, or that a worker holds ahead of time."""
    rows = await tx.fetch(_SLOTS_AHEAD, schedule_id, after)
    return [row["scheduled_for"] for row in rows]


_REVERSION_SLOTS: LiteralString = """
    WITH changed AS (
        UPDATE queue
           SET version = $3, priority = $4, lane = $5, host = $6,
               available_at = scheduled_for + $7::interval, began_at = NULL
         WHERE schedule_id = $1 AND scheduled_for = ANY ($2::timestamptz[])
           AND triggered_by = 'schedule' AND saga IS NULL
     RETURNING schedule_id, state
    )
    """ + locks.notify_each(locks.RECALL, "schedule_id", "changed WHERE state = 'running'")


async def reversion_slots(
    tx: Tx, schedule_id: UUID, slots: Sequence[datetime], terms: Terms, *, jitter: timedelta
) -> None:
    """Make the firings of these slots ones of the schedule as edited."""
    await tx.fetch(
        _REVERSION_SLOTS,
        schedule_id,
        list(slots),
        terms.version,
        terms.priority,
        terms.lane,
        terms.host,
        jitter,
    )


# Of a schedule that fires on request only: what waits was asked for, and an edit does not withdraw
# it. What was tried already is tried again as edited only where that sends the same ($8): another
# request under the same idempotency key would be taken for the one before.
_REVERSION_REQUESTED: LiteralString = """
    WITH changed AS (
        UPDATE queue
           SET version = $2,
               priority = CASE WHEN priority = $3 THEN $4 ELSE priority END,
               lane = CASE WHEN lane = $5 THEN $6 ELSE lane END,
               host = CASE WHEN lane = $5 THEN $7 ELSE host END
         WHERE schedule_id = $1 AND triggered_by <> 'schedule' AND cancel_reason IS NULL
           AND saga IS NULL
           AND ($8 OR attempt = 0
                OR state = 'running' AND attempt = 1 AND available_at > clock_timestamp())
     RETURNING schedule_id, state
    )
    """ + locks.notify_each(locks.RECALL, "schedule_id", "changed WHERE state = 'running'")


async def reversion_requested(
    tx: Tx, schedule_id: UUID, *, before: Terms, after: Terms, sends_the_same: bool
) -> None:
    """Make the runs that were asked for, and wait, ones of the schedule as edited."""
    await tx.fetch(
        _REVERSION_REQUESTED,
        schedule_id,
        after.version,
        before.priority,
        after.priority,
        before.lane,
        after.lane,
        after.host,
        sends_the_same,
    )


_SET_VERSION: LiteralString = """
    UPDATE queue q
       SET version = x.version
      FROM unnest($1::uuid[], $2::integer[]) AS x(schedule_id, version)
     WHERE q.schedule_id = x.schedule_id
"""


async def set_version(tx: Tx, versions: Mapping[UUID, int]) -> None:
    """Give all live firings of these schedules a version that changes nothing about them."""
    if versions:
        await tx.execute(_SET_VERSION, list(versions), list(versions.values()))


# All that waits, and what runs, for its next attempt; what is sent stays the same.
_MOVE: LiteralString = (
    """
    WITH moved AS (
        UPDATE queue q
           SET lane = x.lane, version = x.version, saga = coalesce(x.saga::jsonb, q.saga)
          FROM unnest($1::uuid[], $2::text[], $3::integer[], $4::text[])
               AS x(id, lane, version, saga)
         WHERE q.id = x.id
     RETURNING q.schedule_id, q.lane, q.state
    )
    """
    + locks.notify_each(locks.QUEUE, "lane", "moved")
    + """
     UNION ALL
    """
    + locks.notify_each(locks.RECALL, "schedule_id", "moved WHERE state = 'running'")
)

Move = tuple["UUID", str, int, str | None]
"""Of a live firing: its id, and its lane, version and state of its steps from now on."""


async def move(tx: Tx, moves: Sequence[Move]) -> None:
    """Move these live firings to other lanes."""
    if moves:
        await tx.fetch(_MOVE, *map(list, zip(*moves, strict=True)))
