"""The statements that let firings follow the end of others. Run only where somebody follows."""

from __future__ import annotations

from typing import LiteralString

# Who follows which of these ends, found by the ended schedules' keys.
FOUND: LiteralString = """
    SELECT x.id, u.key, f.schedule_id
      FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS x(id, schedule_id, status)
      JOIN schedules u ON u.id = x.schedule_id
      JOIN followers f ON f.tenant_id = u.tenant_id AND f.upstream_key = u.key
     WHERE f.on_end = 'finished'
        OR f.on_end = CASE x.status WHEN 'succeeded' THEN 'succeeded' ELSE 'failed' END
     ORDER BY f.schedule_id, x.id
"""

# As whoever changes or runs one does: none gets another firing meanwhile, and none is changed.
LOCK: LiteralString = """
    SELECT id FROM schedules WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE
"""

# The same for all that follow these, whatever ends they wait for.
LOCK_FOLLOWERS: LiteralString = """
    SELECT id
      FROM schedules
     WHERE id = ANY (ARRAY(
           SELECT f.schedule_id
             FROM schedules u
             JOIN followers f ON f.tenant_id = u.tenant_id AND f.upstream_key = u.key
            WHERE u.id = ANY ($1::uuid[])))
     ORDER BY id
       FOR NO KEY UPDATE
"""

# As they are once they are ours. A statement sees what was committed when it began: this one began
# after the locks.
STANDING: LiteralString = """
    SELECT s.id, s.tenant_id, s.version, s.status, f.upstream_key, f.lane, f.host,
           coalesce((s.definition ->> 'priority')::smallint, 5) AS priority,
           coalesce(s.definition ->> 'overlap_policy', 'skip') AS policy,
           s.definition -> 'payload' AS payload, s.definition ? 'body' AS has_body,
           EXISTS (SELECT FROM queue q WHERE q.schedule_id = s.id) AS is_live
      FROM schedules s
      JOIN followers f ON f.schedule_id = s.id
     WHERE s.id = ANY ($1::uuid[])
"""

# Its slot is that of the firing it follows: one instant names the whole chain.
ENTER: LiteralString = """
    WITH entered AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                           priority, state, triggered_by, lane, host, payload)
        SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.scheduled_for,
               greatest(x.scheduled_for, clock_timestamp()), x.priority, x.state, 'after', x.lane,
               x.host, x.payload
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                      $6::smallint[], $7::text[], $8::text[], $9::text[], $10::jsonb[])
               AS x(id, schedule_id, tenant_id, version, scheduled_for, priority, state, lane,
                    host, payload)
            ON CONFLICT DO NOTHING
     RETURNING lane
    )
    SELECT pg_notify('rota_queue', lane) FROM (SELECT DISTINCT lane FROM entered) AS l
"""

SKIP: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         triggered_by, finished_at, payload)
    SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.scheduled_for, 'skipped', x.reason,
           'after', clock_timestamp(), x.payload
      FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[], $6::text[],
                  $7::jsonb[])
           AS x(id, schedule_id, tenant_id, version, scheduled_for, reason, payload)
        ON CONFLICT DO NOTHING
"""

# The overlap policy cancel_previous, as firing does it (`firing.sql.FIRE`): what waits ends here,
# what runs is asked to end, and so is what is between two of its steps. Whether anything was asked.
OUST: LiteralString = """
    WITH ousted AS (
        DELETE FROM queue
         WHERE schedule_id = ANY ($1::uuid[]) AND state <> 'running' AND saga IS NULL
     RETURNING *
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, finished_at, replay_of, payload)
        SELECT o.id, o.schedule_id, o.tenant_id, o.version, o.scheduled_for, 'cancelled',
               'overlap', o.attempt, o.triggered_by, o.catch_up, clock_timestamp(), o.replay_of,
               o.payload
          FROM ousted o
            ON CONFLICT DO NOTHING
    ), asked AS (
        UPDATE queue q
           SET cancel_reason = CASE WHEN q.saga -> 'back' = 'true' THEN q.cancel_reason
                                    WHEN q.cancel_reason IN ('paused', 'edited', 'deleted')
                                    THEN 'overlap' ELSE coalesce(q.cancel_reason, 'overlap') END,
               claimed_until = CASE WHEN q.worker = '00000000-0000-0000-0000-000000000000'
                                     AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                    THEN clock_timestamp() ELSE q.claimed_until END,
               available_at = CASE WHEN q.state = 'running' THEN q.available_at
                                   ELSE least(q.available_at, clock_timestamp()) END
         WHERE q.schedule_id = ANY ($1::uuid[]) AND (q.state = 'running' OR q.saga IS NOT NULL)
     RETURNING q.schedule_id, pg_notify('rota_cancel', q.id::text)
    )
    SELECT DISTINCT schedule_id FROM asked
"""
