"""The statements of history."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.db import locks
from rota.queue.complete_fast import FAST_ATTEMPTS

# A claim that is held ahead of its instant has not begun: it still waits, as far as people see.
LIVE: LiteralString = """
    SELECT q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for,
           NULL::timestamptz AS last_slot_at, 1 AS slot_count,
           CASE WHEN q.state = 'running' AND q.available_at > clock_timestamp()
                THEN CASE WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END
                ELSE q.state END AS status,
           q.cancel_reason AS reason,
           CASE WHEN q.state = 'running' AND q.available_at > clock_timestamp()
                THEN (q.attempt - 1)::smallint ELSE q.attempt END AS attempt,
           q.triggered_by, q.catch_up, nullif(q.available_at, 'infinity') AS available_at,
           CASE WHEN q.attempt > 0 THEN
                (SELECT min(a.started_at) FROM attempts a
                  WHERE a.firing_id = q.id AND a.scheduled_for = q.scheduled_for)
           END AS started_at,
           NULL::timestamptz AS finished_at, NULL::integer AS result_code,
           NULL::text AS result_excerpt, q.replay_of,
           CASE WHEN q.state = 'running' AND q.worker = '00000000-0000-0000-0000-000000000000'
                THEN q.claimed_until END AS detached_until,
           q.progress::numeric::float8 AS progress, q.progress_note,
           q.saga -> 'steps' AS steps, NULL::timestamptz AS due_at
      FROM queue q
"""

ENDED: LiteralString = """
    SELECT f.id, f.schedule_id, f.tenant_id, f.version, f.scheduled_for, f.last_slot_at,
           f.slot_count, f.status, f.reason, f.attempt, f.triggered_by, f.catch_up,
           NULL::timestamptz AS available_at, f.started_at, f.finished_at, f.result_code,
           f.result_excerpt, f.replay_of, NULL::timestamptz AS detached_until,
           NULL::float8 AS progress, NULL::text AS progress_note, f.steps, f.due_at
      FROM firings f
"""

# An id's first bytes are an instant near its slot, which names the partition to look in.
ONE: LiteralString = (
    LIVE
    + """
     WHERE q.id = $1
     UNION ALL
"""
    + ENDED
    + """
     WHERE f.id = $1 AND f.scheduled_for BETWEEN $2 AND $3
     LIMIT 1
"""
)

# A finish that commits between the two halves would show a firing twice or not at all; one
# statement has one snapshot, so it cannot. Each half stops at the limit by its own index.
OF_SCHEDULE: LiteralString = (
    "SELECT * FROM ((SELECT * FROM ("
    + LIVE
    + """
         WHERE q.schedule_id = $1) AS live
         WHERE ($2::text[] IS NULL OR live.status = ANY ($2))
           AND ($3::timestamptz IS NULL OR (live.scheduled_for, live.id) < ($3, $4::uuid))
         ORDER BY live.scheduled_for DESC, live.id DESC LIMIT $5)
     UNION ALL (
"""
    + ENDED
    + """
         WHERE f.schedule_id = $1
           AND ($2::text[] IS NULL OR f.status = ANY ($2))
           AND ($3::timestamptz IS NULL OR (f.scheduled_for, f.id) < ($3, $4::uuid))
           AND ($3::timestamptz IS NULL OR f.scheduled_for <= $3)
         ORDER BY f.scheduled_for DESC, f.id DESC LIMIT $5)) AS found
     ORDER BY scheduled_for DESC, id DESC
     LIMIT $5
"""
)

DEAD: LiteralString = (
    ENDED
    + """
     WHERE f.tenant_id = $1 AND f.status = 'dead'
       AND ($2::timestamptz IS NULL OR (f.scheduled_for, f.id) < ($2, $3::uuid))
       AND ($2::timestamptz IS NULL OR f.scheduled_for <= $2)
       AND ($5::uuid IS NULL OR f.schedule_id = $5)
       AND ($6::timestamptz IS NULL OR f.scheduled_for >= $6)
       AND ($7::timestamptz IS NULL OR f.scheduled_for < $7)
     ORDER BY f.scheduled_for DESC, f.id DESC
     LIMIT $4
"""
)

ATTEMPTS: LiteralString = (
    """
    SELECT a.firing_id, a.attempt, a.worker, a.started_at, a.finished_at, a.outcome, a.error,
           a.request::text AS request, a.response_status,
           a.response_headers::text AS response_headers, a.response_body, a.step, a.compensating
      FROM (SELECT * FROM attempts UNION ALL"""
    + FAST_ATTEMPTS
    + """) AS a
     WHERE a.firing_id = $1 AND a.scheduled_for BETWEEN $2 AND $3
     ORDER BY a.attempt LIMIT $4 OFFSET $5
"""
)

# The slot's own firing first; else a run of slots that it lies in. A run can be long, so that part
# looks at every run of the schedule that began before: few, because each is one row.
AT_SLOT: LiteralString = (
    LIVE
    + """
     WHERE q.schedule_id = $1 AND q.scheduled_for = $2
       AND q.triggered_by IN ('schedule', 'backfill')
     UNION ALL
"""
    + ENDED
    + """
     WHERE f.schedule_id = $1 AND f.scheduled_for = $2
       AND f.triggered_by IN ('schedule', 'backfill')
     UNION ALL (
"""
    + ENDED
    + """
     WHERE f.schedule_id = $1 AND f.scheduled_for < $2 AND f.last_slot_at >= $2
     ORDER BY f.scheduled_for DESC LIMIT 1)
"""
)

# Of one that goes through steps and has not come past the first: all of them, still to be done.
FIRST_STEP: LiteralString = """
    SELECT jsonb_agg(jsonb_build_object('name', e.step ->> 'name', 'status',
                     CASE WHEN e.n = 1 AND q.attempt > 0 THEN 'running' ELSE 'waiting' END)
                     ORDER BY e.n)
      FROM queue q
      JOIN schedules s ON s.id = q.schedule_id
     CROSS JOIN jsonb_array_elements(s.definition -> 'steps') WITH ORDINALITY AS e(step, n)
     WHERE q.id = $1
"""

# Of a schedule without slots: the first run in the second that was named.
WITHIN: LiteralString = (
    "SELECT * FROM (("
    + LIVE
    + """
         WHERE q.schedule_id = $1 AND q.scheduled_for >= $2 AND q.scheduled_for < $3
         ORDER BY q.scheduled_for LIMIT 1)
     UNION ALL (
"""
    + ENDED
    + """
         WHERE f.schedule_id = $1 AND f.scheduled_for >= $2 AND f.scheduled_for < $3
         ORDER BY f.scheduled_for LIMIT 1)) AS found
     ORDER BY scheduled_for
     LIMIT 1
"""
)

STANDING: LiteralString = """
    SELECT clock_timestamp() AS now, t.scheduled_for, t.due_at
      FROM (SELECT 1) AS one
      LEFT JOIN timers t ON t.schedule_id = $1
"""

# Which days there are partitions for, of both tables.
PARTITIONS: LiteralString = """
    SELECT p.relname AS parent, c.relname AS name
      FROM pg_inherits i
      JOIN pg_class c ON c.oid = i.inhrelid
      JOIN pg_class p ON p.oid = i.inhparent
     WHERE p.relnamespace = current_schema()::regnamespace AND p.relname IN ('firings', 'attempts')
"""

# Held until the transaction ends, so that several processes make or drop a partition one by one.
LOCK_PARTITIONS: LiteralString = "SELECT pg_advisory_xact_lock(" + locks.PARTITIONS + ")"

# Waiting for a lock on a partitioned table holds up everybody behind: rather give up and come back.
IMPATIENT: LiteralString = "SET LOCAL lock_timeout = '2s'"

SET_DAY: LiteralString = "SELECT set_config('rota.day', $1, true)"

# Made apart and attached, which does not stop those who read and write the parent. The default
# partition may have rows of that day, from a time when nobody made partitions: they move.
MAKE_DAY: LiteralString = """
    DO $make$
    DECLARE
        first_at timestamptz := current_setting('rota.day')::date::timestamp AT TIME ZONE 'UTC';
        until_at timestamptz := first_at + interval '24 hours';
        suffix   text := to_char(first_at AT TIME ZONE 'UTC', 'YYYYMMDD');
        parent   text;
        child    text;
    BEGIN
        FOREACH parent IN ARRAY ARRAY['firings', 'attempts'] LOOP
            child := parent || '_' || suffix;
            CONTINUE WHEN to_regclass(quote_ident(child)) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
            EXECUTE format(
                'WITH moved AS (DELETE FROM %I WHERE scheduled_for >= %L '
                'AND scheduled_for < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
                parent || '_default', first_at, until_at, child);
            EXECUTE format(
                'ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, child, first_at, until_at);
        END LOOP;
    END
    $make$
"""

DROP_DAY: LiteralString = """
    DO $drop$
    DECLARE
        suffix text := to_char(current_setting('rota.day')::date, 'YYYYMMDD');
        parent text;
    BEGIN
        FOREACH parent IN ARRAY ARRAY['firings', 'attempts'] LOOP
            EXECUTE format('DROP TABLE IF EXISTS %I', parent || '_' || suffix);
        END LOOP;
    END
    $drop$
"""

# What was recorded of slots without a partition, such as a backfill of last year, is old when it
# was recorded long ago, not when its slot was.
FORGET_FIRINGS: LiteralString = """
    DELETE FROM firings_default
     WHERE (id, scheduled_for) IN (
           SELECT id, scheduled_for FROM firings_default
            WHERE finished_at < $1 ORDER BY finished_at LIMIT $2)
"""
FORGET_ATTEMPTS: LiteralString = """
    DELETE FROM attempts_default
     WHERE (firing_id, attempt, scheduled_for) IN (
           SELECT firing_id, attempt, scheduled_for FROM attempts_default
            WHERE finished_at < $1 ORDER BY finished_at LIMIT $2)
"""
