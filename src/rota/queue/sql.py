"""The statements that end firings and rescue claims. Each works on a whole batch at once."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.queue.ours_sql import OURS

# What follows `ended`, the rows this statement deletes: the next of each schedule may go, unless
# another row holds it back. Only a catch-up holds back a catch-up where overlap is allowed, or the
# live slots of a long job would hold the chain for ever.
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
     RETURNING q.id
    )
"""

# Which of `ended` somebody follows. It costs those nothing who do not want it: followers are looked
# for once for each tenant, and further only where a tenant has some.
FOLLOWED: LiteralString = """
    followed AS (
        SELECT e.id
          FROM ended e
         WHERE e.status IN ('succeeded', 'dead')
           AND e.tenant_id = ANY (ARRAY(
               SELECT t.tenant_id
                 FROM (SELECT DISTINCT ended.tenant_id FROM ended) AS t
                WHERE (SELECT true FROM followers f WHERE f.tenant_id = t.tenant_id LIMIT 1)))
           AND (SELECT true
                  FROM schedules s
                  JOIN followers f ON f.tenant_id = s.tenant_id AND f.upstream_key = s.key
                 WHERE s.id = e.schedule_id
                 LIMIT 1)
    )
"""

# `x` has a status for what ends, a retry_at for what is tried again, and a detached_until for what
# is left to its target. A retry of a firing whose end somebody has asked for ends it instead, and
# so does leaving it to the target: the asker must not wait. (A mere recall leaves alone what has
# begun.) That is decided on the rows as they are once they are locked, not as they were when the
# statement began. An attempt that was left to its target is in `attempts` already, and is completed
# there.
#
# `saga` is of a firing that goes through steps (`queue.saga`), NULL for all others: a `state` moves
# the row on to its next step. One that has come past its first step is never ended by a wish: it
# keeps the wish, is claimed again at once, and whoever claims it turns it back.
SETTLE: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::timestamptz[],
                      $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::integer[],
                      $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
                      $16::bytea[], $19::jsonb[])
               AS x(id, attempt, status, reason, retry_at, detached_until,
                    started_at, finished_at, code, excerpt,
                    outcome, error, request, headers, body, saga)
         ORDER BY id
    ), held AS MATERIALIZED (
        SELECT h.*, x.status, x.reason, x.retry_at, x.detached_until, x.started_at, x.finished_at,
               x.code, x.excerpt, x.outcome, x.error, x.request, x.headers, x.body, x.saga,
               x.saga -> 'state' IS NOT NULL AS moves,
               h.stepped AND h.cancel_reason IS NOT NULL AS turns,
               x.retry_at IS NOT NULL AND (h.cancel_reason IS NULL OR h.stepped)
               OR x.detached_until IS NOT NULL
                  AND (h.cancel_reason IS NULL OR h.cancel_reason = ANY ($17::text[]) OR h.stepped)
               OR x.saga -> 'state' IS NOT NULL AS again
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.attempt,
                      q.triggered_by, q.catch_up, q.cancel_reason, q.replay_of, q.payload,
                      q.available_at, q.saga IS NOT NULL AS stepped
                 FROM queue q
                WHERE """
    + OURS
    + """                  FOR UPDATE) AS h
    ), retried AS (
        UPDATE queue q
           SET state = CASE WHEN h.retry_at IS NULL THEN 'running' ELSE 'retrying' END,
               available_at = CASE WHEN h.turns THEN least(h.retry_at, clock_timestamp())
                                   ELSE coalesce(h.retry_at, q.available_at) END,
               worker = CASE WHEN h.retry_at IS NULL THEN $18::uuid END,
               claimed_until = CASE WHEN h.turns THEN least(h.detached_until, clock_timestamp())
                                    ELSE h.detached_until END,
               progress = NULL,
               progress_note = NULL
          FROM held h
         WHERE q.id = h.id AND h.again AND NOT h.moves
           AND q.id = ANY (ARRAY(SELECT held.id FROM held WHERE held.again))
    ), moved AS (
        UPDATE queue q
           SET state = 'waiting',
               available_at = clock_timestamp(),
               worker = NULL,
               claimed_until = NULL,
               began_at = NULL,
               pulled_at = NULL,
               pulled_by = NULL,
               attempt = CASE WHEN h.outcome IS NULL THEN q.attempt - 1 ELSE q.attempt END,
               cancel_reason = CASE WHEN h.saga -> 'state' -> 'back' = 'true' THEN NULL
                                    ELSE q.cancel_reason END,
               lane = h.saga ->> 'lane',
               host = h.saga ->> 'host',
               saga = h.saga -> 'state'
          FROM held h
         WHERE q.id = h.id AND h.moves
           AND q.id = ANY (ARRAY(SELECT held.id FROM held WHERE held.moves))
     RETURNING q.id, q.lane
    ), woken AS MATERIALIZED (
        SELECT pg_notify('rota_queue', m.lane) FROM (SELECT DISTINCT moved.lane FROM moved) AS m
    ), deleted AS (
        DELETE FROM queue q
         WHERE q.id = ANY (ARRAY(SELECT held.id FROM held WHERE NOT held.again))
    ), ended AS (
        SELECT * FROM held WHERE NOT again
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, started_at, finished_at,
                             result_code, result_excerpt, replay_of, payload, steps, due_at)
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for,
               coalesce(e.status, 'cancelled'),
               coalesce(e.reason, CASE WHEN e.status IS NULL THEN e.cancel_reason END),
               CASE WHEN e.outcome IS NULL THEN e.attempt - 1 ELSE e.attempt END,
               e.triggered_by, e.catch_up,
               CASE WHEN e.attempt = 1 THEN e.started_at
                    ELSE least(e.started_at, (SELECT min(a.started_at) FROM attempts a
                                               WHERE a.firing_id = e.id
                                                 AND a.scheduled_for = e.scheduled_for)) END,
               e.finished_at,
               -- What undid the first step says nothing of the firing's own result.
               CASE WHEN e.saga -> 'compensating' = 'true' THEN NULL ELSE e.code END,
               CASE WHEN e.saga -> 'compensating' = 'true' THEN NULL ELSE e.excerpt END,
               e.replay_of, e.payload, e.saga -> 'steps',
               CASE WHEN e.attempt = 1 AND e.outcome IS NOT NULL THEN e.available_at END
          FROM ended e
            ON CONFLICT DO NOTHING
    ), """
    + FOLLOWED
    + """, tried AS (
        INSERT INTO attempts AS a (
                   firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                   started_at, finished_at, outcome, error, request, response_status,
                   response_headers, response_body, step, compensating)
        SELECT h.id, h.tenant_id, h.schedule_id, h.scheduled_for, h.attempt, $1,
               h.started_at, h.finished_at,
               CASE WHEN h.outcome = 'accepted' AND NOT h.again THEN 'cancelled'
                    ELSE h.outcome END,
               h.error, h.request::jsonb, h.code, h.headers::jsonb, h.body, h.saga ->> 'step',
               coalesce((h.saga ->> 'compensating')::boolean, false)
          FROM held h
         WHERE h.outcome IS NOT NULL
            ON CONFLICT (firing_id, attempt, scheduled_for) DO UPDATE
           SET outcome = excluded.outcome, error = excluded.error,
               finished_at = excluded.finished_at
         WHERE a.outcome = 'accepted'
    ), """
    + FREE_NEXT
    + """
    SELECT id, 'settled' AS what FROM held
     UNION ALL SELECT id, 'freed' FROM freed
     UNION ALL SELECT id, 'freed' FROM moved
     UNION ALL SELECT id, 'followed' FROM followed
     UNION ALL SELECT NULL, 'woken' FROM woken
"""
)

# Workers that hold claims and whose node's session has ended: the session held the advisory lock
# that the row in `nodes` names. A worker without a row has its claims until they run out.
GONE_WORKERS: LiteralString = """
    SELECT n.id
      FROM nodes n
     WHERE n.id IN (SELECT q.worker FROM queue q WHERE q.state = 'running')
       AND NOT EXISTS (
           SELECT FROM pg_locks k
            WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 2
              AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
              AND k.classid = n.lock_class::oid AND k.objid = n.lock_key::oid)
"""

# The attempt number stays: the worker may still be alive, and must not be taken for the next. What
# has come past its first step does not end here: `lost` is for whoever claims it to turn it back.
_GONE: LiteralString = """
    gone AS MATERIALIZED (
        SELECT q.id, q.schedule_id, q.attempt, q.worker, q.available_at, q.cancel_reason, q.saga,
               q.available_at > clock_timestamp() AS unstarted,
               q.attempt - coalesce((q.saga ->> 'base')::integer, 0) AS tries
          FROM queue q
         WHERE q.state = 'running' AND q.worker <> $5
           AND (q.claimed_until < (SELECT clock_timestamp()) OR q.worker = ANY ($4::uuid[]))
         ORDER BY q.id
         LIMIT $1
           FOR UPDATE OF q SKIP LOCKED
    ), judged AS MATERIALIZED (
        SELECT g.*,
               coalesce(g.saga ->> 'step', s.definition #>> '{steps,0,name}') AS step,
               g.saga IS NOT NULL AND NOT g.unstarted AND (
                   g.tries >= $2
                   OR s.definition ->> 'delivery' = 'at_most_once'
                      AND g.saga -> 'back' IS DISTINCT FROM 'true') AS lost,
               CASE WHEN g.saga IS NOT NULL THEN NULL
                    WHEN g.unstarted AND g.cancel_reason = ANY ($3::text[]) THEN 'skipped'
                    WHEN g.cancel_reason IS NOT NULL THEN 'cancelled'
                    WHEN g.unstarted THEN NULL
                    WHEN s.definition ->> 'delivery' = 'at_most_once' OR g.tries >= $2
                    THEN 'dead'
               END AS status
          FROM gone g
          LEFT JOIN schedules s ON s.id = g.schedule_id
    ), """

RESCUE: LiteralString = (
    "WITH "
    + _GONE
    + """
    returned AS (
        UPDATE queue q
           SET state = 'waiting', worker = NULL, claimed_until = NULL,
               cancel_reason = CASE WHEN j.lost THEN coalesce(q.cancel_reason, 'worker lost')
                                    ELSE q.cancel_reason END
          FROM judged j
         WHERE q.id = j.id AND j.status IS NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.scheduled_for
    ), ended AS (
        DELETE FROM queue q
         USING judged j
         WHERE q.id = j.id AND j.status IS NOT NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.triggered_by,
               q.catch_up, q.cancel_reason, q.replay_of, q.payload
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, started_at, finished_at, replay_of,
                             payload)
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for, j.status,
               coalesce(e.cancel_reason, 'worker lost'), j.attempt,
               e.triggered_by, e.catch_up,
               CASE WHEN NOT j.unstarted THEN j.available_at END, clock_timestamp(),
               e.replay_of, e.payload
          FROM ended e
          JOIN judged j ON j.id = e.id
            ON CONFLICT DO NOTHING
    ), tried AS (
        INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                              started_at, finished_at, outcome, error, step, compensating)
        SELECT h.id, h.tenant_id, h.schedule_id, h.scheduled_for, j.attempt, j.worker,
               j.available_at, clock_timestamp(), 'lost', 'the worker was lost', j.step,
               coalesce((j.saga ->> 'back')::boolean, false)
          FROM (SELECT id, tenant_id, schedule_id, scheduled_for FROM returned
                UNION ALL
                SELECT id, tenant_id, schedule_id, scheduled_for FROM ended) AS h
          JOIN judged j ON j.id = h.id
         WHERE NOT j.unstarted
            ON CONFLICT DO NOTHING
    ), """
    + FREE_NEXT
    + """
    SELECT j.id, j.worker, j.attempt, coalesce(j.status, 'waiting') AS state, j.schedule_id,
           (SELECT e.scheduled_for FROM ended e WHERE e.id = j.id) AS ended_for
      FROM judged j
"""
)

# The safety net of `FREE_NEXT`: two ends at the same moment, or an end and a new blocked row, do
# not see each other, and nobody would free the next.
FREE_STRANDED: LiteralString = (
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
