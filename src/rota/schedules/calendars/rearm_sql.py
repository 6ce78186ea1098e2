"""The statements that arm schedules anew by their calendars' days, a batch each.

Timers are locked first, then schedules, then live firings, as firing does and whoever changes a
schedule.
"""

from __future__ import annotations

from typing import LiteralString

# Those of one calendar that are not armed by its days.
STALE: LiteralString = """
    SELECT s.id
      FROM schedules s
      JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.tenant_id = $1 AND s.calendar = $2 AND s.id > $3
       AND s.calendar_version IS DISTINCT FROM c.version
     ORDER BY s.id
     LIMIT $4
"""

# The same of any calendar whose days changed and whose schedules were left half-way. Calendar by
# calendar: a scan of all schedules with one would be long.
STALE_CALENDARS: LiteralString = """
    SELECT c.tenant_id, c.name
      FROM calendars c
     WHERE c.updated_at > clock_timestamp() - $1::interval
       AND (SELECT true FROM schedules s
             WHERE s.tenant_id = c.tenant_id AND s.calendar = c.name
               AND s.calendar_version IS DISTINCT FROM c.version
             LIMIT 1)
     LIMIT $2
"""

LOCK: LiteralString = """
    SELECT s.id, s.tenant_id, s.key, s.name, s.status, s.version, s.shard, s.anchor_at,
           s.definition::text AS definition, s.created_at, s.updated_at, s.fired
      FROM schedules s
     WHERE s.id = ANY ($1::uuid[]) AND s.calendar = $2
     ORDER BY s.id
       FOR NO KEY UPDATE
"""

LOCK_LIVE: LiteralString = """
    SELECT id, schedule_id, scheduled_for, state, triggered_by, attempt, available_at
      FROM queue
     WHERE schedule_id = ANY ($1::uuid[])
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""

# Slots ahead that are no slots any more. What no worker has ends here; what one holds ahead of its
# instant is asked back.
TAKE_BACK: LiteralString = """
    WITH taken AS (
        DELETE FROM queue
         WHERE id = ANY ($1::uuid[]) AND state <> 'running'
     RETURNING id, schedule_id, tenant_id, version, scheduled_for, attempt, triggered_by, catch_up,
               replay_of, payload
    ), recorded AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, finished_at, replay_of, payload)
        SELECT t.id, t.schedule_id, t.tenant_id, t.version, t.scheduled_for, 'skipped', 'edited',
               t.attempt, t.triggered_by, t.catch_up, clock_timestamp(), t.replay_of, t.payload
          FROM taken t
            ON CONFLICT DO NOTHING
    ), recalled AS (
        UPDATE queue
           SET cancel_reason = coalesce(cancel_reason, 'edited')
         WHERE id = ANY ($1::uuid[]) AND state = 'running'
     RETURNING schedule_id
    ), asked AS MATERIALIZED (
        SELECT pg_notify('rota_recall', schedule_id::text)
          FROM (SELECT DISTINCT schedule_id FROM recalled) AS r
    )
    SELECT (SELECT count(*) FROM taken), (SELECT count(*) FROM asked)
"""

RECORD_PASSED: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                         slot_count, status, reason, triggered_by, finished_at)
    SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.first, x.last, x.count, 'skipped',
           x.reason, 'schedule', clock_timestamp()
      FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                  $6::timestamptz[], $7::integer[], $8::text[])
           AS x(id, schedule_id, tenant_id, version, first, last, count, reason)
        ON CONFLICT DO NOTHING
"""

# What is live goes on as it is: the definition has not changed, only its version has. Those without
# a slot left have no timer that could count.
CHANGE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::integer[], $5::integer[])
               AS x(id, version, status, fired, calendar_version)
    ), disarmed AS (
        DELETE FROM timers
         WHERE schedule_id = ANY (ARRAY(SELECT x.id FROM x WHERE x.status = 'completed'))
    ), live AS (
        UPDATE queue q SET version = x.version FROM x WHERE q.schedule_id = x.id
    )
    UPDATE schedules s
       SET version = x.version, status = x.status, calendar_version = x.calendar_version,
           fired = CASE WHEN x.status = 'completed' THEN x.fired ELSE s.fired END,
           updated_at = $6
      FROM x
     WHERE s.id = x.id
"""
