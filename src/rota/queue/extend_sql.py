"""The statements that keep claims and give them back."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.queue.ours_sql import OURS

# Of the claims $2, each with its attempt $3, those that the worker still has: ours from here on.
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
    + OURS
    + """                  FOR UPDATE) AS h
    )
"""
)

# The attempt number goes back too: these claims have not been tried, and their holder lets go.
_GIVE_BACK: LiteralString = """
    UPDATE queue q
       SET state = CASE WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END,
           attempt = q.attempt - 1,
           began_at = CASE WHEN q.attempt > 1 THEN q.began_at END,
           worker = NULL,
           claimed_until = NULL
     WHERE q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id
"""

EXTEND: LiteralString = (
    _HELD
    + """
    UPDATE queue q
       SET claimed_until = greatest(q.available_at, clock_timestamp()) + $4::interval
     WHERE q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id, q.cancel_reason, q.version
"""
)

RELEASE: LiteralString = _HELD + _GIVE_BACK

RELEASE_STRAYS: LiteralString = (
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
