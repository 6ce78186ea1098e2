"""Every statement about hosts: their circuits, their pace, and claims that wait for them.

Wherever a statement locks many rows, it does so in the order of their keys: two that met in
different orders would wait for each other.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import LiteralString

from rota.queue.ours_sql import OURS

# A row to count in. The one that answers in the meantime takes it away again, and that is right.
ENSURE_CIRCUITS: LiteralString = """
    INSERT INTO circuits (host, tenant_id, failures)
    SELECT host, tenant_id, 0
      FROM unnest($1::text[], $2::uuid[]) AS x(host, tenant_id)
     ORDER BY host, tenant_id
        ON CONFLICT DO NOTHING
"""

# The state machine of `rota.workers.hosts.circuit`, on the rows as they are once they are locked.
# `fresh` are the failures since the last answer within this report, and so are those of them that
# others may see (`x.shared`) or that are refusals (`x.refused`); `probe` is empty for none.
REPORT: LiteralString = """
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::text[], $2::boolean[], $3::integer[], $4::text[], $5::interval[],
                      $6::text[], $10::uuid[], $11::integer[], $12::integer[])
               AS x(host, answered, fresh, probe, retry_after, error, tenant_id, shared, refused)
         ORDER BY host, tenant_id
    ), held AS MATERIALIZED (
        SELECT h.host, h.tenant_id, h.trips, h.opened_at, h.open_until, h.probe_until, h.reach,
               x.fresh, x.probe, x.retry_after, x.error,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.fresh
                    ELSE h.failures + x.fresh END AS counted,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.shared
                    ELSE h.shared + x.shared END AS shared,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.refused
                    ELSE h.refused + x.refused END AS refused,
               x.probe = 'answered'
               OR (h.open_until IS NULL AND x.answered AND x.fresh = 0) AS closes
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.*
                 FROM circuits c
                WHERE c.host = x.host AND c.tenant_id = x.tenant_id
                  FOR UPDATE) AS h
    ), judged AS MATERIALIZED (
        SELECT held.*,
               NOT closes AND CASE WHEN open_until IS NULL THEN counted >= $7::integer
                                   ELSE probe = 'failed' END AS opens,
               least($9::interval, greatest(
                   $8::interval * power(2, least(trips, 20)), retry_after)) AS open_for
          FROM held
    ), closed AS (
        DELETE FROM circuits c
         USING judged j
         WHERE c.host = j.host AND c.tenant_id = j.tenant_id AND j.closes
    ), changed AS (
        UPDATE circuits c
           SET failures = j.counted,
               shared = j.shared,
               refused = j.refused,
               reach = CASE WHEN NOT j.opens THEN j.reach
                            WHEN j.refused >= $7::integer THEN 'host'
                            WHEN j.shared >= $7::integer THEN 'shared'
                            ELSE 'tenant' END,
               trips = j.trips + j.opens::integer,
               opened_at = CASE WHEN j.opens THEN t.now ELSE j.opened_at END,
               open_until = CASE WHEN j.opens THEN t.now + j.open_for
                                 WHEN j.open_until > t.now AND j.fresh > 0
                                 THEN greatest(j.open_until, t.now + least(j.retry_after, $9))
                                 ELSE j.open_until END,
               probe_until = CASE WHEN j.opens OR j.probe = 'void' THEN NULL
                                  ELSE j.probe_until END,
               last_error = coalesce(j.error, c.last_error),
               changed_at = t.now
          FROM judged j, t
         WHERE c.host = j.host AND c.tenant_id = j.tenant_id
           AND NOT j.closes AND (j.fresh > 0 OR j.probe <> '')
     RETURNING c.*
    ), told AS MATERIALIZED (
        SELECT pg_notify('rota_circuits', host)
          FROM judged
         WHERE opens OR (closes AND open_until IS NOT NULL) OR probe = 'void'
    )
    SELECT j.host, j.tenant_id, j.opens, j.closes, j.open_until IS NOT NULL AS was_open,
           coalesce(c.failures, j.counted) AS failures, coalesce(c.trips, j.trips) AS trips,
           coalesce(c.shared, j.shared) AS shared, coalesce(c.refused, j.refused) AS refused,
           coalesce(c.reach, j.reach) AS reach,
           coalesce(c.opened_at, j.opened_at) AS opened_at,
           coalesce(c.open_until, j.open_until) AS open_until,
           CASE WHEN c.host IS NULL THEN j.probe_until ELSE c.probe_until END AS probe_until,
           (SELECT count(*) FROM told) AS told
      FROM judged j
      LEFT JOIN changed c ON c.host = j.host AND c.tenant_id = j.tenant_id
"""

# A host that has answered one tenant ($1, $2) works: what others have seen is their own affair.
# A row that is being counted in is left to the next answer.
KEEP_TO_TENANTS: LiteralString = """
    WITH doubted AS MATERIALIZED (
        SELECT c.host, c.tenant_id, c.reach
          FROM circuits c
         WHERE c.host = ANY ($1::text[]) AND c.shared > 0
           AND EXISTS (SELECT
                         FROM unnest($1::text[], $2::uuid[]) AS x(host, tenant_id)
                        WHERE x.host = c.host AND x.tenant_id <> c.tenant_id)
         ORDER BY c.host, c.tenant_id
           FOR UPDATE SKIP LOCKED
    ), told AS MATERIALIZED (
        SELECT pg_notify('rota_circuits', host) FROM doubted WHERE reach <> 'tenant'
    )
    UPDATE circuits c
       SET shared = 0, refused = 0, reach = 'tenant'
      FROM doubted d
     WHERE c.host = d.host AND c.tenant_id = d.tenant_id AND (SELECT count(*) FROM told) >= 0
 RETURNING c.host, c.tenant_id
"""

# Whoever changes the row has the probe: the others wait for the lock, look again, and find it
# given. `probe_until` is for a prober that does not live to tell.
PROBE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::text[], $2::interval[], $3::uuid[]) AS x(host, patience, tenant_id)
         ORDER BY host, tenant_id
    ), held AS MATERIALIZED (
        SELECT h.*, x.patience
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.*
                 FROM circuits c
                WHERE c.host = x.host AND c.tenant_id = x.tenant_id
                  FOR UPDATE) AS h
    ), granted AS (
        UPDATE circuits c
           SET probe_until = clock_timestamp() + h.patience, changed_at = clock_timestamp()
          FROM held h
         WHERE c.host = h.host AND c.tenant_id = h.tenant_id
           AND h.open_until <= clock_timestamp()
           AND coalesce(h.probe_until <= clock_timestamp(), true)
     RETURNING c.host, c.tenant_id, c.probe_until
    )
    SELECT h.host, h.tenant_id, h.failures, h.shared, h.refused, h.reach, h.trips, h.opened_at,
           h.open_until, coalesce(g.probe_until, h.probe_until) AS probe_until,
           g.host IS NOT NULL AS granted
      FROM held h
      LEFT JOIN granted g ON g.host = h.host AND g.tenant_id = h.tenant_id
"""

CIRCUITS: LiteralString = """
    SELECT host, tenant_id, failures, shared, refused, reach, trips, opened_at, open_until,
           probe_until
      FROM circuits
     ORDER BY host, tenant_id
     LIMIT $1
"""

CIRCUITS_SHOWN: LiteralString = """
    SELECT c.host, c.tenant_id, c.failures, c.shared, c.refused, c.reach, c.trips, c.opened_at,
           c.open_until, c.probe_until, c.last_error, c.changed_at, t.name AS tenant,
           clock_timestamp() AS seen_at
      FROM circuits c
      LEFT JOIN tenants t ON t.id = c.tenant_id
     WHERE $1::text IS NULL OR (c.host, c.tenant_id) > ($1, $2::uuid)
     ORDER BY c.host, c.tenant_id
     LIMIT $3
"""

RESET_CIRCUIT: LiteralString = """
    WITH gone AS (
        DELETE FROM circuits WHERE host = $1 RETURNING host
    )
    SELECT count(*) AS count, max(pg_notify('rota_circuits', host)::text) FROM gone
"""

# A host that nobody has called for so long is a stranger again; its row would be read for ever.
FORGET: LiteralString = """
    WITH old_circuits AS (
        DELETE FROM circuits
         WHERE (host, tenant_id) IN (
               SELECT c.host, c.tenant_id
                 FROM circuits c
                WHERE greatest(c.changed_at, c.open_until) < now() - $1::interval
                ORDER BY c.host, c.tenant_id
                  FOR UPDATE SKIP LOCKED)
    )
    DELETE FROM host_pace
     WHERE host IN (SELECT p.host
                      FROM host_pace p
                     WHERE greatest(p.next_at, p.tail_at) < now() - $1::interval
                     ORDER BY p.host
                       FOR UPDATE SKIP LOCKED)
"""

ENSURE_PACES: LiteralString = """
    INSERT INTO host_pace (host, next_at, tail_at)
    SELECT host, now(), now() FROM unnest($1::text[]) AS x(host) ORDER BY host
        ON CONFLICT DO NOTHING
"""

# The n-th of a host starts n intervals after the first, and the first when the host is free. Those
# beyond the horizon get no place, only a time to come back, each an interval after the other:
# a place so far ahead would be lost when its claim is, and the host would stand idle.
RESERVE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT * FROM unnest($1::text[], $2::integer[]) AS x(host, wanted) ORDER BY host
    ), held AS MATERIALIZED (
        SELECT x.host, x.wanted, greatest(h.next_at, t.now) AS next_at,
               greatest(h.tail_at, t.now + $4::interval) AS tail_at,
               t.now + $4::interval AS horizon
          FROM x
         CROSS JOIN LATERAL (
               SELECT p.next_at, p.tail_at
                 FROM host_pace p
                WHERE p.host = x.host
                  FOR UPDATE) AS h
         -- After the lock: what was waited for is over.
         CROSS JOIN LATERAL (SELECT clock_timestamp() AS now WHERE h.next_at IS NOT NULL) AS t
    ), given AS MATERIALIZED (
        SELECT held.*,
               least(wanted, greatest(0, 1 + floor(
                   extract(epoch FROM horizon - next_at) / extract(epoch FROM $3::interval)
               ))::integer) AS places
          FROM held
    ), changed AS (
        UPDATE host_pace p
           SET next_at = g.next_at + g.places * $3::interval,
               tail_at = g.tail_at + (g.wanted - g.places) * $3::interval
          FROM given g
         WHERE p.host = g.host
    )
    SELECT host, places, next_at AS first_at, tail_at AS back_at FROM given
"""

# As RELEASE does, but for later. What somebody wants ended comes back at once, to be ended.
# `was` is the instant that was claimed: a postponement whose answer was lost is tried again, and
# by then its worker may have claimed the row anew, with the same attempt number, and begun it.
POSTPONE: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::timestamptz[], $5::timestamptz[])
               AS x(id, attempt, until, was)
         ORDER BY id
    ), held AS MATERIALIZED (
        SELECT h.id, x.until
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE """
    + OURS
    + """
                  AND q.available_at = x.was
                  FOR UPDATE) AS h
    )
    UPDATE queue q
       SET state = CASE WHEN q.attempt > 1 THEN 'retrying' ELSE 'waiting' END,
           attempt = q.attempt - 1,
           worker = NULL,
           claimed_until = NULL,
           available_at = CASE WHEN q.cancel_reason IS NULL
                               THEN greatest(q.available_at, h.until)
                               ELSE q.available_at END
      FROM held h
     WHERE q.id = h.id AND q.id = ANY (ARRAY(SELECT held.id FROM held))
 RETURNING q.id
"""
)
