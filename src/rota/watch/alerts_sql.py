"""The statements about alerts. Each works on a whole batch at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.watch.alert import Alert

if TYPE_CHECKING:
    from rota.db import Row

# Whoever notices a trouble first opens it; who notices it again adds to it. In one order, so that
# two nodes that notice the same never wait for each other in a circle.
OPEN: LiteralString = """
    INSERT INTO alerts AS a (id, tenant_id, kind, subject, schedule_id, detail, count, seen_at)
    SELECT x.id, x.tenant_id, $1, x.subject, x.schedule_id, x.detail, x.count,
           coalesce(x.seen_at, clock_timestamp())
      FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::bigint[],
                  $8::timestamptz[])
           AS x (id, tenant_id, subject, schedule_id, detail, count, seen_at)
     ORDER BY x.tenant_id, x.subject
        ON CONFLICT (kind, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'::uuid),
                     subject) WHERE closed_at IS NULL
        DO UPDATE SET detail = excluded.detail, count = a.count + excluded.count,
                      seen_at = greatest(a.seen_at, excluded.seen_at)
 RETURNING a.id, a.tenant_id, a.kind, a.subject, a.detail, (a.xmax = 0) AS fresh
"""

TOUCH: LiteralString = """
    UPDATE alerts a
       SET seen_at = clock_timestamp(), detail = x.detail
      FROM unnest($2::uuid[], $3::text[], $4::text[]) AS x (tenant_id, subject, detail)
     WHERE a.closed_at IS NULL AND a.kind = $1 AND a.subject = x.subject
       AND a.tenant_id IS NOT DISTINCT FROM x.tenant_id
"""

CLOSE: LiteralString = """
    UPDATE alerts a SET closed_at = clock_timestamp()
     WHERE a.closed_at IS NULL AND a.id = ANY ($1::uuid[])
 RETURNING a.id
"""

_COLUMNS: LiteralString = """
    a.*, s.name AS schedule_name, s.key AS schedule_key, coalesce(s.tags, '{}') AS tags,
    EXISTS (SELECT FROM monitors m WHERE m.schedule_id = a.schedule_id) AS is_monitor
"""

OPEN_OF_KIND: LiteralString = (
    "SELECT"
    + _COLUMNS
    + """
      FROM alerts a
      LEFT JOIN schedules s ON s.id = a.schedule_id
     WHERE a.closed_at IS NULL AND a.kind = ANY ($1::text[])
     ORDER BY a.id
"""
)

# Those that may be told by now: $2 has the least time after the first word, the second, and so on.
_DUE: LiteralString = """
    WITH due AS MATERIALIZED (
        SELECT id, told_at,
               row_number() OVER (PARTITION BY tenant_id ORDER BY told_at NULLS FIRST, id) AS place
          FROM alerts
         WHERE closed_at IS NULL AND count > told_count
           AND (told_at IS NULL
                OR told_at <= clock_timestamp()
                              - ($2::interval[])[least(greatest(told, 1), cardinality($2))])
    )
"""

# The first of each tenant, then the second of each: one with thousands delays its own. Who tells
# holds them: two nodes must not both.
UNTOLD: LiteralString = (
    _DUE
    + "SELECT"
    + _COLUMNS
    + """
      FROM due
      JOIN alerts a ON a.id = due.id
      LEFT JOIN schedules s ON s.id = a.schedule_id
     WHERE a.closed_at IS NULL AND a.count > a.told_count
       AND a.told_at IS NOT DISTINCT FROM due.told_at
     ORDER BY due.place, due.told_at NULLS FIRST
     LIMIT $1
       FOR UPDATE OF a SKIP LOCKED
"""
)

TOLD: LiteralString = """
    UPDATE alerts
       SET told_count = count, told = told + 1, told_at = clock_timestamp()
     WHERE id = ANY ($1::uuid[])
"""

BY_ID: LiteralString = (
    "SELECT"
    + _COLUMNS
    + """
      FROM alerts a
      LEFT JOIN schedules s ON s.id = a.schedule_id
     WHERE a.id = ANY ($1::uuid[])
"""
)

# What an operator asks for ($2) also has those of no tenant: the installation's.
LIST: LiteralString = (
    "SELECT"
    + _COLUMNS
    + """
      FROM alerts a
      LEFT JOIN schedules s ON s.id = a.schedule_id
     WHERE (a.tenant_id = $1 OR ($2 AND a.tenant_id IS NULL))
       AND ($3::boolean IS NULL OR (a.closed_at IS NULL) = $3)
       AND ($4::text IS NULL OR a.kind = $4)
       AND ($5::timestamptz IS NULL OR (a.opened_at, a.id) < ($5, $6::uuid))
     ORDER BY a.opened_at DESC, a.id DESC
     LIMIT $7
"""
)

# Open alerts after an id, each with what may end it: its schedule is gone, one of the newest
# firings has succeeded since the trouble was last seen to go on, a monitor was told since that all
# is well (a ping that counts for no slot brings it back, too), or there was no news for long.
ENDING: LiteralString = """
    SELECT a.id,
           a.schedule_id IS NOT NULL AND s.id IS NULL AS gone,
           coalesce(f.succeeded, false)
               OR coalesce(m.state = 'up' AND m.last_ping_at > a.seen_at, false) AS succeeded,
           a.seen_at < clock_timestamp() - $2::interval AS quiet
      FROM (SELECT * FROM alerts
             WHERE closed_at IS NULL AND kind = ANY ($1::text[]) AND id > $3
             ORDER BY id
             LIMIT $4) AS a
      LEFT JOIN schedules s ON s.id = a.schedule_id
      LEFT JOIN monitors m ON m.schedule_id = a.schedule_id
      LEFT JOIN LATERAL (
           SELECT bool_or(n.status = 'succeeded' AND n.finished_at > a.seen_at) AS succeeded
             FROM (SELECT f.status, f.finished_at FROM firings f
                    WHERE f.schedule_id = a.schedule_id
                      AND f.scheduled_for >= a.opened_at - interval '2 days'
                    ORDER BY f.scheduled_for DESC
                    LIMIT 20) AS n) AS f ON true
     ORDER BY a.id
"""

FORGET: LiteralString = "DELETE FROM alerts WHERE closed_at < clock_timestamp() - $1::interval"


def alert(row: Row) -> Alert:
    return Alert(
        id=row["id"],
        tenant_id=row["tenant_id"],
        kind=row["kind"],
        subject=row["subject"],
        schedule_id=row["schedule_id"],
        schedule_name=row["schedule_name"],
        schedule_key=row["schedule_key"],
        tags=tuple(row["tags"]),
        detail=row["detail"],
        count=row["count"],
        told_count=row["told_count"],
        told=row["told"],
        told_at=row["told_at"],
        opened_at=row["opened_at"],
        seen_at=row["seen_at"],
        closed_at=row["closed_at"],
        is_monitor=row["is_monitor"],
    )
