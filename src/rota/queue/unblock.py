"""Freeing blocked and held firings: the next after an end, strays, those of resumed tasks."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.db import locks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx

# Part of a statement that deletes the rows `ended`: frees the next blocked firing of each schedule
# unless another row blocks it. Where overlap is allowed only a catch-up blocks a catch-up, or the
# live slots of a long job would block the chain for ever.
FREE_NEXT: LiteralString = """
    freed AS (
        UPDATE queue q
           SET state = 'waiting', available_at = greatest(q.available_at, clock_timestamp())
         WHERE q.state = 'blocked' AND q.id = ANY (ARRAY(
               SELECT n.id
                 FROM (SELECT DISTINCT ended.schedule_id FROM ended) AS e
                CROSS JOIN LATERAL (
                      SELECT b.id, b.schedule_id
                        FROM queue b
                       WHERE b.schedule_id = e.schedule_id AND b.state = 'blocked'
                         AND b.id <> ALL (ARRAY(SELECT ended.id FROM ended))
                       ORDER BY b.scheduled_for, b.id
                       LIMIT 1) AS n
                 LEFT JOIN schedules s ON s.id = n.schedule_id
                WHERE NOT EXISTS (
                      SELECT FROM queue o
                       WHERE o.schedule_id = n.schedule_id AND o.state <> 'blocked'
                         AND (o.catch_up
                              OR s.definition ->> 'overlap_policy' IS DISTINCT FROM 'allow')
                         AND o.id <> ALL (ARRAY(SELECT ended.id FROM ended)))))
     RETURNING q.id, q.lane
    )
"""

# The safety net of `FREE_NEXT`: two ends at the same moment, or an end and a new blocked row, do
# not see each other, and nothing would free the next.
_FREE_STRANDED: LiteralString = (
    """
    WITH ended AS (
        SELECT DISTINCT b.schedule_id, '00000000-0000-0000-0000-000000000000'::uuid AS id
          FROM queue b
         WHERE b.state = 'blocked'
    ), """
    + FREE_NEXT
    + """
    SELECT count(*) FROM freed
"""
)


async def free_stranded(tx: Tx) -> int:
    """Free what is blocked behind nothing. Returns the count."""
    count: int = await tx.fetch_value(_FREE_STRANDED)
    return count


_RESUME_HELD: LiteralString = """
    WITH freed AS (
        UPDATE queue
           SET available_at = greatest(scheduled_for, clock_timestamp())
         WHERE schedule_id = ANY ($1::uuid[]) AND triggered_by = 'enqueue'
           AND available_at = 'infinity'
     RETURNING lane
    )
    """ + locks.notify_each(locks.QUEUE, "lane", "freed")


async def resume_held(tx: Tx, schedule_ids: Sequence[UUID]) -> None:
    """Free what was enqueued for these schedules while they were paused (`withdraw`)."""
    await tx.fetch(_RESUME_HELD, list(schedule_ids))


# `rota.enqueue` holds the runs of a paused task, and resuming the task frees them; but a run whose
# transaction was open at that moment was not seen. One step of the index for each task that has
# such runs, however many it has.
_FREE_HELD: LiteralString = (
    """
    WITH RECURSIVE tasks (schedule_id) AS (
        (SELECT q.schedule_id FROM queue q
          WHERE q.available_at = 'infinity' ORDER BY q.schedule_id LIMIT 1)
         UNION ALL
        SELECT (SELECT q.schedule_id FROM queue q
                 WHERE q.available_at = 'infinity' AND q.schedule_id > t.schedule_id
                 ORDER BY q.schedule_id LIMIT 1)
          FROM tasks t
         WHERE t.schedule_id IS NOT NULL
    ), held AS MATERIALIZED (
        SELECT h.id
          FROM tasks t
         CROSS JOIN LATERAL (
               SELECT q.id FROM queue q
                WHERE q.schedule_id = t.schedule_id AND q.available_at = 'infinity'
                  AND q.triggered_by = 'enqueue'
                LIMIT 1000
                  FOR UPDATE SKIP LOCKED) AS h
         WHERE (SELECT s.status FROM schedules s WHERE s.id = t.schedule_id)
               IS DISTINCT FROM 'paused'
    ), freed AS (
        UPDATE queue q
           SET available_at = greatest(q.scheduled_for, clock_timestamp())
         WHERE q.id = ANY (ARRAY(SELECT held.id FROM held))
     RETURNING q.lane
    ), woken AS MATERIALIZED (
        """
    + locks.notify_each(locks.QUEUE, "lane", "freed")
    + """
    )
    SELECT (SELECT count(*) FROM freed) + 0 * (SELECT count(*) FROM woken)
"""
)


async def free_held(tx: Tx) -> int:
    """Free what was enqueued for a paused task that is not paused any more. Returns the count."""
    count: int = await tx.fetch_value(_FREE_HELD)
    return count
