"""A past for sample schedules: what a fortnight of a small company's work leaves behind."""

from __future__ import annotations

from typing import LiteralString

# How long each takes, and how often it fails, differ by schedule but not by run: $2 is a seed.
# A firing is a little late, as they are; every so many fail for good, or are skipped.
FIRINGS: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, due_at, status, reason,
                         attempt, triggered_by, started_at, finished_at, result_code)
    SELECT gen_random_uuid(), s.id, s.tenant_id, 1, at, at, made.status, made.reason,
           made.attempt, 'schedule', began, began + took, made.code
      FROM schedules s
     CROSS JOIN unnest($2::timestamptz[]) WITH ORDINALITY AS slot(at, n)
     CROSS JOIN LATERAL (SELECT ('x' || substr(md5(s.key || n), 1, 6))::bit(24)::int AS dice) AS d
     CROSS JOIN LATERAL (
           SELECT at + make_interval(secs => 0.02 + (dice % 97) / 900.0) AS began,
                  make_interval(secs => $3 * (0.7 + (dice % 61) / 60.0)
                                        * CASE WHEN dice % 37 = 0 THEN 2.5 ELSE 1 END) AS took) AS t
     CROSS JOIN LATERAL (
           SELECT CASE WHEN dice % $4 = 0 THEN 'dead' WHEN dice % 211 = 0 THEN 'skipped'
                       ELSE 'succeeded' END AS status,
                  CASE WHEN dice % $4 = 0 THEN 'HTTP 503, after 3 attempts'
                       WHEN dice % 211 = 0 THEN 'the one before was still running' END AS reason,
                  CASE WHEN dice % $4 = 0 THEN 3 WHEN dice % 29 = 0 THEN 2 ELSE 1 END AS attempt,
                  CASE WHEN dice % $4 = 0 THEN 503 WHEN dice % 211 = 0 THEN NULL ELSE 200 END
                      AS code) AS made
     WHERE s.key = $1
"""

ATTEMPTS: LiteralString = """
    INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                          started_at, finished_at, outcome, error, request, response_status,
                          response_headers, response_body)
    SELECT f.id, f.tenant_id, f.schedule_id, f.scheduled_for, n, gen_random_uuid(),
           began, began + took,
           CASE WHEN n = 3 THEN 'succeeded' ELSE 'failed' END,
           CASE WHEN n < 3 THEN 'HTTP 503 Service Unavailable' END, $2::jsonb,
           CASE WHEN n = 3 THEN 200 ELSE 503 END, $3::jsonb,
           CASE WHEN n = 3 THEN $4::bytea ELSE '{"error": "upstream is busy"}'::bytea END
      FROM firings f, generate_series(1, 3) AS n,
           LATERAL (SELECT f.started_at + (n - 1) * interval '2.1 s' AS began,
                           make_interval(secs => 0.3 + n * 0.6) AS took) AS t
     WHERE f.id = $1
"""

# The newest firing of a schedule that succeeded, which took three attempts to do so.
FEATURED: LiteralString = """
    UPDATE firings SET attempt = 3, finished_at = started_at + interval '6.3 s'
     WHERE id = (SELECT f.id FROM firings f JOIN schedules s ON s.id = f.schedule_id
                  WHERE s.key = $1 AND f.status = 'succeeded'
                  ORDER BY f.scheduled_for DESC LIMIT 1)
 RETURNING id
"""

# Three nodes, seen a moment ago, in the place of the one that answers.
NODES: LiteralString = """
    WITH own AS (DELETE FROM nodes RETURNING version)
    INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, started_at, seen_at)
    SELECT md5('rota-' || n || clock_timestamp())::uuid, ARRAY['api', 'scheduler', 'worker'],
           'rota-' || n, 7, (SELECT max(version) FROM own), 0, n, now() - n * interval '31 hours',
           now()
      FROM generate_series(1, 3) AS n
"""

LEASES: LiteralString = """
    UPDATE leases SET holder = (SELECT id FROM nodes WHERE host = 'rota-' || (1 + shard % 3)),
                      fence = 3 + shard % 3, leased_until = now() + interval '1 hour'
"""

TIMERS: LiteralString = """
    UPDATE timers SET scheduled_for = now() + interval '9 s', due_at = now() + interval '9 s'
     WHERE due_at < now() + interval '3 s'
"""

# What was noticed just now of a past that was written just now happened when it happened.
ALERTS: LiteralString = """
    UPDATE alerts SET opened_at = least(opened_at, seen_at - interval '40 s'),
                      closed_at = least(closed_at, seen_at + interval '42 min')
"""

TOLD: LiteralString = """
    UPDATE channels SET last_sent_at = now() - interval '47 min', last_error = NULL
"""

NAMED: LiteralString = "UPDATE api_keys SET name = 'Operator' WHERE name = ''"

CIRCUIT: LiteralString = """
    INSERT INTO circuits (host, failures, trips, opened_at, open_until, last_error)
    VALUES ('crm.acme.example', 23, 1, now() - interval '40 s', now() + interval '80 s',
            'HTTP 503 Service Unavailable')
"""
