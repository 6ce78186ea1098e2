"""Writing down how far runs are, many at once."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.queue.ours_sql import OURS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx

# Never waits for a row: whoever has it locked is about to extend or to end it, and the next time
# will do as well.
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
    + OURS
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

Said = tuple["UUID", int, float | None, str | None]
"""Firing, attempt, a share from 0 to 1, a few words."""


async def record(tx: Tx, worker: UUID, said: Sequence[Said]) -> set[UUID]:
    """Note what the worker's running attempts have said; of which firings that could be done now.

    What is None stays as it was.
    """
    columns = [list(column) for column in zip(*said, strict=True)]
    return {row["id"] for row in await tx.fetch(_PROGRESS, worker, *columns)}
