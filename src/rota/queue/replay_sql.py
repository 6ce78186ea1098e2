"""The statements of replaying."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

_ORIGIN: LiteralString = """
    SELECT f.id, f.schedule_id, f.scheduled_for, f.status, f.slot_count, f.payload,
           f.triggered_by
      FROM firings f
"""

ORIGINS: LiteralString = (
    _ORIGIN
    + """
     WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) AND f.scheduled_for BETWEEN $3 AND $4
"""
)

# Until the transaction ends, as whoever comes second must see what the first has replayed.
LOCK_DEAD: LiteralString = "SELECT pg_advisory_xact_lock(1919906915, hashtext($1::uuid::text))"

# The oldest first, as they would have run. What has a replay already is not taken again: if that
# failed too, it is a dead letter itself. What has no schedule any more has nothing to send.
DEAD: LiteralString = (
    _ORIGIN
    + """
      JOIN schedules s ON s.id = f.schedule_id
     WHERE f.tenant_id = $1 AND f.status = 'dead'
       AND ($2::uuid IS NULL OR f.schedule_id = $2)
       AND ($3::timestamptz IS NULL OR f.scheduled_for >= $3)
       AND ($4::timestamptz IS NULL OR f.scheduled_for < $4)
       AND NOT EXISTS (SELECT FROM queue r WHERE r.replay_of = f.id AND r.replay_of IS NOT NULL)
       AND NOT EXISTS (SELECT FROM firings r WHERE r.replay_of = f.id AND r.replay_of IS NOT NULL)
     ORDER BY f.scheduled_for, f.id
     LIMIT $5
"""
)

REPLAYED: LiteralString = """
    SELECT replay_of FROM queue WHERE replay_of = ANY ($1::uuid[]) AND replay_of IS NOT NULL
     UNION
    SELECT replay_of FROM firings WHERE replay_of = ANY ($1::uuid[]) AND replay_of IS NOT NULL
"""

# `status` says what becomes of each: it waits or is blocked, or has ended as skipped. Lanes are
# woken once each, however many there are.
ENTER: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::integer[], $5::timestamptz[],
                      $6::smallint[], $7::text[], $8::text[], $9::text[], $10::jsonb[],
                      $11::uuid[], $12::text[], $13::text[])
               AS x(id, schedule_id, tenant_id, version, at, priority, status, lane, host, payload,
                    replay_of, reason, triggered_by)
    ), entered AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                           priority, state, triggered_by, lane, host, payload, replay_of)
        SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.at, least(x.at, clock_timestamp()),
               x.priority, x.status, x.triggered_by, x.lane, x.host, x.payload, x.replay_of
          FROM x WHERE x.status <> 'skipped'
     RETURNING lane
    ), skipped AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, finished_at, payload, replay_of)
        SELECT x.id, x.schedule_id, x.tenant_id, x.version, x.at, 'skipped', x.reason, 0,
               x.triggered_by, clock_timestamp(), x.payload, x.replay_of
          FROM x WHERE x.status = 'skipped'
    )
    SELECT pg_notify('rota_queue', lane) FROM (SELECT DISTINCT lane FROM entered) AS lanes
"""
