"""The statement that lets go what waits for a task that is not paused any more."""

from __future__ import annotations

from typing import LiteralString

# `rota.enqueue` lets a run of a paused task wait for ever, and whoever resumes the task lets it go;
# but a run whose transaction was open at that moment has been seen by nobody. One step of the index
# for each task that has such runs, however many it has.
FREE_HELD: LiteralString = """
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
        SELECT pg_notify('rota_queue', l.lane) FROM (SELECT DISTINCT freed.lane FROM freed) AS l
    )
    SELECT (SELECT count(*) FROM freed) + 0 * (SELECT count(*) FROM woken)
"""
