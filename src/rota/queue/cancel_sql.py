"""The statement that ends a firing because somebody asked."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.queue.sql import FREE_NEXT

# Unclaimed, or left to its target: ended here and now. Claimed: whoever holds it is asked to end
# it. Which of the two it is, is known once the row is locked: a claim may be under way. An end that
# is asked for outdoes a recall, which would let a running attempt go on. What has come past its
# first step is asked, too, whoever has it: who claims it next turns it back, unless it is on its
# way back already.
CANCEL: LiteralString = (
    """
    WITH held AS MATERIALIZED (
        SELECT *, state = 'running' AND worker <> $4 OR saga IS NOT NULL AS is_held
          FROM queue WHERE id = $1 FOR UPDATE
    ), asked AS (
        UPDATE queue q
           SET cancel_reason = CASE WHEN q.saga -> 'back' = 'true' THEN q.cancel_reason
                                    WHEN q.cancel_reason = ANY ($3::text[]) THEN $2
                                    ELSE coalesce(q.cancel_reason, $2) END,
               claimed_until = CASE WHEN q.worker = $4 AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                    THEN clock_timestamp() ELSE q.claimed_until END,
               available_at = CASE WHEN q.state IN ('waiting', 'retrying')
                                    AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                   THEN least(q.available_at, clock_timestamp())
                                   ELSE q.available_at END
          FROM held h
         WHERE q.id = h.id AND h.is_held
     RETURNING q.id, pg_notify('rota_cancel', q.id::text), pg_notify('rota_queue', q.lane)
    ), deleted AS (
        DELETE FROM queue q
         USING held h
         WHERE q.id = h.id AND NOT h.is_held
    ), ended AS (
        SELECT * FROM held WHERE NOT is_held
    ), tried AS (
        UPDATE attempts a
           SET outcome = 'cancelled', error = $2, finished_at = clock_timestamp()
          FROM ended e
         WHERE a.firing_id = e.id AND a.scheduled_for = e.scheduled_for
           AND a.attempt = e.attempt AND a.outcome = 'accepted'
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, started_at, finished_at, replay_of,
                             payload)
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for, 'cancelled', $2,
               e.attempt, e.triggered_by, e.catch_up,
               (SELECT min(a.started_at) FROM attempts a
                 WHERE a.firing_id = e.id AND a.scheduled_for = e.scheduled_for),
               clock_timestamp(), e.replay_of, e.payload
          FROM ended e
            ON CONFLICT DO NOTHING
    ), """
    + FREE_NEXT
    + """
    SELECT 'asked' FROM asked UNION ALL SELECT 'ended' FROM ended
"""
)
