"""Owns the table `timers`: every statement that writes it, right above the function that runs it.

Each function takes one timer or thousands. `DUE`, `NEXT_DUE`, `ADVANCE` and `END` are parts of the
statements of `firing.fire`.

The column `touched` is the timer's revision. It moves whenever a pass that has read the timer must
not advance it, even where slot and version are the same again.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import locks
from rota.timers.timer import Timer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.timers.timer import Armed

SOON: Final = timedelta(seconds=5)
"""Due within this wakes the holder of the shard; anything later is found by its next poll."""

# The holder of a shard may be asleep until something later is due: one notice a shard, however many
# timers there are.
_ARM: LiteralString = (
    """
    WITH armed AS (
        INSERT INTO timers AS t (schedule_id, shard, scheduled_for, due_at, version, fired)
        SELECT x.schedule_id, x.shard, x.scheduled_for,
               CASE WHEN x.suspended THEN 'infinity' ELSE x.due_at END, x.version, x.fired
          FROM unnest($1::uuid[], $2::smallint[], $3::timestamptz[], $4::timestamptz[],
                      $5::integer[], $6::integer[], $7::boolean[])
               AS x(schedule_id, shard, scheduled_for, due_at, version, fired, suspended)
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
        SELECT """
    + locks.notify(locks.TIMERS, "shard::text")
    + """ FROM soon
    )
    SELECT (SELECT count(*) FROM armed), (SELECT count(*) FROM woken)
"""
)


async def arm(tx: Tx, timers: Sequence[Armed]) -> None:
    """Write these timers, new ones and existing ones.

    Wakes, when the transaction commits, the holder of each shard that has one due soon.
    """
    if not timers:
        return
    await tx.fetch(
        _ARM,
        [timer.schedule_id for timer in timers],
        [timer.shard for timer in timers],
        [timer.scheduled_for for timer in timers],
        [timer.due_at for timer in timers],
        [timer.version for timer in timers],
        [timer.fired for timer in timers],
        [timer.suspended for timer in timers],
        SOON,
    )


# By id: two transactions that lock in different orders would deadlock.
_LOCK: LiteralString = """
    SELECT schedule_id, scheduled_for, version, fired
      FROM timers
     WHERE schedule_id = ANY ($1::uuid[])
     ORDER BY schedule_id
       FOR UPDATE
"""


async def lock(tx: Tx, schedule_ids: Iterable[UUID]) -> dict[UUID, Timer]:
    """Lock the timers of these schedules until the transaction ends; those that have one.

    Every change of a schedule locks its timer first, because firing does (docs/lock-order.md).
    """
    rows = await tx.fetch(_LOCK, list(schedule_ids))
    return {
        row["schedule_id"]: Timer(
            schedule_id=row["schedule_id"],
            scheduled_for=row["scheduled_for"],
            version=row["version"],
            fired=row["fired"],
        )
        for row in rows
    }


# An UPDATE locks rows as it finds them: those of several schedules are locked by id before.
_LOCKED: LiteralString = """
    WITH locked AS MATERIALIZED (
        SELECT schedule_id FROM timers
         WHERE schedule_id = ANY ($1::uuid[]) ORDER BY schedule_id FOR UPDATE
    )
"""
_BUMP: LiteralString = (
    _LOCKED
    + """
    UPDATE timers SET touched = touched + 1
     WHERE schedule_id = ANY (ARRAY(SELECT locked.schedule_id FROM locked))
"""
)


async def bump(tx: Tx, schedule_ids: Iterable[UUID]) -> int:
    """Make every pass that has read these timers read them again. Returns how many there are."""
    return await tx.execute(_BUMP, list(schedule_ids))


_SUSPEND: LiteralString = (
    _LOCKED
    + """
    UPDATE timers SET due_at = 'infinity', touched = touched + 1
     WHERE schedule_id = ANY (ARRAY(SELECT locked.schedule_id FROM locked))
"""
)


async def suspend(tx: Tx, schedule_ids: Iterable[UUID]) -> int:
    """Make these timers due never, until they are armed again. Returns how many there are."""
    return await tx.execute(_SUSPEND, list(schedule_ids))


_UNFIRE: LiteralString = """
    UPDATE timers t
       SET fired = greatest(t.fired - x.firings, 0)
      FROM unnest($1::uuid[], $2::integer[]) AS x(schedule_id, firings)
     WHERE t.schedule_id = x.schedule_id
"""


async def unfire(tx: Tx, firings: Mapping[UUID, int]) -> None:
    """Of each schedule so many firings were withdrawn and do not count towards max_firings.

    To be called with the timers locked.
    """
    counts = {id_: count for id_, count in firings.items() if count}
    if counts:
        await tx.execute(_UNFIRE, list(counts), list(counts.values()))


_REVERSION: LiteralString = """
    UPDATE timers t
       SET version = x.version, touched = t.touched + 1
      FROM unnest($1::uuid[], $2::integer[]) AS x(schedule_id, version)
     WHERE t.schedule_id = x.schedule_id
"""


async def reversion(tx: Tx, versions: Mapping[UUID, int]) -> None:
    """Give the timers a new version of their schedules that leaves the slots as they are.

    To be called with the timers locked.
    """
    if versions:
        await tx.execute(_REVERSION, list(versions), list(versions.values()))


_DISARM: LiteralString = (
    _LOCKED
    + """
    DELETE FROM timers
     WHERE schedule_id = ANY (ARRAY(SELECT locked.schedule_id FROM locked))
"""
)


async def disarm(tx: Tx, schedule_ids: Iterable[UUID]) -> int:
    """Remove the timers of schedules that have no slot any more. Returns how many there were."""
    return await tx.execute(_DISARM, list(schedule_ids))


# One step into the index for each shard.
_LAGS: LiteralString = """
    SELECT l.shard, clock_timestamp() - t.due_at AS lag
      FROM leases l
     CROSS JOIN LATERAL (
           SELECT due_at FROM timers
            WHERE shard = l.shard AND due_at < statement_timestamp()
            ORDER BY due_at
            LIMIT 1) AS t
"""


async def lags(tx: Tx) -> dict[int, timedelta]:
    """How late the oldest overdue timer of each shard is; shards without one are left out.

    Timers are fired ahead of their instant: in a healthy cluster there is none.
    """
    rows = await tx.fetch(_LAGS)
    return {row["shard"]: max(row["lag"], timedelta()) for row in rows}


# Parts of the statements of `firing.fire`.

# Shard by shard, so that each is a walk along the index that stops at its limit; all shards in one
# condition would be read whole and sorted, every time. `low` keeps the walk off the dead entries
# that advanced timers leave at the head of the index. The time is a constant of the statement, so
# that it can bound the walk, and nothing is locked here that could make it old.
DUE: LiteralString = """
        SELECT t.*
          FROM unnest($1::smallint[], $2::timestamptz[]) AS s (shard, low)
         CROSS JOIN LATERAL (
               SELECT schedule_id, shard, scheduled_for, due_at, version, fired, touched
                 FROM timers
                WHERE shard = s.shard AND due_at > s.low
                  AND due_at <= statement_timestamp() + $3::interval
                ORDER BY due_at
                LIMIT $4) AS t
"""
"""The timers of the shards $1 due after the low-water marks $2 and by now + $3, $4 of each."""

NEXT_DUE: LiteralString = """
                    SELECT min(t.due_at)
                      FROM unnest($1::smallint[]) AS s (shard)
                     CROSS JOIN LATERAL (
                           SELECT due_at FROM timers
                            WHERE shard = s.shard AND due_at < 'infinity'
                              AND due_at > statement_timestamp() + $3::interval
                            ORDER BY due_at
                            LIMIT 1) AS t
"""
"""When the next timer of the shards $1 is due after now + $3."""

_UNCHANGED: LiteralString = """
              AND t.scheduled_for = x.expected AND t.version = x.version
              AND t.touched = x.revision
"""

ADVANCE: LiteralString = (
    """
           UPDATE timers t
              SET scheduled_for = x.next_for, due_at = x.next_due, fired = t.fired + x.firings
             FROM x
            WHERE t.schedule_id = x.schedule_id AND x.next_for IS NOT NULL
"""
    + _UNCHANGED
)
"""Moves the timers of `x` that have a next slot, if they are as they were read."""

END: LiteralString = (
    """
           DELETE FROM timers t
            USING x
            WHERE t.schedule_id = x.schedule_id AND x.next_for IS NULL
"""
    + _UNCHANGED
)
"""Removes the timers of `x` that have no next slot, if they are as they were read."""
