"""The statements of the claim. They are run more often than any other.

Work is found by its (lane, tenant, priority): each of these is one run of the index `queue_ready`,
and the next run is found from the last by one look into the index. So finding them costs the same
however many rows wait, and nothing for tenants without work. Retries far ahead cost that one look.

The bound on `available_at` is a subquery so that it is worked out once and can be an index
condition; a bare clock_timestamp() would be compared row by row. Looking at each run by itself
keeps the index's order whatever the version of PostgreSQL and whatever the planner believes, also
in a plan kept from when the queue was empty.

A worker claims for all tenants (`CLAIM`) or only for the tenants it serves (`CLAIM_FOR`). The two
differ in how they find runs and in nothing else. They are two statements, because a condition that
may be absent cannot be an index condition of a plan that serves both.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

# The first row of each run, of the tenants after $6. From one run to the next: to the next lower
# priority of the tenant, and when it has none, to the next tenant (an append stops at its first
# row). The subqueries around parameters keep the planner from making a new plan for every value:
# that would take longer than a look into an empty queue.
_RUNS: LiteralString = """
    runs AS (
        SELECT f.*
          FROM unnest((SELECT $1::text[])) AS l(lane)
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = l.lane AND q.tenant_id > (SELECT $6::uuid)
                  AND q.state IN ('waiting', 'retrying')
                ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                LIMIT 1) AS f
         UNION ALL
        SELECT n.*
          FROM runs r
         CROSS JOIN LATERAL (
               SELECT *
                 FROM (SELECT q.lane, q.tenant_id, q.priority, q.available_at
                         FROM queue q
                        WHERE q.lane = r.lane AND q.tenant_id = r.tenant_id
                          AND q.priority < r.priority
                          AND q.state IN ('waiting', 'retrying')
                        ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                        LIMIT 1) AS lower
                UNION ALL
               SELECT *
                 FROM (SELECT q.lane, q.tenant_id, q.priority, q.available_at
                         FROM queue q
                        WHERE q.lane = r.lane AND q.tenant_id > r.tenant_id
                          AND q.state IN ('waiting', 'retrying')
                        ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                        LIMIT 1) AS next
                LIMIT 1) AS n
    )
"""

# The same for the tenants $7 alone: one look into the index for each lane and tenant, so that what
# waits for other tenants costs nothing. Tenants in order, as $6 says where to go on.
_RUNS_FOR: LiteralString = """
    runs AS (
        SELECT f.*
          FROM (SELECT DISTINCT u.tenant_id
                  FROM unnest((SELECT $7::uuid[])) AS u(tenant_id)
                 WHERE u.tenant_id > (SELECT $6::uuid)
                 ORDER BY u.tenant_id) AS t
         CROSS JOIN unnest((SELECT $1::text[])) AS l(lane)
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = l.lane AND q.tenant_id = t.tenant_id
                  AND q.state IN ('waiting', 'retrying')
                ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                LIMIT 1) AS f
         UNION ALL
        SELECT n.*
          FROM runs r
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = r.lane AND q.tenant_id = r.tenant_id
                  AND q.priority < r.priority
                  AND q.state IN ('waiting', 'retrying')
                ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                LIMIT 1) AS n
    )
"""

# The rows of a run `w` that are due before what follows, the oldest first.
_OF_RUN: LiteralString = """
               SELECT q.ctid AS place
                 FROM queue q
                WHERE q.lane = w.lane AND q.tenant_id = w.tenant_id AND q.priority = w.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at <= """

# From `ready`, rows that are locked already. They are found one by one, where they lie: an array
# cannot be turned into a join. The columns are in the order of a `Claim`'s fields.
_TAKE: LiteralString = """
        UPDATE queue q
           SET state = 'running',
               worker = $2,
               attempt = q.attempt + 1,
               began_at = coalesce(q.began_at, greatest(q.available_at, clock_timestamp())),
               claimed_until = greatest(q.available_at, clock_timestamp()) + $5::interval
         WHERE q.ctid = ANY (ARRAY(SELECT ready.place FROM ready))
     RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
               q.claimed_until, q.began_at, q.attempt, q.priority, q.catch_up, q.triggered_by,
               q.lane, q.fence, q.cancel_reason, q.payload, q.replay_of, q.host, q.saga
"""

# When one tenant alone has work, as is usual, and no cap: its first $3 rows, at once. Otherwise,
# and with a $3 of 0, nothing is taken, and the runs are told, so that shares can be worked out.
#
# There is always a row: `after` is where to look on when there were too many runs to look at, and
# `first_at` the earliest instant of all that waits.
#
# Whoever claims for a tenant with a cap holds its lock until the end of the transaction, and counts
# after that (SHARE): two who counted at the same time would exceed the cap together. A tenant whose
# lock another claimer has is left to that one. Nobody waits, and nobody at all for the others.
_OF_RUNS: LiteralString = (
    """, found AS MATERIALIZED (
        SELECT * FROM runs LIMIT 512
    ), due AS MATERIALIZED (
        SELECT f.lane, f.tenant_id, f.priority, f.available_at,
               coalesce(t.weight, 1) AS weight, t.max_concurrency
          FROM found f
          LEFT JOIN LATERAL (
               SELECT t.weight, t.max_concurrency
                 FROM tenants t
                WHERE t.id = f.tenant_id
                LIMIT 1) AS t ON true
         WHERE f.available_at <= (SELECT clock_timestamp() + $4::interval)
    ), alone AS MATERIALIZED (
        SELECT $3 > 0 AND count(DISTINCT d.tenant_id) = 1 AND count(d.max_concurrency) = 0 AS is
          FROM due d
    ), ready AS MATERIALIZED (
        SELECT r.place
          FROM (SELECT d.lane, d.tenant_id, d.priority
                  FROM due d
                 WHERE (SELECT alone.is FROM alone)
                 ORDER BY d.priority DESC, d.available_at) AS w
         CROSS JOIN LATERAL ("""
    + _OF_RUN
    + """(SELECT clock_timestamp() + $4::interval)
                ORDER BY q.available_at
                LIMIT $3
                  FOR UPDATE SKIP LOCKED) AS r
         LIMIT $3
    ), taken AS ("""
    + _TAKE
    + """)
    SELECT t.*, coalesce(d.weight, (SELECT due.weight FROM due LIMIT 1)) AS weight,
           d.lane AS run_lane, d.tenant_id AS run_tenant, d.priority AS run_priority,
           d.available_at AS run_at, d.max_concurrency AS cap,
           d.max_concurrency IS NULL
           OR pg_try_advisory_xact_lock(1919906914, hashtext(d.tenant_id::text)) AS ours,
           (SELECT found.tenant_id FROM found OFFSET 511) AS after,
           (SELECT min(found.available_at) FROM found) AS first_at
      FROM (SELECT) AS one
      LEFT JOIN taken t ON true
      LEFT JOIN due d ON NOT (SELECT alone.is FROM alone)
"""
)

CLAIM: LiteralString = "WITH RECURSIVE " + _RUNS + _OF_RUNS
CLAIM_FOR: LiteralString = "WITH RECURSIVE " + _RUNS_FOR + _OF_RUNS

# For each tenant $1 as many as $3 says, or as its cap $6 still allows, of what is due by its $4,
# from its runs: those from $7 to $8 of all the runs, which are lanes $9 and priorities $10, in the
# order wanted.
SHARE: LiteralString = (
    """
    WITH asked AS MATERIALIZED (
        SELECT a.tenant_id, a.first, a.last, clock_timestamp() + a.lead AS before,
               CASE WHEN a.cap IS NULL THEN a.places
                    ELSE greatest(0, least(a.places, a.cap - (
                         SELECT count(*)
                           FROM (SELECT
                                   FROM queue q
                                  WHERE q.tenant_id = a.tenant_id AND q.state = 'running'
                                  LIMIT a.cap) AS running)))
               END AS places
          FROM unnest($1::uuid[], $3::bigint[], $4::interval[], $6::integer[], $7::integer[],
                      $8::integer[])
               AS a(tenant_id, places, lead, cap, first, last)
    ), ready AS MATERIALIZED (
        SELECT s.place
          FROM asked a
         CROSS JOIN LATERAL (
               SELECT r.place
                 FROM (SELECT a.tenant_id,
                              ($9::text[])[i] AS lane, ($10::smallint[])[i] AS priority
                         FROM generate_series(a.first, a.last) AS i) AS w
                CROSS JOIN LATERAL ("""
    + _OF_RUN
    + """a.before
                ORDER BY q.available_at
                LIMIT a.places
                  FOR UPDATE SKIP LOCKED) AS r
                LIMIT a.places) AS s
    )"""
    + _TAKE
)

COUNT_TENANTS: LiteralString = "SELECT count(*) FROM (SELECT FROM tenants LIMIT 2) AS t"
