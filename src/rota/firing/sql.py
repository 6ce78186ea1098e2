"""The statements of firing: two that look, one that fires."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, LiteralString

from rota.firing.overlap import MOST_LIVE
from rota.firing.plan import Due

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import FencedTx, Tx

# Shard by shard, so that each is a walk along the index that stops at its limit; all shards in one
# condition would be read whole and sorted, every time. `low` keeps the walk off the dead entries
# that advanced timers leave at the head of the index. The time is a constant of the statement, so
# that it can bound the walk, and nothing is locked here that could make it old.
_DUE: LiteralString = """
    WITH due AS MATERIALIZED (
        SELECT t.*
          FROM unnest($1::smallint[], $2::timestamptz[]) AS s (shard, low)
         CROSS JOIN LATERAL (
               SELECT schedule_id, shard, scheduled_for, due_at, version, fired, touched
                 FROM timers
                WHERE shard = s.shard AND due_at > s.low
                  AND due_at <= statement_timestamp() + $3::interval
                ORDER BY due_at
                LIMIT $4) AS t)
    SELECT clock.now, due.*,
           (SELECT count(*) FROM (SELECT FROM queue q
                                    WHERE q.schedule_id = due.schedule_id LIMIT $5) AS l) AS live
      FROM (SELECT statement_timestamp() AS now) AS clock
      LEFT JOIN due ON true
     ORDER BY due.due_at
"""

_NEXT: LiteralString = """
    SELECT min(t.due_at)
      FROM unnest($1::smallint[]) AS s (shard)
     CROSS JOIN LATERAL (
           SELECT due_at FROM timers
            WHERE shard = s.shard AND due_at > $2 AND due_at < 'infinity'
            ORDER BY due_at
            LIMIT 1) AS t
"""

CONTRACTS: LiteralString = """
    SELECT s.id, s.tenant_id, s.version, s.anchor_at, s.definition, c.days
      FROM schedules s
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.id = ANY ($1::uuid[])
"""

# Timers first: whoever changes a schedule locks them in that order too.
LOCK_TIMERS: LiteralString = """
    SELECT schedule_id FROM timers
     WHERE schedule_id = ANY ($1::uuid[]) ORDER BY schedule_id FOR UPDATE
"""

# Blocked ones last: whoever ends one that is not frees one that is, perhaps of an older slot.
LOCK_LIVE: LiteralString = """
    SELECT id FROM queue
     WHERE schedule_id = ANY ($1::uuid[]) ORDER BY state = 'blocked', id FOR UPDATE
"""

# x: one row for each timer. `moved` and `ended` compare everything that was decided on; all else
# follows from what they return, so a timer that has changed since it was read writes nothing.
# The first slot of a timer travels in x itself, so that the common case joins nothing; further
# slots are the rows `m`, what ends here and now the rows `n`. A slot that has ended before (its id
# is in firings) or is live (its id is in queue) does not enter again; of the others, the first
# heads the chain.
# Looks into firings and queue are scalar subqueries on purpose: they are made row by row through
# the index, where a join, or a hashed EXISTS, would choose to read the whole table. For the same
# reason what is cancelled is named by an array: a plan kept from when the queue was empty would
# walk all of it, and all of `done` for each of its rows. What is left to its target (held by the
# nil UUID, `queue.states.NOBODY`) has its time cut to now: the next look for what is overdue ends
# it.
FIRE: LiteralString = """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($1::uuid[], $2::timestamptz[], $3::integer[], $4::integer[], $5::boolean[],
                      $6::boolean[], $7::timestamptz[], $8::timestamptz[], $9::integer[],
                      $10::uuid[], $11::bigint[], $12::smallint[], $13::boolean[],
                      $14::text[], $15::boolean[], $16::text[], $17::text[], $18::uuid[],
                      $19::timestamptz[], $20::timestamptz[])
               AS x (schedule_id, expected, version, touched, free, live, next_for, next_due,
                     firings, tenant_id, fence, priority, catch_up, entry, chained, lane,
                     host, id, scheduled_for, available_at)),
    moved AS (
           UPDATE timers t
              SET scheduled_for = x.next_for, due_at = x.next_due, fired = t.fired + x.firings
             FROM x
            WHERE t.schedule_id = x.schedule_id AND x.next_for IS NOT NULL
              AND t.scheduled_for = x.expected AND t.version = x.version
              AND t.touched = x.touched
              AND (x.free OR x.live = ((
                   SELECT true FROM queue q
                    WHERE q.schedule_id = x.schedule_id LIMIT 1) IS NOT NULL))
        RETURNING x.*, t.fired),
    ended AS (
           DELETE FROM timers t
            USING x
            WHERE t.schedule_id = x.schedule_id AND x.next_for IS NULL
              AND t.scheduled_for = x.expected AND t.version = x.version
              AND t.touched = x.touched
              AND (x.free OR x.live = ((
                   SELECT true FROM queue q
                    WHERE q.schedule_id = x.schedule_id LIMIT 1) IS NOT NULL))
        RETURNING x.*, t.fired + x.firings AS fired),
    done AS (SELECT * FROM moved UNION ALL SELECT * FROM ended),
    completed AS (
        UPDATE schedules s
           SET status = 'completed', fired = ended.fired, updated_at = clock_timestamp()
          FROM ended
         WHERE s.id = ended.schedule_id AND s.status = 'active'),
    cancelled AS (
           DELETE FROM queue q
            WHERE q.schedule_id = ANY (ARRAY(
                  SELECT schedule_id FROM done WHERE entry = 'instead'))
              AND q.state <> 'running' AND q.saga IS NULL
        RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.attempt,
                  q.triggered_by, q.catch_up, q.replay_of, q.payload),
    stopped AS (
           UPDATE queue q
              SET cancel_reason = CASE WHEN q.saga -> 'back' = 'true' THEN q.cancel_reason
                                       WHEN q.cancel_reason IN ('paused', 'edited', 'deleted')
                                       THEN 'overlap'
                                       ELSE coalesce(q.cancel_reason, 'overlap') END,
                  claimed_until = CASE WHEN q.worker = '00000000-0000-0000-0000-000000000000'
                                        AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                       THEN clock_timestamp() ELSE q.claimed_until END,
                  available_at = CASE WHEN q.state = 'running' THEN q.available_at
                                      ELSE least(q.available_at, clock_timestamp()) END
            WHERE q.schedule_id = ANY (ARRAY(
                  SELECT schedule_id FROM done WHERE entry = 'instead'))
              AND (q.state = 'running' OR q.saga IS NOT NULL)
        RETURNING q.id, q.schedule_id),
    slots AS (
        SELECT d.schedule_id, d.tenant_id, d.version, d.fence, d.priority, d.catch_up, d.entry,
               d.chained, d.lane, d.host, d.id, d.scheduled_for, d.available_at
          FROM done d
         WHERE d.id IS NOT NULL
         UNION ALL
        SELECT d.schedule_id, d.tenant_id, d.version, d.fence, d.priority, d.catch_up, d.entry,
               d.chained, d.lane, d.host, m.id, m.scheduled_for, m.available_at
          FROM unnest($21::uuid[], $22::uuid[], $23::timestamptz[], $24::timestamptz[])
               AS m (schedule_id, id, scheduled_for, available_at)
          JOIN done d USING (schedule_id)),
    fresh AS (
        SELECT s.*, s.chained AND row_number() OVER (
                        PARTITION BY s.schedule_id ORDER BY s.scheduled_for) > 1 AS follows
          FROM slots s
         WHERE (SELECT true FROM firings f
                 WHERE f.id = s.id AND f.scheduled_for = s.scheduled_for) IS NULL),
    queued AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, fence,
                           priority, catch_up, state, triggered_by, lane, host)
        SELECT f.id, f.schedule_id, f.tenant_id, f.version, f.scheduled_for, f.available_at,
               f.fence, f.priority, f.catch_up,
               CASE WHEN f.follows OR f.entry = 'behind' OR (
                             f.entry = 'instead' AND f.schedule_id IN (
                                 SELECT schedule_id FROM stopped))
                    THEN 'blocked' ELSE 'waiting' END,
               'schedule', f.lane, f.host
          FROM fresh f
            ON CONFLICT DO NOTHING
        RETURNING catch_up),
    noted AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                             slot_count, status, reason, triggered_by, catch_up, finished_at)
        SELECT n.id, d.schedule_id, d.tenant_id, d.version, n.scheduled_for, n.last_slot_at,
               n.slot_count, n.status, n.reason, 'schedule', false, clock_timestamp()
          FROM unnest($25::uuid[], $26::uuid[], $27::timestamptz[], $28::timestamptz[],
                      $29::integer[], $30::text[], $31::text[])
               AS n (schedule_id, id, scheduled_for, last_slot_at, slot_count, status, reason)
          JOIN done d USING (schedule_id)
            ON CONFLICT DO NOTHING
        RETURNING status, slot_count),
    ousted AS (
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                             attempt, triggered_by, catch_up, finished_at, replay_of, payload)
        SELECT c.id, c.schedule_id, c.tenant_id, c.version, c.scheduled_for, 'cancelled',
               'overlap', c.attempt, c.triggered_by, c.catch_up, clock_timestamp(), c.replay_of,
               c.payload
          FROM cancelled c
            ON CONFLICT DO NOTHING)
    SELECT ARRAY(SELECT schedule_id FROM done) AS moved,
           (SELECT count(*) FROM ended) AS completed,
           (SELECT count(*) FROM queued) AS fired,
           (SELECT count(*) FROM queued WHERE catch_up) AS caught_up,
           (SELECT coalesce(sum(slot_count), 0) FROM noted WHERE status = 'skipped') AS skipped,
           (SELECT coalesce(sum(slot_count), 0) FROM noted WHERE status = 'missed') AS missed,
           (SELECT count(*) FROM cancelled)
               + (SELECT count(pg_notify('rota_cancel', id::text)) FROM stopped) AS cancelled
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was due, and when that was asked, by the database's clock."""

    now: datetime
    timers: tuple[Due, ...]
    """Oldest first."""


async def due(tx: Tx, lows: Mapping[int, datetime], *, lead: timedelta, limit: int) -> Reading:
    """Timers due by now + lead in these shards, each past its mark; `limit` for each shard."""
    rows = await tx.fetch(_DUE, list(lows), list(lows.values()), lead, limit, MOST_LIVE)
    # Without any timer there is one row, for the clock.
    timers = tuple(Due._make(islice(row, 1, None)) for row in rows if row[1] is not None)
    return Reading(now=rows[0][0], timers=timers)


async def next_due_at(tx: Tx, shards: Sequence[int], *, after: datetime) -> datetime | None:
    """When the next timer after the instant is due in these shards."""
    found: datetime | None = await tx.fetch_value(_NEXT, list(shards), after)
    return found


async def lock_live(tx: FencedTx, schedules: Sequence[UUID]) -> None:
    """Hold the live firings of these schedules as they are: nobody claims or ends one meanwhile."""
    await tx.fetch(LOCK_TIMERS, list(schedules))
    await tx.fetch(LOCK_LIVE, list(schedules))
