"""The statements of the outbox."""

from __future__ import annotations

from typing import LiteralString

WANTING: LiteralString = """
    SELECT id, tenant_id, events, tags
      FROM channels
     WHERE enabled AND (tenant_id = ANY ($1::uuid[]) OR ($2 AND 'installation' = ANY (events)))
     ORDER BY id
"""

ADD: LiteralString = """
    INSERT INTO notifications (id, tenant_id, channel_id, event, alert_id, firing_id, title,
                               content)
    SELECT x.id, c.tenant_id, c.id, x.event, x.alert_id, x.firing_id, x.title, x.content
      FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::uuid[], $6::text[],
                  $7::jsonb[])
           AS x (id, channel_id, event, alert_id, firing_id, title, content)
      JOIN channels c ON c.id = x.channel_id
     ORDER BY x.id
        ON CONFLICT (channel_id, firing_id) WHERE firing_id IS NOT NULL DO NOTHING
"""

# Taken for as long as a sending may take; whoever crashes meanwhile has only delayed it. The first
# of each tenant, then the second of each: one whose receiver does not answer delays its own.
TAKE: LiteralString = """
    WITH due AS MATERIALIZED (
        SELECT n.id, n.available_at,
               row_number() OVER (PARTITION BY n.tenant_id ORDER BY n.available_at) AS place
          FROM notifications n
          JOIN channels c ON c.id = n.channel_id
         WHERE n.status = 'pending' AND n.available_at <= (SELECT clock_timestamp())
           AND (c.enabled OR n.event = 'test')
    ), taken AS (
        SELECT n.id
          FROM due d
          JOIN notifications n ON n.id = d.id
         WHERE n.status = 'pending' AND n.available_at <= clock_timestamp()
         ORDER BY d.place, d.available_at
         LIMIT $1
           FOR UPDATE OF n SKIP LOCKED
    )
    UPDATE notifications n
       SET attempt = n.attempt + 1, available_at = clock_timestamp() + $2::interval
      FROM taken
     WHERE n.id = taken.id
 RETURNING n.id, n.tenant_id, n.channel_id, n.event, n.attempt, n.title, n.content
"""

# The attempt is the proof: one that took too long must not speak for the next.
SENT: LiteralString = """
    WITH done AS (
        UPDATE notifications
           SET status = 'sent', ended_at = clock_timestamp(), error = NULL
         WHERE id = $1 AND attempt = $2 AND status = 'pending'
     RETURNING channel_id
    )
    UPDATE channels c SET last_sent_at = clock_timestamp(), last_error = NULL
      FROM done WHERE c.id = done.channel_id
"""

# Without a time to try again it is given up.
FAILED: LiteralString = """
    WITH done AS (
        UPDATE notifications
           SET status = CASE WHEN $4::interval IS NULL THEN 'given_up' ELSE 'pending' END,
               ended_at = CASE WHEN $4::interval IS NULL THEN clock_timestamp() END,
               available_at = clock_timestamp() + coalesce($4::interval, '0'),
               error = $3
         WHERE id = $1 AND attempt = $2 AND status = 'pending'
     RETURNING channel_id
    )
    UPDATE channels c SET last_error = $3 FROM done WHERE c.id = done.channel_id
"""

LIST: LiteralString = """
    SELECT id, event, title, status, attempt, error, created_at, ended_at
      FROM notifications
     WHERE tenant_id = $1 AND channel_id = $2 AND ($6::uuid IS NULL OR id = $6)
       AND ($3::timestamptz IS NULL OR (created_at, id) < ($3, $4::uuid))
     ORDER BY created_at DESC, id DESC
     LIMIT $5
"""

TURN_OFF: LiteralString = "UPDATE channels SET enabled = false, updated_at = now() WHERE id = $1"

FORGET: LiteralString = """
    DELETE FROM notifications WHERE ended_at < clock_timestamp() - $1::interval
"""

# What has waited for so long is told by nobody any more, such as on a channel that was turned off.
EXPIRE: LiteralString = """
    UPDATE notifications SET status = 'given_up', ended_at = clock_timestamp()
     WHERE status = 'pending' AND created_at < clock_timestamp() - $1::interval
"""

# Successes since the channel was last told of them. One that was recorded more than a minute after
# it had ended, because the database was away, is not told; nor is one of a channel on which so many
# wait already, as its receiver does not answer, or not as fast as there are more.
SUCCESSES: LiteralString = """
    SELECT c.id AS channel_id, f.id AS firing_id, f.schedule_id, s.name, f.finished_at
      FROM channels c
     CROSS JOIN LATERAL (
           SELECT f.id, f.schedule_id, f.finished_at
             FROM firings f
            WHERE f.tenant_id = c.tenant_id AND f.status = 'succeeded'
              AND f.finished_at >= c.told_until - interval '1 minute'
            ORDER BY f.finished_at DESC
            LIMIT $1) AS f
      JOIN schedules s ON s.id = f.schedule_id
     WHERE c.enabled AND 'succeeded' = ANY (c.events)
       AND $2 > (SELECT count(*)
                   FROM (SELECT FROM notifications p
                          WHERE p.channel_id = c.id AND p.status = 'pending' LIMIT $2) AS waiting)
       AND f.finished_at >= c.created_at
       AND (c.tags = '{}' OR c.tags && s.tags)
       AND NOT EXISTS (SELECT FROM notifications n
                        WHERE n.channel_id = c.id AND n.firing_id = f.id)
"""

TOLD_UNTIL: LiteralString = """
    UPDATE channels SET told_until = clock_timestamp()
     WHERE enabled AND 'succeeded' = ANY (events)
       AND told_until < clock_timestamp() - interval '10 seconds'
"""
