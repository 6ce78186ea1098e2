"""What the watchdog reads. Each statement stops at a bound or takes steps of an index, so that none
walks a table, whatever there is; `statement_timestamp` because an index cannot be searched by a
clock that moves."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.db import locks

# The timers that nobody has fired, of each shard the oldest; and any of the schedules asked after.
OVERDUE_TIMERS: LiteralString = """
    SELECT t.schedule_id, s.tenant_id, t.due_at, statement_timestamp() - t.due_at AS late
      FROM (SELECT o.schedule_id, o.due_at
              FROM leases l
             CROSS JOIN LATERAL (
                   SELECT schedule_id, due_at FROM timers
                    WHERE shard = l.shard AND due_at < statement_timestamp() - $1::interval
                    ORDER BY due_at
                    LIMIT $2) AS o
             UNION
            SELECT schedule_id, due_at FROM timers
             WHERE schedule_id = ANY ($3::uuid[])
               AND due_at < statement_timestamp() - $1::interval) AS t
      JOIN schedules s ON s.id = t.schedule_id
     WHERE s.status = 'active'
"""

# The lanes and tenants that anything is ready for, each found by one step of the index.
_PLACES: LiteralString = """
    WITH RECURSIVE places AS (
        (SELECT q.lane, q.tenant_id FROM queue q
          WHERE q.state IN ('waiting', 'retrying')
          ORDER BY q.lane, q.tenant_id LIMIT 1)
         UNION ALL
        SELECT n.lane, n.tenant_id
          FROM places p
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id FROM queue q
                WHERE q.state IN ('waiting', 'retrying')
                  AND (q.lane, q.tenant_id) > (p.lane, p.tenant_id)
                ORDER BY q.lane, q.tenant_id
                LIMIT 1) AS n
    ), late AS (
        SELECT p.lane, w.*
          FROM places p
         CROSS JOIN generate_series(0, 9) AS g (priority)
         CROSS JOIN LATERAL (
               SELECT q.schedule_id, q.tenant_id, q.available_at, q.triggered_by
                 FROM queue q
                WHERE q.lane = p.lane AND q.tenant_id = p.tenant_id AND q.priority = g.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at < statement_timestamp() - $1::interval
                ORDER BY q.available_at
                LIMIT $2) AS w
    )
"""

# Only slots: what somebody put into a queue to be done in its turn is not late for waiting there.
OVERDUE_QUEUE: LiteralString = (
    _PLACES
    + """
    SELECT w.schedule_id, w.tenant_id, min(w.available_at) AS due_at,
           statement_timestamp() - min(w.available_at) AS late
      FROM (SELECT schedule_id, tenant_id, available_at FROM late WHERE triggered_by = 'schedule'
             UNION
            SELECT schedule_id, tenant_id, available_at FROM queue
             WHERE schedule_id = ANY ($3::uuid[]) AND state IN ('waiting', 'retrying')
               AND triggered_by = 'schedule'
               AND available_at < statement_timestamp() - $1::interval) AS w
     GROUP BY w.schedule_id, w.tenant_id
"""
)

LATE: LiteralString = _PLACES + "SELECT count(*) FROM late"

CIRCUITS: LiteralString = """
    SELECT host, sum(failures) AS failures, min(opened_at) AS opened_at
      FROM circuits
     WHERE opened_at IS NOT NULL AND open_until IS NOT NULL
     GROUP BY host
     ORDER BY host
     LIMIT $1
"""

FENCES: LiteralString = "SELECT shard, fence FROM leases"

# Of tenants that had something dead lately, or are known to fail: what ended within the hour.
FAILING: LiteralString = """
    SELECT w.tenant_id,
           (SELECT count(*) FROM (
                   SELECT FROM firings f
                    WHERE f.tenant_id = w.tenant_id AND f.status = 'succeeded'
                      AND f.finished_at >= statement_timestamp() - interval '1 hour'
                    LIMIT $1) AS counted_up_to) AS succeeded,
           (SELECT count(*) FROM (
                   SELECT FROM firings f
                    WHERE f.tenant_id = w.tenant_id AND f.status = 'dead'
                      AND f.finished_at >= statement_timestamp() - interval '1 hour'
                    LIMIT $1) AS counted_up_to) AS dead
      FROM (SELECT tenant_id FROM alerts
             WHERE closed_at IS NULL AND kind IN ('dead', 'failing')
             UNION
            SELECT tenant_id FROM alerts
             WHERE closed_at >= statement_timestamp() - interval '1 hour' AND kind = 'dead') AS w
"""

# For tenants who asked for it: the newest successes, beside the time that they may take. Only first
# attempts: of others it is not known here when they began.
SLOW: LiteralString = """
    SELECT s.id AS schedule_id, s.tenant_id,
           max(extract(epoch FROM f.finished_at - f.started_at)) AS took,
           coalesce((s.definition ->> 'timeout_seconds')::float8,
                    CASE WHEN s.job_type IS NULL THEN 30 ELSE 3600 END) AS timeout
      FROM (SELECT DISTINCT tenant_id FROM channels
             WHERE enabled AND 'slow' = ANY (events)) AS c
     CROSS JOIN LATERAL (
           SELECT f.schedule_id, f.started_at, f.finished_at, f.attempt
             FROM firings f
            WHERE f.tenant_id = c.tenant_id AND f.status = 'succeeded'
              AND f.finished_at >= statement_timestamp() - interval '10 minutes'
            ORDER BY f.finished_at DESC
            LIMIT $1) AS f
      JOIN schedules s ON s.id = f.schedule_id
     WHERE f.attempt = 1 AND f.started_at IS NOT NULL
     GROUP BY s.id
"""

TRY_LOCK: LiteralString = "SELECT pg_try_advisory_xact_lock(" + locks.WATCH + ")"
