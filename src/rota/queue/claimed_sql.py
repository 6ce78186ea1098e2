"""The statements on single claims, by whoever does their work; and on those left for too long."""

from __future__ import annotations

from typing import LiteralString

_CLAIMED: LiteralString = """
    SELECT q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
           q.claimed_until, q.fence, q.attempt, q.priority, q.catch_up, q.triggered_by, q.lane,
           q.cancel_reason, q.payload, q.replay_of, q.host, q.saga, q.worker,
           coalesce(q.began_at, q.available_at) AS began_at,
           coalesce(a.started_at, q.pulled_at) AS started_at, a.response_status,
           q.pulled_by
      FROM queue q
      LEFT JOIN attempts a
        ON a.firing_id = q.id AND a.attempt = q.attempt AND a.scheduled_for = q.scheduled_for
"""

# One that whoever does the work speaks of; nobody else ends or rescues it before the end.
HELD: LiteralString = _CLAIMED + " WHERE q.id = $1 AND q.state = 'running' FOR UPDATE OF q"

# Left to their targets for too long, or for as long as somebody let them.
OVERDUE: LiteralString = (
    _CLAIMED
    + """
     WHERE q.state = 'running' AND q.worker = $2
       AND q.claimed_until < (SELECT clock_timestamp())
     ORDER BY q.id
     LIMIT $1
       FOR UPDATE OF q SKIP LOCKED
"""
)

KEEP: LiteralString = """
    UPDATE queue
       SET claimed_until = greatest(claimed_until, clock_timestamp() + $3::interval)
     WHERE id = $1 AND attempt = $2 AND state = 'running'
 RETURNING claimed_until
"""
