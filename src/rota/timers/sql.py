"""The statements on timers outside the firing transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.timers.timer import Timer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.timers.timer import Armed

# What is due soon wakes the holder of its shard, which may be asleep until something later: once a
# shard, however many timers there are. `touched` moves so that a pass which has read the timer as
# it was cannot advance it, even where slot and version are the same again.
_ARM: LiteralString = """
    WITH armed AS (
        INSERT INTO timers AS t (schedule_id, shard, scheduled_for, due_at, version, fired)
        SELECT x.schedule_id, x.shard, x.scheduled_for,
               CASE WHEN x.parked THEN 'infinity' ELSE x.due_at END, x.version, x.fired
          FROM unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::timestamptz[],
                      $5::integer[], $6::integer[], $7::boolean[])
               AS x(schedule_id, shard, scheduled_for, due_at, version, fired, parked)
        ON CONFLICT (schedule_id) DO UPDATE
           SET scheduled_for = excluded.scheduled_for,
               due_at = excluded.due_at,
               version = excluded.version,
               fired = excluded.fired,
               touched = t.touched + 1
        RETURNING t.shard, t.due_at
    ), soon AS (
        SELECT DISTINCT shard FROM armed WHERE due_at <= clock_timestamp() + $8::interval
    ), woken AS MATERIALIZED (
        SELECT pg_notify('rota_timers', shard::text) FROM soon
    )
    SELECT (SELECT count(*) FROM armed), (SELECT count(*) FROM woken)
"""

_LOCK: LiteralString = """
    SELECT schedule_id, scheduled_for, version, fired
      FROM timers
     WHERE schedule_id = $1
       FOR UPDATE
"""

# In the order of their schedules, as whoever locks many does.
_LOCK_ALL: LiteralString = """
    SELECT schedule_id, scheduled_for, version, fired
      FROM timers
     WHERE schedule_id = ANY ($1::uuid[])
     ORDER BY schedule_id
       FOR UPDATE
"""

_TOUCH: LiteralString = """
    UPDATE timers SET touched = touched + 1 WHERE schedule_id = $1
"""

# Locked in the order of their schedules: two in different orders would wait for each other.
_TOUCH_ALL: LiteralString = """
    WITH held AS MATERIALIZED (
        SELECT schedule_id FROM timers
         WHERE schedule_id = ANY ($1::uuid[]) ORDER BY schedule_id FOR UPDATE
    )
    UPDATE timers SET touched = touched + 1
     WHERE schedule_id = ANY (ARRAY(SELECT held.schedule_id FROM held))
"""

_PARK: LiteralString = """
    UPDATE timers SET due_at = 'infinity', touched = touched + 1 WHERE schedule_id = $1
"""

_UNCOUNT: LiteralString = """
    UPDATE timers SET fired = greatest(fired - $2, 0) WHERE schedule_id = $1
"""

_DISARM: LiteralString = """
    DELETE FROM timers WHERE schedule_id = $1
"""


async def arm(tx: Tx, timers: Sequence[Armed], *, soon: timedelta) -> None:
    await tx.fetch(
        _ARM,
        [timer.schedule_id for timer in timers],
        [timer.shard for timer in timers],
        [timer.scheduled_for for timer in timers],
        [timer.due_at for timer in timers],
        [timer.version for timer in timers],
        [timer.fired for timer in timers],
        [timer.parked for timer in timers],
        soon,
    )


async def lock(tx: Tx, schedule_id: UUID) -> Timer | None:
    row = await tx.fetch_row(_LOCK, schedule_id)
    return None if row is None else _timer(row)


async def lock_all(tx: Tx, schedule_ids: Sequence[UUID]) -> list[Timer]:
    return [_timer(row) for row in await tx.fetch(_LOCK_ALL, list(schedule_ids))]


async def touch(tx: Tx, schedule_id: UUID) -> int:
    return await tx.execute(_TOUCH, schedule_id)


async def touch_all(tx: Tx, schedule_ids: Sequence[UUID]) -> int:
    return await tx.execute(_TOUCH_ALL, list(schedule_ids))


async def park(tx: Tx, schedule_id: UUID) -> int:
    return await tx.execute(_PARK, schedule_id)


async def uncount(tx: Tx, schedule_id: UUID, firings: int) -> None:
    await tx.execute(_UNCOUNT, schedule_id, firings)


async def disarm(tx: Tx, schedule_id: UUID) -> int:
    return await tx.execute(_DISARM, schedule_id)


def _timer(row: Row) -> Timer:
    return Timer(
        schedule_id=row["schedule_id"],
        scheduled_for=row["scheduled_for"],
        version=row["version"],
        fired=row["fired"],
    )
