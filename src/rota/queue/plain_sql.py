"""The statements of plain successes: the most common end of a task, in a third of the time.

A firing that was enqueued and that succeeded at its first attempt tells of that attempt by itself
(`firings.worker`), so that one row is written for it and not two.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.queue.sql import FOLLOWED, FREE_NEXT

# Whatever else is known of a row is found by its place in $2, which is sorted: a search among a
# thousand costs less than any join, and needs no planner to see that. An array of values of one
# length is read at its place at once; those of texts are read from their beginning, and are empty
# when there are none. There is no ON CONFLICT, which would look into every index twice: the ids of
# what is enqueued are random, and have never been there.
#
# Rows are locked as they are found, which may be in their order on disk: to lock them in that of
# their ids first would cost a sixth more. So a pause does not wait for them (`schedules.live_sql`).
# An edit must; should the two wait for each other, PostgreSQL ends one, and it is tried again.
PLAIN: LiteralString = (
    """
    WITH ended AS (
        DELETE FROM queue q
         WHERE q.id = ANY ($2::uuid[]) AND q.worker = $1 AND q.attempt = 1
           AND q.state = 'running' AND q.triggered_by = 'enqueue' AND q.saga IS NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
               q.triggered_by, q.catch_up, q.replay_of, q.payload, 'succeeded' AS status,
               width_bucket(q.id, $2::uuid[]) AS n
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, attempt,
                             triggered_by, catch_up, started_at, finished_at, result_excerpt,
                             replay_of, payload, due_at, worker, task, result)
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for, e.status, 1,
               e.triggered_by, e.catch_up, ($3::timestamptz[])[e.n], ($4::timestamptz[])[e.n],
               ($7::text[])[e.n], e.replay_of, e.payload, e.available_at, $1,
               ($5::text[])[coalesce(($6::integer[])[e.n], 1)], ($8::bytea[])[e.n]
          FROM ended e
    ), """
    + FOLLOWED
    + ", "
    + FREE_NEXT
    + """
    SELECT CASE WHEN (SELECT count(*) FROM ended) < cardinality($2::uuid[])
                THEN ARRAY(SELECT ended.id FROM ended) END AS accepted,
           (SELECT count(*) FROM freed) AS freed,
           ARRAY(SELECT followed.id FROM followed) AS followed
"""
)

# A commit whose answer was lost may have been made: then the attempt is there, and it is ours.
# What a rescuer has written about us is not.
ALREADY_SETTLED: LiteralString = """
    WITH x AS (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::timestamptz[])
               AS x(id, attempt, scheduled_for)
    )
    SELECT a.firing_id
      FROM x
      JOIN attempts a
        ON a.firing_id = x.id AND a.attempt = x.attempt AND a.scheduled_for = x.scheduled_for
     WHERE a.worker = $1 AND a.outcome <> 'lost'
     UNION ALL
    SELECT f.id
      FROM x
      JOIN firings f
        ON f.id = x.id AND f.attempt = x.attempt AND f.scheduled_for = x.scheduled_for
     WHERE f.worker = $1
"""

# The attempt that a firing tells of by itself, as a row of `attempts` would have it. A payload that
# the firing has not is null in the request: a schedule's own is never left out like that (`plain`).
TOLD: LiteralString = """
    SELECT f.id AS firing_id, f.tenant_id, f.schedule_id, f.scheduled_for, f.attempt, f.worker,
           f.started_at, f.finished_at, 'succeeded' AS outcome, NULL AS error,
           CASE WHEN f.task IS NOT NULL
                THEN jsonb_build_object('task', f.task, 'payload', f.payload) END AS request,
           NULL::integer AS response_status,
           CASE WHEN f.result IS NOT NULL THEN '[]'::jsonb END AS response_headers,
           f.result AS response_body, NULL AS step, false AS compensating
      FROM firings f
     WHERE f.worker IS NOT NULL
"""
