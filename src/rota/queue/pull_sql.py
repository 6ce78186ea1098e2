"""The statements of a claim from outside: for one tenant, from one lane, never ahead of time."""

from __future__ import annotations

from typing import LiteralString

STANDING: LiteralString = "SELECT weight, max_concurrency FROM tenants WHERE id = $1"

# The same lock as Rota's own claimers have for a tenant with a cap (`claim_sql.CLAIM`): two who
# counted at the same time would exceed the cap together. Those never wait for it; here somebody
# does, because "nothing there" would be a wrong answer to whoever asks once.
LOCK_CAPPED: LiteralString = """
    SELECT pg_advisory_xact_lock(1919906914, hashtext($1::uuid::text))
"""

# By priority, then the oldest first. Each priority is one run of the index `queue_ready`, looked at
# by itself, as in `claim_sql`; what others hold or are about to is passed over.
PULL: LiteralString = """
    WITH room AS MATERIALIZED (
        SELECT CASE WHEN $6::integer IS NULL THEN $4::bigint
                    ELSE greatest(0, least($4::bigint, $6::integer - (
                         SELECT count(*)
                           FROM (SELECT
                                   FROM queue q
                                  WHERE q.tenant_id = $1 AND q.state = 'running'
                                  LIMIT $6) AS running)))
               END AS places
    ), ready AS MATERIALIZED (
        SELECT r.id
          FROM generate_series(9, 0, -1) AS p(priority)
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE q.lane = $2 AND q.tenant_id = $1 AND q.priority = p.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at <= (SELECT clock_timestamp())
                ORDER BY q.available_at
                LIMIT (SELECT places FROM room)
                  FOR UPDATE SKIP LOCKED) AS r
         LIMIT (SELECT places FROM room)
    )
    UPDATE queue q
       SET state = 'running',
           worker = $3,
           attempt = q.attempt + 1,
           began_at = coalesce(q.began_at, clock_timestamp()),
           claimed_until = clock_timestamp() + $5::interval,
           pulled_at = clock_timestamp(),
           pulled_by = $7
     WHERE q.id = ANY (ARRAY(SELECT ready.id FROM ready))
 RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
           q.claimed_until, q.began_at, q.fence, q.attempt, q.priority, q.catch_up,
           q.triggered_by, q.lane, q.cancel_reason, q.payload, q.replay_of, q.host, q.saga,
           q.pulled_at
"""

# The next that will be due, if it is in the queue already: one look for each priority.
NEXT_AT: LiteralString = """
    SELECT min(r.available_at) - clock_timestamp()
      FROM generate_series(9, 0, -1) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT q.available_at
             FROM queue q
            WHERE q.lane = $2 AND q.tenant_id = $1 AND q.priority = p.priority
              AND q.state IN ('waiting', 'retrying')
              AND q.available_at > (SELECT clock_timestamp())
            ORDER BY q.available_at
            LIMIT 1) AS r
"""
