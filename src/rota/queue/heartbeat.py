"""Keeping claims: extend them, give them back, postpone them, and store their progress."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.queue.claim_guard import CLAIM_GUARD

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim


@dataclass(frozen=True, slots=True)
class Extended:
    """The answer to a heartbeat."""

    lost: frozenset[UUID]
    """No longer the worker's: rescued, cancelled or ended. Whatever it does with them is void."""
    cancelled: Mapping[UUID, str]
    """Still the worker's, but to be ended, for this reason."""
    edited: frozenset[UUID] = frozenset()
    """Still the worker's, but to be given back unless they have begun: their schedule has another
    version than when they were claimed, or their timer wants them back (`schedules.prepared`)."""


# Of the claims $2, each with its attempt $3: those that the worker still holds, locked.
_HELD: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT * FROM unnest($2::uuid[], $3::smallint[]) AS x(id, attempt) ORDER BY id
    ), held AS MATERIALIZED (
        SELECT h.id
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE """
    + CLAIM_GUARD
    + """                  FOR UPDATE) AS h
    )
"""
)

EXTEND: LiteralString = (
    _HELD
    + """
    UPDATE queue q
       SET claimed_until = greatest(q.available_at, clock_timestamp()) + $4::interval
     WHERE q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id, q.cancel_reason, q.version, q.recalled
"""
)


async def extend(
    tx: Tx, worker: UUID, claims: Collection[Claim], visibility: timedelta
) -> Extended:
    """Keep the worker's claims for another `visibility`, all in one statement."""
    ids, attempts = [c.id for c in claims], [c.attempt for c in claims]
    rows = await tx.fetch(EXTEND, worker, ids, attempts, visibility)
    kept: dict[UUID, str | None] = {row["id"]: row["cancel_reason"] for row in rows}
    versions = {row["id"]: row["version"] for row in rows}
    recalled = {row["id"] for row in rows if row["recalled"]}
    return Extended(
        lost=frozenset(id_ for id_ in ids if id_ not in kept),
        cancelled={id_: reason for id_, reason in kept.items() if reason is not None},
        edited=frozenset(
            c.id
            for c in claims
            if versions.get(c.id, c.version) != c.version or (c.id in recalled and c.attempt == 1)
        ),
    )


# The attempt number goes back too: these claims have not been tried, and their holder lets go.
_GIVE_BACK: LiteralString = """
    UPDATE queue q
       SET state = CASE WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END,
           attempt = q.attempt - 1,
           -- One that was postponed has had its first instant.
           began_at = CASE WHEN q.attempt > 1 OR q.began_at < q.available_at THEN q.began_at END,
           worker = NULL,
           claimed_until = NULL
     WHERE q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id
"""

_RELEASE: LiteralString = _HELD + _GIVE_BACK


async def release(tx: Tx, worker: UUID, claims: Collection[Claim]) -> int:
    """Give back claims that were not begun, as if never claimed. Returns the count."""
    ids, attempts = [c.id for c in claims], [c.attempt for c in claims]
    return len(await tx.fetch(_RELEASE, worker, ids, attempts))


_RELEASE_STRAYS: LiteralString = (
    """
    WITH held AS MATERIALIZED (
        SELECT q.id
          FROM queue q
         WHERE q.state = 'running' AND q.worker = $1 AND q.id <> ALL ($2::uuid[])
         ORDER BY q.id
           FOR UPDATE
    )
"""
    + _GIVE_BACK
)


async def release_strays(tx: Tx, worker: UUID, *, known: Collection[UUID]) -> int:
    """Give back the worker's claims except those of the firings it knows of. Returns the count.

    For a worker whose claim was committed and whose reply was lost.
    """
    return len(await tx.fetch(_RELEASE_STRAYS, worker, list(known)))


# Like a release, but until later. What is to be ended comes back at once, to be ended. `was` is the
# instant that was claimed: a postponement whose reply was lost is tried again, and by then its
# worker may have claimed the row again, with the same attempt number, and begun it.
_POSTPONE: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[])
               AS x(id, attempt, until, was)
         ORDER BY id
    ), held AS MATERIALIZED (
        SELECT h.id, x.until
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE """
    + CLAIM_GUARD
    + """
                  AND q.available_at = x.was
                  FOR UPDATE) AS h
    )
    UPDATE queue q
       SET state = CASE WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END,
           attempt = q.attempt - 1,
           worker = NULL,
           claimed_until = NULL,
           available_at = CASE WHEN q.cancel_reason IS NULL
                               THEN greatest(q.available_at, h.until)
                               ELSE q.available_at END
      FROM held h
     WHERE q.id = h.id AND q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id
"""
)


async def postpone(
    tx: Tx, worker: UUID, claims: Sequence[tuple[Claim, datetime]]
) -> frozenset[UUID]:
    """Give back claims whose host cannot take them now, each until its instant. Returns their ids.

    Uses no attempt: nothing was tried.
    """
    rows = await tx.fetch(
        _POSTPONE,
        worker,
        [claim.id for claim, _ in claims],
        [claim.attempt for claim, _ in claims],
        [until for _, until in claims],
        [claim.available_at for claim, _ in claims],
    )
    return frozenset(row["id"] for row in rows)


# Never waits for a row: whoever has locked it is about to extend or end it, and progress is stored
# again soon.
_PROGRESS: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::real[], $5::text[])
               AS x(id, attempt, progress, note)
    ), held AS MATERIALIZED (
        SELECT h.id, x.progress, x.note
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE """
    + CLAIM_GUARD
    + """                  FOR UPDATE SKIP LOCKED) AS h
    )
    UPDATE queue q
       SET progress = coalesce(h.progress, q.progress),
           progress_note = coalesce(h.note, q.progress_note)
      FROM held h
     WHERE q.id = h.id AND q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id
"""
)

Progress = tuple["UUID", int, float | None, str | None]
"""Firing, attempt, a fraction from 0 to 1, a note."""


async def record_progress(tx: Tx, worker: UUID, progress: Sequence[Progress]) -> set[UUID]:
    """Store the progress of the worker's running attempts. Returns the firings stored.

    None leaves a value as it was.
    """
    columns = [list(column) for column in zip(*progress, strict=True)]
    return {row["id"] for row in await tx.fetch(_PROGRESS, worker, *columns)}
