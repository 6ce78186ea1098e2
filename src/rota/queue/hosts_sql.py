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
    INSERT INTO circuits (host, failures)
    SELECT host, 0 FROM unnest($1::text[]) AS x(host) ORDER BY host
        ON CONFLICT DO NOTHING
"""

# The state machine of `rota.workers.hosts.circuit`, on the rows as they are once they are locked.
# `fresh` are the failures since the last answer within this report; `probe` is empty for none.
REPORT: LiteralString = """
    WITH t AS MATERIALIZED (
        SELECT clock_timestamp() AS now
    ), x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::text[], $2::boolean[], $3::integer[], $4::text[], $5::interval[],
                      $6::text[])
               AS x(host, answered, fresh, probe, retry_after, error)
         ORDER BY host
    ), held AS MATERIALIZED (
        SELECT h.*, x.fresh, x.probe, x.retry_after, x.error,
               CASE WHEN h.open_until IS NULL AND x.answered THEN x.fresh
                    ELSE h.failures + x.fresh END AS counted,
               x.probe = 'answered'
               OR (h.open_until IS NULL AND x.answered AND x.fresh = 0) AS closes
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.host, c.failures, c.trips, c.opened_at, c.open_until, c.probe_until
                 FROM circuits c
                WHERE c.host = x.host
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
         WHERE c.host = j.host AND j.closes
    ), changed AS (
        UPDATE circuits c
           SET failures = j.counted,
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
         WHERE c.host = j.host AND NOT j.closes AND (j.fresh > 0 OR j.probe <> '')
     RETURNING c.*
    ), told AS MATERIALIZED (
        SELECT pg_notify('rota_circuits', host)
          FROM judged
         WHERE opens OR (closes AND open_until IS NOT NULL) OR probe = 'void'
    )
    SELECT j.host, j.opens, j.closes, j.open_until IS NOT NULL AS was_open,
           coalesce(c.failures, j.counted) AS failures, coalesce(c.trips, j.trips) AS trips,
           coalesce(c.opened_at, j.opened_at) AS opened_at,
           coalesce(c.open_until, j.open_until) AS open_until,
           CASE WHEN c.host IS NULL THEN j.probe_until ELSE c.probe_until END AS probe_until,
           (SELECT count(*) FROM told) AS told
      FROM judged j
      LEFT JOIN changed c ON c.host = j.host
"""

# Whoever changes the row has the probe: the others wait for the lock, look again, and find it
# given. `probe_until` is for a prober that does not live to tell.
PROBE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT * FROM unnest($1::text[], $2::interval[]) AS x(host, patience) ORDER BY host
    ), held AS MATERIALIZED (
        SELECT h.*, x.patience
          FROM x
         CROSS JOIN LATERAL (
               SELECT c.*
                 FROM circuits c
                WHERE c.host = x.host
                  FOR UPDATE) AS h
    ), granted AS (
        UPDATE circuits c
           SET probe_until = clock_timestamp() + h.patience, changed_at = clock_timestamp()
          FROM held h
         WHERE c.host = h.host AND h.open_until <= clock_timestamp()
           AND coalesce(h.probe_until <= clock_timestamp(), true)
     RETURNING c.host, c.probe_until
    )
    SELECT h.host, h.failures, h.trips, h.opened_at, h.open_until,
           coalesce(g.probe_until, h.probe_until) AS probe_until, g.host IS NOT NULL AS granted
      FROM held h
      LEFT JOIN granted g ON g.host = h.host
"""

CIRCUITS: LiteralString = """
    SELECT host, failures, trips, opened_at, open_until, probe_until
      FROM circuits
     ORDER BY host
     LIMIT $1
"""

CIRCUITS_SHOWN: LiteralString = """
    SELECT host, failures, trips, opened_at, open_until, probe_until, last_error, changed_at,
           clock_timestamp() AS seen_at
      FROM circuits
     WHERE ($1::text IS NULL OR host > $1)
     ORDER BY host
     LIMIT $2
"""

RESET_CIRCUIT: LiteralString = """
    WITH gone AS (
        DELETE FROM circuits WHERE host = $1 RETURNING host
    )
    SELECT host, pg_notify('rota_circuits', host) FROM gone
"""

# A host that nobody has called for so long is a stranger again; its row would be read for ever.
FORGET: LiteralString = """
    WITH old_circuits AS (
        DELETE FROM circuits
         WHERE host IN (SELECT c.host
                          FROM circuits c
                         WHERE greatest(c.changed_at, c.open_until) < now() - $1::interval
                         ORDER BY c.host
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
