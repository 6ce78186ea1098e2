"""The statements that pause and resume many schedules at once, a batch each.

Timers are locked first, then schedules, then live firings, each in the order of their ids: as
firing does, and whoever changes a single schedule.
"""

from __future__ import annotations

from typing import LiteralString

ACTIVE: LiteralString = """
    SELECT id
      FROM schedules
     WHERE tenant_id = $1 AND status = 'active' AND ($2::text IS NULL OR $2 = ANY (tags))
       AND id > $3
     ORDER BY id
     LIMIT $4
"""

# Those that are still active once they are ours.
LOCK_ACTIVE: LiteralString = """
    SELECT id
      FROM schedules
     WHERE id = ANY ($1::uuid[]) AND status = 'active'
     ORDER BY id
       FOR NO KEY UPDATE
"""

# Blocked ones last, and not what was enqueued and is in a worker's hands, as in `live_sql`.
LOCK_LIVE: LiteralString = """
    SELECT id FROM queue
     WHERE schedule_id = ANY ($1::uuid[]) AND (triggered_by <> 'enqueue' OR state <> 'running')
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""

# What a single pause does (`changing`), for all of them: what no worker has is recorded as skipped,
# what is held ahead of its instant is asked back, neither counts for max_firings, and the timers
# are parked. What a program has enqueued waits.
PAUSE: LiteralString = """
    WITH taken AS (
        DELETE FROM queue
         WHERE schedule_id = ANY ($1::uuid[]) AND state <> 'running' AND saga IS NULL
           AND triggered_by <> 'enqueue'
     RETURNING id, schedule_id, tenant_id, version, scheduled_for, attempt, triggered_by, catch_up,
               replay_of, payload
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, started_at, finished_at, replay_of,
                             payload)
        SELECT t.id, t.schedule_id, t.tenant_id, t.version, t.scheduled_for, 'skipped', 'paused',
               t.attempt, t.triggered_by, t.catch_up,
               CASE WHEN t.attempt > 0 THEN
                    (SELECT min(a.started_at) FROM attempts a
                      WHERE a.firing_id = t.id AND a.scheduled_for = t.scheduled_for) END,
               clock_timestamp(), t.replay_of, t.payload
          FROM taken t
            ON CONFLICT DO NOTHING
    ), recalled AS (
        UPDATE queue
           SET cancel_reason = coalesce(cancel_reason, 'paused')
         WHERE schedule_id = ANY ($1::uuid[]) AND state = 'running'
           AND available_at > clock_timestamp() AND saga IS NULL AND triggered_by <> 'enqueue'
     RETURNING schedule_id, triggered_by, attempt
    ), held AS (
        UPDATE queue
           SET available_at = 'infinity'
         WHERE schedule_id = ANY ($1::uuid[]) AND triggered_by = 'enqueue'
           AND state IN ('waiting', 'retrying')
    ), asked AS MATERIALIZED (
        SELECT pg_notify('rota_recall', schedule_id::text)
          FROM (SELECT DISTINCT schedule_id FROM recalled) AS r
    ), unbegun AS MATERIALIZED (
        SELECT schedule_id, count(*)::integer AS firings
          FROM (SELECT schedule_id FROM taken WHERE triggered_by = 'schedule' AND attempt = 0
                UNION ALL
                SELECT schedule_id FROM recalled WHERE triggered_by = 'schedule' AND attempt = 1
               ) AS u
         GROUP BY schedule_id
    ), parked AS (
        UPDATE timers t
           SET due_at = 'infinity',
               touched = t.touched + 1,
               fired = greatest(0, t.fired - coalesce(
                       (SELECT u.firings FROM unbegun u WHERE u.schedule_id = t.schedule_id), 0))
         WHERE t.schedule_id = ANY ($1::uuid[])
    ), paused AS (
        UPDATE schedules
           SET status = 'paused', status_reason = $2, updated_at = clock_timestamp(),
               paused_together = true, paused_until = $3
         WHERE id = ANY ($1::uuid[])
     RETURNING id
    )
    SELECT (SELECT count(*) FROM paused), (SELECT count(*) FROM asked)
"""

# Those that were paused together before: the last word on why and how long counts.
RENEW: LiteralString = """
    WITH old AS MATERIALIZED (
        SELECT id
          FROM schedules
         WHERE tenant_id = $1 AND status = 'paused' AND paused_together
           AND ($2::text IS NULL OR $2 = ANY (tags)) AND id > $3
           AND (status_reason IS DISTINCT FROM $5 OR paused_until IS DISTINCT FROM $6)
         ORDER BY id
         LIMIT $4
           FOR NO KEY UPDATE
    )
    UPDATE schedules
       SET status_reason = $5, paused_until = $6, updated_at = clock_timestamp()
     WHERE id = ANY (ARRAY(SELECT old.id FROM old))
 RETURNING id
"""

TOGETHER: LiteralString = """
    SELECT id
      FROM schedules
     WHERE tenant_id = $1 AND status = 'paused' AND paused_together
       AND ($2::text IS NULL OR $2 = ANY (tags)) AND id > $3
     ORDER BY id
     LIMIT $4
"""

# One node at a time is enough; the others find it done.
ONE_AT_A_TIME: LiteralString = "SELECT pg_try_advisory_xact_lock(1919906913, 2)"

OVER: LiteralString = """
    SELECT id
      FROM schedules
     WHERE status = 'paused' AND paused_until <= (SELECT clock_timestamp())
     ORDER BY paused_until
     LIMIT $1
"""

# Those that are still paused together once they are ours; or with $2, those whose time is up,
# whether they were paused together or one by one.
LOCK_TOGETHER: LiteralString = """
    SELECT id, tenant_id, key, name, status, version, shard, anchor_at,
           definition::text AS definition, created_at, updated_at, fired
      FROM schedules
     WHERE id = ANY ($1::uuid[]) AND status = 'paused'
       AND CASE WHEN $2 THEN paused_until <= clock_timestamp() ELSE paused_together END
     ORDER BY id
       FOR NO KEY UPDATE
"""

KNOWN_SLOTS: LiteralString = """
    SELECT schedule_id, scheduled_for FROM queue
     WHERE schedule_id = ANY ($1::uuid[]) AND scheduled_for > $2 AND triggered_by = 'schedule'
     UNION
    SELECT schedule_id, scheduled_for FROM firings
     WHERE schedule_id = ANY ($1::uuid[]) AND scheduled_for > $2 AND triggered_by = 'schedule'
"""

RECORD_PASSED: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                         slot_count, status, reason, triggered_by, finished_at)
    SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.first, x.last, x.count, 'skipped',
           'paused', 'schedule', clock_timestamp()
      FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                  $6::timestamptz[], $7::integer[])
           AS x(id, schedule_id, tenant_id, version, first, last, count)
        ON CONFLICT DO NOTHING
"""

# Those with a slot are armed by what follows; those without have no timer that could count.
RESUME: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT * FROM unnest($1::uuid[], $2::boolean[], $3::integer[]) AS x(id, goes_on, fired)
    ), disarmed AS (
        DELETE FROM timers WHERE schedule_id = ANY (ARRAY(SELECT x.id FROM x WHERE NOT x.goes_on))
    ), freed AS (
        UPDATE queue
           SET available_at = greatest(scheduled_for, clock_timestamp())
         WHERE schedule_id = ANY ($1::uuid[]) AND triggered_by = 'enqueue'
           AND available_at = 'infinity'
    )
    UPDATE schedules s
       SET status = CASE WHEN x.goes_on THEN 'active' ELSE 'completed' END,
           fired = CASE WHEN x.goes_on THEN s.fired ELSE x.fired END,
           status_reason = NULL, updated_at = $4, paused_together = false, paused_until = NULL
      FROM x
     WHERE s.id = x.id
"""
