"""The two statements of firing: one reads the due timers, one fires them.

Only here are tables joined in one statement, and it is built of the owners' parts: timers advance
and their firings enter the queue together, or not at all.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, LiteralString

from rota import ids
from rota.db import ONCE, locks
from rota.firing.plan import Due
from rota.leases import hold
from rota.leases.fence import HELD, missing, proving
from rota.queue import enqueue, overlap, record, withdraw
from rota.queue.overlap import MOST_LIVE, Entry
from rota.schedules import audit
from rota.schedules import schedule as schedules
from rota.timers import store as timers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Database
    from rota.firing.plan import Plan
    from rota.leases import Lease

# The next timer beyond the horizon is asked for here because it then costs no round trip.
_DUE: LiteralString = (
    """
    WITH due AS MATERIALIZED ("""
    + timers.DUE
    + """)
    SELECT clock.now, clock.ahead, due.*,
           (SELECT count(*) FROM (SELECT FROM queue q
                                    WHERE q.schedule_id = due.schedule_id LIMIT $5) AS l) AS live
      FROM (SELECT statement_timestamp() AS now, ("""
    + timers.NEXT_DUE
    + """) AS ahead) AS clock
      LEFT JOIN due ON true
     ORDER BY due.due_at
"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was due, and when that was read, by the database's clock."""

    now: datetime
    ahead: datetime | None = None
    """When the next timer that is not among them is due, beyond the lead."""
    timers: tuple[Due, ...]
    """Oldest first."""


async def read_due(
    db: Database, lows: Mapping[int, datetime], *, lead: timedelta, limit: int
) -> Reading:
    """Timers due by now + lead in these shards, each past its mark; `limit` for each shard."""
    columns = list(lows), list(lows.values())
    rows = await db.fetch_alone(_DUE, *columns, lead, limit, MOST_LIVE, retry=ONCE)
    # Without any timer there is one row, for the clock.
    found = tuple(Due._make(islice(row, 2, None)) for row in rows if row[2] is not None)
    return Reading(now=rows[0][0], ahead=rows[0][1], timers=found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """What came of some plans."""

    lost: tuple[int, ...] = ()
    """The shards that another node leads by now; of what is in them nothing was written."""
    moved: frozenset[UUID] = frozenset()
    """The schedules whose timers were as expected; of the others nothing was written."""
    completed: int = 0
    fired: int = 0
    caught_up: int = 0
    """Those of the fired that are catch-ups."""
    skipped: int = 0
    missed: int = 0
    cancelled: int = 0


# That the schedule of `x` has something live exactly if it had when that was decided on.
_AS_LIVE: LiteralString = """
              AND (x.free OR x.live = ((
                   SELECT true FROM queue q
                    WHERE q.schedule_id = x.schedule_id LIMIT 1) IS NOT NULL))
"""

# The schedules whose live firings make room for the ones that enter.
_REPLACED: LiteralString = "ARRAY(SELECT schedule_id FROM done WHERE entry = 'replace')"

# How what is fired enters: behind what is being replaced, behind the slot before it, or at once.
_FIRED: LiteralString = """(
        SELECT f.id, f.schedule_id, f.tenant_id, f.version, f.scheduled_for, f.available_at,
               f.priority, f.catch_up,
               CASE WHEN f.follows OR f.entry = 'blocked' OR (
                             f.entry = 'replace' AND f.schedule_id IN (
                                 SELECT schedule_id FROM stopped))
                    THEN 'blocked' ELSE 'waiting' END AS state,
               'schedule' AS triggered_by, f.lane, f.host, f.fence
          FROM fresh f)"""

# The lanes of what is to begin before the workers' next poll.
_SOON: LiteralString = (
    """(
        SELECT DISTINCT lane FROM queued
         WHERE state = 'waiting' AND available_at < clock_timestamp() + """
    + enqueue.WAKE_WITHIN
    + ")"
)

# What ends here and now: skipped or missed. A single slot that is live has its outcome to come.
_UNFIRED: LiteralString = """(
        SELECT n.id, d.schedule_id, d.tenant_id, d.version, n.scheduled_for, n.last_slot_at,
               n.slot_count, n.status, n.reason
          FROM unnest($28::uuid[], $29::uuid[], $30::timestamptz[], $31::timestamptz[],
                      $32::integer[], $33::text[], $34::text[])
               AS n (schedule_id, id, scheduled_for, last_slot_at, slot_count, status, reason)
          JOIN done d USING (schedule_id)
         WHERE n.slot_count > 1 OR (SELECT true FROM queue q WHERE q.id = n.id) IS NULL)"""

# held: the fences, proven and locked for as long as the statement is under way; what is in a shard
# that another node leads by now is not among x, and nothing of it is written.
# x: one row for each timer. `moved` and `ended` compare everything that was decided on; all else
# follows from what they return, so a timer that has changed since it was read writes nothing.
# The first slot of a timer travels in x itself, so that the common case joins nothing; further
# slots are the rows `m`, what ends here and now the rows `n`. A slot that has ended before (its id
# is in firings) or is live (its id is in queue) does not enter again; of the others, the first
# heads the chain.
# Looks into firings and queue are scalar subqueries on purpose: they are made row by row through
# the index, where a join, or a hashed EXISTS, would choose to read the whole table. For the same
# reason what is cancelled is named by an array: a plan kept from when the queue was empty would
# walk all of it, and all of `done` for each of its rows.
_FIRE: LiteralString = (
    """
    WITH held AS MATERIALIZED ("""
    + HELD
    + """),
    x AS MATERIALIZED (
        SELECT x.*, held.fence
          FROM unnest($4::uuid[], $5::timestamptz[], $6::integer[], $7::integer[], $8::boolean[],
                      $9::boolean[], $10::timestamptz[], $11::timestamptz[], $12::integer[],
                      $13::uuid[], $14::smallint[], $15::smallint[], $16::boolean[],
                      $17::text[], $18::boolean[], $19::text[], $20::text[], $21::uuid[],
                      $22::timestamptz[], $23::timestamptz[])
               AS x (schedule_id, expected, version, revision, free, live, next_for, next_due,
                     firings, tenant_id, shard, priority, catch_up, entry, chained, lane,
                     host, id, scheduled_for, available_at)
          JOIN held USING (shard)),
    moved AS ("""
    + timers.ADVANCE
    + _AS_LIVE
    + """
        RETURNING x.*, t.fired),
    ended AS ("""
    + timers.END
    + _AS_LIVE
    + """
        RETURNING x.*, t.fired + x.firings AS fired),
    done AS (SELECT * FROM moved UNION ALL SELECT * FROM ended),
    completed AS ("""
    + schedules.COMPLETE
    + """),
    lasts AS (
        SELECT * FROM unnest($35::uuid[], $36::timestamptz[]) AS l (schedule_id, last_slot)),
    audited AS ("""
    + audit.COMPLETED
    + """),
    cancelled AS ("""
    + withdraw.cancel_waiting(_REPLACED, now="clock_timestamp()")
    + """),
    stopped AS ("""
    + withdraw.cancel_running(_REPLACED, now="clock_timestamp()")
    + """),
    slots AS (
        SELECT d.schedule_id, d.tenant_id, d.version, d.fence, d.priority, d.catch_up, d.entry,
               d.chained, d.lane, d.host, d.id, d.scheduled_for, d.available_at
          FROM done d
         WHERE d.id IS NOT NULL
         UNION ALL
        SELECT d.schedule_id, d.tenant_id, d.version, d.fence, d.priority, d.catch_up, d.entry,
               d.chained, d.lane, d.host, m.id, m.scheduled_for, m.available_at
          FROM unnest($24::uuid[], $25::uuid[], $26::timestamptz[], $27::timestamptz[])
               AS m (schedule_id, id, scheduled_for, available_at)
          JOIN done d USING (schedule_id)),
    fresh AS (
        SELECT s.*, s.chained AND row_number() OVER (
                        PARTITION BY s.schedule_id ORDER BY s.scheduled_for) > 1 AS follows
          FROM slots s
         WHERE (SELECT true FROM firings f
                 WHERE f.id = s.id AND f.scheduled_for = s.scheduled_for) IS NULL),
    queued AS ("""
    + enqueue.entered(_FIRED, also="fence")
    + """
        RETURNING catch_up, lane, state, available_at),
    woken AS MATERIALIZED ("""
    + enqueue.wake(_SOON)
    + """),
    noted AS ("""
    + record.unfired(_UNFIRED)
    + """
        RETURNING status, slot_count),
    replaced AS ("""
    + record.withdrawn("cancelled", status="'cancelled'", reason="'overlap'")
    + """)
    SELECT ARRAY(SELECT shard FROM held) AS held,
           ARRAY(SELECT schedule_id FROM done) AS moved,
           (SELECT count(*) FROM ended) AS completed,
           (SELECT count(*) FROM queued) AS fired,
           (SELECT count(*) FROM queued WHERE catch_up) AS caught_up,
           ARRAY(SELECT lane FROM woken) AS woken,
           (SELECT coalesce(sum(slot_count), 0) FROM noted WHERE status = 'skipped') AS skipped,
           (SELECT coalesce(sum(slot_count), 0) FROM noted WHERE status = 'missed') AS missed,
           (SELECT count(*) FROM cancelled)
               + (SELECT count("""
    + locks.notify(locks.CANCEL, "id::text")
    + """) FROM stopped) AS cancelled
"""
)


async def fire(db: Database, leases: Sequence[Lease], plans: Sequence[Plan]) -> Fired:
    """Carry the plans out; at most one for each schedule, all in shards of these leases.

    In one round trip: the statement proves the fences itself, and is a transaction by itself. Only
    where something live is to be cancelled, it has to be locked before.
    """
    # In the order of their ids, so that the statement locks the timers in it.
    plans = sorted(plans, key=lambda p: p.due.schedule_id.int)
    columns = _columns(leases, plans)
    replaced = [p.due.schedule_id for p in plans if p.entry is Entry.REPLACE]
    if replaced:
        async with db.transaction() as tx:
            fenced = await hold(tx, leases)
            # All that the statement will lock, in the order of docs/lock-order.md: timers,
            # schedules, queue.
            await timers.lock(fenced, (p.due.schedule_id for p in plans))
            completed = [p.due.schedule_id for p in plans if p.following is None]
            if completed:
                await schedules.lock_many(fenced, completed)
            # A claim in between would be neither deleted as unclaimed nor told to stop as claimed.
            await overlap.lock_live(fenced, replaced)
            (row,) = await fenced.fetch(_FIRE, *columns)
    else:
        (row,) = await db.fetch_alone(_FIRE, *columns, retry=ONCE)
    for lane in row["woken"]:
        # The workers of this process need not wait for the notice.
        db.tell(locks.QUEUE, lane)
    return Fired(
        lost=missing(leases, row["held"]),
        moved=frozenset(row["moved"]),
        completed=row["completed"],
        fired=row["fired"],
        caught_up=row["caught_up"],
        skipped=row["skipped"],
        missed=row["missed"],
        cancelled=row["cancelled"],
    )


def _columns(leases: Sequence[Lease], plans: Sequence[Plan]) -> list[object]:
    """The statement's parameters: leases, timers, further slots, records, last slots; by column."""
    firsts = iter(ids.firing_ids((p.due.schedule_id, p.fire[0]) for p in plans if p.fire))
    moves = [_timer(p, next(firsts) if p.fire else None) for p in plans]
    more = [row for p in plans if len(p.fire) > 1 for row in _further_slots(p)]
    records = [row for p in plans if p.records for row in _records(p)]
    lasts = [(p.due.schedule_id, p.last_slot) for p in plans if p.following is None]
    rows = chain(_turned(moves, 20), _turned(more, 4), _turned(records, 7), _turned(lasts, 2))
    return [*proving(leases), *rows]


def _timer(plan: Plan, first_id: UUID | None) -> tuple[object, ...]:
    due, snapshot = plan.due, plan.snapshot
    first = plan.fire[0] if plan.fire else None
    return (
        due.schedule_id,
        due.scheduled_for,
        due.version,
        due.revision,
        snapshot.overlap == "allow",
        due.live > 0,
        plan.following,
        plan.following_due_at,
        len(plan.fire),
        snapshot.tenant_id,
        due.shard,
        snapshot.priority,
        plan.catch_up,
        plan.entry.value,
        plan.chained,
        snapshot.lane,
        snapshot.host,
        first_id,
        first,
        None if first is None else first + (due.due_at - due.scheduled_for),
    )


def _further_slots(plan: Plan) -> list[tuple[object, ...]]:
    schedule_id, spread = plan.due.schedule_id, plan.due.due_at - plan.due.scheduled_for
    return [
        (schedule_id, ids.firing_id(schedule_id, slot), slot, slot + spread)
        for slot in plan.fire[1:]
    ]


def _records(plan: Plan) -> list[tuple[object, ...]]:
    schedule_id = plan.due.schedule_id
    return [
        (
            schedule_id,
            ids.firing_id(schedule_id, record.first),
            record.first,
            record.last if record.count > 1 else None,
            record.count,
            record.status,
            record.reason,
        )
        for record in plan.records
    ]


def _turned(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as columns."""
    if not rows:
        return [[] for _ in range(width)]
    return [list(column) for column in zip(*rows, strict=True)]
