"""The statements behind a tenant's figures. Each stops at a bound or takes one step of an index, so
that none walks a table, whatever the tenant has."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

SCHEDULES: LiteralString = """
    SELECT wanted.status, counted.count
      FROM unnest($2::text[]) AS wanted (status)
     CROSS JOIN LATERAL (
           SELECT count(*) FROM (
                  SELECT FROM schedules s
                   WHERE s.tenant_id = $1 AND s.status = wanted.status LIMIT $3) AS counted_up_to
           ) AS counted
"""

FIRINGS: LiteralString = """
    SELECT wanted.status, counted.count
      FROM unnest($2::text[]) AS wanted (status)
     CROSS JOIN LATERAL (
           SELECT count(*) FROM (
                  SELECT FROM firings f
                   WHERE f.tenant_id = $1 AND f.status = wanted.status
                     AND f.finished_at >= $4 LIMIT $3) AS counted_up_to
           ) AS counted
"""

# The lanes that anything is ready in, whoever's: few, each found by one step.
_LANES: LiteralString = """
    WITH RECURSIVE lanes AS (
        (SELECT q.lane FROM queue q
          WHERE q.state IN ('waiting', 'retrying') ORDER BY q.lane LIMIT 1)
         UNION ALL
        SELECT (SELECT q.lane FROM queue q
                 WHERE q.state IN ('waiting', 'retrying') AND q.lane > l.lane
                 ORDER BY q.lane LIMIT 1)
          FROM lanes l
         WHERE l.lane IS NOT NULL
    )
"""

# A claim that is held ahead of its instant has not begun: it still waits, as far as people see.
QUEUE: LiteralString = (
    _LANES
    + """,
    ready AS (
        SELECT r.state FROM lanes
         CROSS JOIN LATERAL (
               SELECT q.state FROM queue q
                WHERE q.lane = lanes.lane AND q.tenant_id = $1
                  AND q.state IN ('waiting', 'retrying') LIMIT $2) AS r
    ), claimed AS (
        SELECT CASE WHEN q.available_at <= clock_timestamp() THEN 'running'
                    WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END AS state
          FROM queue q
         WHERE q.tenant_id = $1 AND q.state = 'running' LIMIT $2
    ), blocked AS (
        SELECT q.state FROM queue q
         WHERE q.tenant_id = $1 AND q.state = 'blocked' LIMIT $2
    )
    SELECT state, least(count(*), $2) AS count
      FROM (TABLE ready UNION ALL TABLE claimed UNION ALL TABLE blocked) AS live
     GROUP BY state
"""
)

# A run of the index for each lane and priority, of which the first is the oldest.
OLDEST: LiteralString = (
    _LANES
    + """
    SELECT min(o.available_at) FILTER (WHERE o.available_at < 'infinity')
      FROM lanes
     CROSS JOIN generate_series(0, 9) AS p (priority)
     CROSS JOIN LATERAL (
           SELECT q.available_at FROM queue q
            WHERE q.lane = lanes.lane AND q.tenant_id = $1 AND q.priority = p.priority
              AND q.state IN ('waiting', 'retrying')
            ORDER BY q.available_at
            LIMIT 1) AS o
"""
)

NEXT_DUE_OF_FEW: LiteralString = """
    SELECT min(t.due_at)
      FROM schedules s
     CROSS JOIN LATERAL (
           SELECT due_at FROM timers
            WHERE schedule_id = s.id AND due_at < 'infinity' OFFSET 0) AS t
     WHERE s.tenant_id = $1 AND s.status = 'active'
"""

# With many schedules, one is soon found along the index of what is due next.
NEXT_DUE_OF_MANY: LiteralString = """
    SELECT min(t.due_at)
      FROM leases l
     CROSS JOIN LATERAL (
           SELECT t.due_at
             FROM timers t
             JOIN schedules s ON s.id = t.schedule_id AND s.tenant_id = $1
            WHERE t.shard = l.shard AND t.due_at < 'infinity'
            ORDER BY t.due_at
            LIMIT 1) AS t
"""

ROWS: LiteralString = """
    SELECT count(*) FROM (SELECT FROM queue LIMIT $1) AS counted_up_to
"""

# Of the first so many that are ready. For an operator who asks once, not for a page that is polled.
OLDEST_OF_ALL: LiteralString = """
    SELECT min(r.available_at) FILTER (WHERE r.available_at < 'infinity')
      FROM (SELECT available_at FROM queue
             WHERE state IN ('waiting', 'retrying') LIMIT $1) AS r
"""
