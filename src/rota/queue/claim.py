"""Taking firings for a worker, ahead of their instant.

Work is found by its (lane, tenant, priority): each of these is one run of the index `queue_ready`,
and the next run is found from the last by one look into the index. So finding them costs the same
however many rows wait, and nothing for tenants without work. Retries far ahead cost that one look.
Rows that were claimed and cannot be vacuumed yet are passed by low-water marks (`low_watermarks`).

The bound on `available_at` is a subquery so that it is worked out once and can be an index
condition; a bare clock_timestamp() would be compared row by row. Looking at each run by itself
keeps the index's order whatever the version of PostgreSQL and whatever the planner believes, also
in a plan kept from when the queue was empty.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

import msgspec

from rota.db import locks
from rota.queue.fair_queue import Turns, Want, wants_of
from rota.queue.low_watermarks import NOBODY, LowWatermarks, Run, Seen

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from rota.db import Row, Tx
    from rota.queue.low_watermarks import Look
    from rota.queue.shares import Places

_UNBOUNDED: Final = 1 << 30


class AtStep(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One step of a firing that has several, or what undoes it."""

    name: str
    compensating: bool = False
    base: int = 0
    """How many attempts the firing had had when this one's turn came."""

    @property
    def suffix(self) -> str:
        """What tells its requests from those of the other steps."""
        return f"{self.name}:compensate" if self.compensating else self.name


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A firing that a worker holds. It may be begun at `available_at`, never before.

    A Struct, because they are made by the thousand: in a quarter of a dataclass's time. Its fields
    are in the order of the statements' columns.
    """

    id: UUID
    """The firing's."""
    schedule_id: UUID
    tenant_id: UUID
    version: int
    """Of the schedule, when it fired."""
    scheduled_for: datetime
    available_at: datetime
    claimed_until: datetime
    """Somebody else may have it after that, unless it is extended."""
    began_at: datetime
    """When it was first its turn: the time for all its attempts counts from there."""
    attempt: int
    """1 for the first; higher for every later claim."""
    priority: int
    catch_up: bool
    triggered_by: str
    lane: str
    fence: int | None
    """Of the lease under which it was fired; None for a run that was asked for."""
    cancel_reason: str | None = None
    """Set while it waited: it is to be ended, not begun."""
    payload: str | None = None
    """JSON in place of the schedule's payload."""
    replay_of: UUID | None = None
    """The firing that it repeats."""
    host: str | None = None
    """Of an HTTP target: whom it calls."""
    saga: str | None = None
    """Of one that goes through steps and is past the first: how far it has come (`queue.saga`)."""
    weight: int = 1
    """The tenant's, when it was claimed."""
    step: AtStep | None = None
    """Of one that goes through steps, once it is known: the one that is its turn."""

    @property
    def tries(self) -> int:
        """How many attempts this is; of its step alone, where it has steps."""
        return self.attempt if self.step is None else self.attempt - self.step.base


_STORED: Final = Claim.__struct_fields__.index("weight")
"""How many of a claim's fields are columns of its row: all before the tenant's weight."""

_COLUMNS: LiteralString = """
               q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
               q.claimed_until, q.began_at, q.attempt, q.priority, q.catch_up, q.triggered_by,
               q.lane, q.fence, q.cancel_reason, q.payload, q.replay_of, q.host, q.saga
"""


@dataclass(slots=True, kw_only=True)
class Standing:
    """What a worker knows when it claims again."""

    held: Mapping[UUID, int] = field(default_factory=dict[UUID, int])
    """How many claims of each tenant it has already."""
    spare: int = 0
    """Places beyond the limit, for tenants that hold less than their share."""
    turns: Turns = field(default_factory=Turns)
    after: UUID = NOBODY
    """Where to look for tenants next, when there are more than one look can see."""
    first_at: datetime | None = None
    """The earliest instant of all that waited at the last look; None when nothing did."""
    places: Places | None = None
    """Of a worker that serves several tenants: none may have more than its share of them."""
    again: bool = False
    """Whether the last claim took all it might: another may find more."""
    more: bool = False
    """Whether the last claim may have left work behind, if only for its tenant's share."""
    marks: LowWatermarks = field(default_factory=LowWatermarks)
    """Whoever keeps a standing sweeps when they say that it is time: see `sweep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """Who claims what."""

    tx: Tx
    lanes: Sequence[str]
    worker: UUID
    lead: timedelta
    visibility: timedelta
    tenants: Sequence[UUID] | None


@dataclass(slots=True)
class _Contender:
    """A tenant with work, among others."""

    weight: int
    cap: int | None
    runs: list[Row] = field(default_factory=list["Row"])
    lead: timedelta = timedelta()
    most: int = _UNBOUNDED
    """It may take no more than this: more would be above its share."""


_COUNT_TENANTS: LiteralString = "SELECT count(*) FROM (SELECT FROM tenants LIMIT 2) AS t"


async def count_tenants(tx: Tx) -> int:
    """How many tenants there are, counted up to two: whether there is more than one."""
    return await tx.fetch_value(_COUNT_TENANTS)


async def claim(
    tx: Tx,
    lanes: Sequence[str],
    worker: UUID,
    *,
    limit: int,
    lead: timedelta,
    visibility: timedelta,
    tenants: Collection[UUID] | None = None,
    standing: Standing | None = None,
) -> list[Claim]:
    """Up to `limit` firings that are due within `lead`, fairly shared between tenants.

    `tenants` are those that the worker serves, all tenants without it: no other tenant's firing is
    ever claimed, whatever its lane is called.

    In proportion to the weights of the tenants that have work; no tenant above its cap, over all
    workers; by priority, then the oldest first, within a tenant. Whoever claims again
    and again keeps a `standing`, by which the proportion holds over all its claims.

    They come in the order in which they should be begun.

    Exclusive: no other worker has or gets them until their claims run out. They run out
    `visibility` after their instant, or after now for those that are due already.
    """
    # Who keeps none draws lots: also those who claim once and are gone are fair, taken together.
    standing = standing or Standing(turns=Turns(lottery=True))
    served = None if tenants is None else list(tenants)
    ask = _Ask(tx=tx, lanes=lanes, worker=worker, lead=lead, visibility=visibility, tenants=served)
    alone = limit if standing.places is None else min(limit, standing.places.for_any())
    looked = await _look(ask, alone, standing)
    claims = looked.claims
    if claims:
        first = claims[0]
        standing.turns.charge({first.tenant_id: len(claims)}, {first.tenant_id: first.weight})
        standing.again = standing.more = len(claims) >= alone
    else:
        contenders = _contenders(looked.runs, ask, standing)
        claims = await _share_out(ask, contenders, limit, standing)
        got = Counter(each.tenant_id for each in claims)
        standing.again = len(claims) >= limit
        standing.more = standing.again or any(
            got[id_] >= one.most for id_, one in contenders.items()
        )
    if len(claims) < limit and not standing.more:
        standing.turns.reset()
    return _in_turn(claims)


def _in_turn(claims: list[Claim]) -> list[Claim]:
    """As they should be begun: the tenants in turn, the work of each in its own order."""
    claims.sort(key=lambda each: (-each.priority, each.available_at, each.id))
    turns = Counter(each.tenant_id for each in claims)
    if len(turns) < 2:
        return claims
    turns.clear()
    keys: dict[UUID, tuple[float, UUID]] = {}
    for each in claims:
        turns[each.tenant_id] += 1
        keys[each.id] = (turns[each.tenant_id] / each.weight, each.tenant_id)
    return sorted(claims, key=lambda each: keys[each.id])


# The first row of each run: of the tenants between two ($1 to $3), of a tenant with the priorities
# between two ($4 to $7), and of a run that is known, past its mark ($8 to $11).
#
# From one run to the next: to the next lower priority of the tenant, and when it has none, to the
# next tenant (an append stops at its first row), within the bounds that the first one had. A bound
# of the tenant itself leaves no next tenant. The subqueries around parameters keep the planner from
# making a new plan for every value: that would take longer than a look into an empty queue.
#
# `walked` counts the entries of the index that were gone over to find the runs that are not known:
# the server's own count in this session, which is read again once they are found.
_RUNS: LiteralString = """
    WITH RECURSIVE known AS MATERIALIZED (
        SELECT f.*
          FROM unnest((SELECT $8::text[]), (SELECT $9::uuid[]), (SELECT $10::smallint[]),
                      (SELECT $11::timestamptz[])) AS k(lane, tenant_id, priority, low)
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = k.lane AND q.tenant_id = k.tenant_id AND q.priority = k.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at > k.low
                ORDER BY q.available_at
                LIMIT 1) AS f
    ), start AS MATERIALIZED (
        SELECT count(*), pg_stat_get_xact_tuples_returned('rota.queue_ready'::regclass) AS walked
          FROM known
    ), runs AS (
        SELECT f.*, g.before, (-32768)::smallint AS above
          FROM unnest((SELECT $1::text[] FROM start), (SELECT $2::uuid[]), (SELECT $3::uuid[]))
               AS g(lane, after, before)
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = g.lane AND q.tenant_id > g.after AND q.tenant_id < g.before
                  AND q.state IN ('waiting', 'retrying')
                ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                LIMIT 1) AS f
         UNION ALL
        SELECT f.*, f.tenant_id, g.above
          FROM unnest((SELECT $4::text[] FROM start), (SELECT $5::uuid[]), (SELECT $6::smallint[]),
                      (SELECT $7::smallint[])) AS g(lane, tenant_id, below, above)
         CROSS JOIN LATERAL (
               SELECT q.lane, q.tenant_id, q.priority, q.available_at
                 FROM queue q
                WHERE q.lane = g.lane AND q.tenant_id = g.tenant_id
                  AND q.priority < g.below AND q.priority > g.above
                  AND q.state IN ('waiting', 'retrying')
                ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                LIMIT 1) AS f
         UNION ALL
        SELECT n.*
          FROM runs r
         CROSS JOIN LATERAL (
               SELECT *
                 FROM (SELECT q.lane, q.tenant_id, q.priority, q.available_at, r.before, r.above
                         FROM queue q
                        WHERE q.lane = r.lane AND q.tenant_id = r.tenant_id
                          AND q.priority < r.priority AND q.priority > r.above
                          AND q.state IN ('waiting', 'retrying')
                        ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                        LIMIT 1) AS lower
                UNION ALL
               SELECT *
                 FROM (SELECT q.lane, q.tenant_id, q.priority, q.available_at, r.before, r.above
                         FROM queue q
                        WHERE q.lane = r.lane
                          AND q.tenant_id > r.tenant_id AND q.tenant_id < r.before
                          AND q.state IN ('waiting', 'retrying')
                        ORDER BY q.lane, q.tenant_id, q.priority DESC, q.available_at
                        LIMIT 1) AS next
                LIMIT 1) AS n
    ), found AS MATERIALIZED (
        SELECT known.* FROM known
         UNION ALL
        SELECT runs.lane, runs.tenant_id, runs.priority, runs.available_at FROM runs
         LIMIT 512
    ), seen AS MATERIALIZED (
        SELECT min(f.available_at) AS first_at, statement_timestamp() AS at,
               clock_timestamp() - statement_timestamp() AS took,
               pg_stat_get_xact_tuples_returned('rota.queue_ready'::regclass)
               - (SELECT start.walked FROM start) AS walked,
               (SELECT found.tenant_id FROM found OFFSET 511) AS after
          FROM found f
    )
"""


def look_arguments(look: Look) -> tuple[list[object], ...]:
    """The look as `_RUNS` has it, column by column."""
    tenants, priorities, marks = look.tenants, look.priorities, look.marks
    return (
        [each.lane for each in tenants],
        [each.after for each in tenants],
        [each.before for each in tenants],
        [each.lane for each in priorities],
        [each.tenant_id for each in priorities],
        [each.below for each in priorities],
        [each.above for each in priorities],
        [run.lane for run in marks],
        [run.tenant_id for run in marks],
        [run.priority for run in marks],
        list(marks.values()),
    )


# The rows of a run `w` from its first live one on that are due before what follows, the oldest
# first.
_OF_RUN: LiteralString = """
               SELECT q.id
                 FROM queue q
                WHERE q.lane = w.lane AND q.tenant_id = w.tenant_id AND q.priority = w.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at >= w.first_at
                  AND q.available_at <= """


def _take_as(worker: LiteralString, visibility: LiteralString) -> LiteralString:
    """The statement that takes `ready`, rows that are locked already, given two parameters."""
    # They are found one by one by their ids: an array cannot be turned into a join.
    return (
        """
        UPDATE queue q
           SET state = 'running',
               worker = """
        + worker
        + """,
               attempt = q.attempt + 1,
               began_at = coalesce(q.began_at, greatest(q.available_at, clock_timestamp())),
               claimed_until = greatest(q.available_at, clock_timestamp()) + """
        + visibility
        + """::interval
         WHERE q.id = ANY (ARRAY(SELECT ready.id FROM ready))
     RETURNING """
        + _COLUMNS
    )


# When one tenant alone has work, as is usual, and no cap: its first $15 rows, at once. Otherwise,
# and with a $15 of 0, nothing is taken, and shares are worked out from the runs.
#
# There is always a row of each kind. A row that `is_run` tells of a run with work and of the look:
# `after` is where to look on when there were too many runs to look at, `first_at` the earliest
# instant of all that waits. The other rows are claims.
#
# Whoever claims for a tenant with a cap holds its lock until the end of the transaction, and counts
# after that (_SHARE): two who counted at the same time would exceed the cap together. A tenant
# whose lock another claimer has is left to that one. Nobody waits, and nobody at all for the
# others.
CLAIM: LiteralString = (
    _RUNS
    + """, due AS MATERIALIZED (
        SELECT f.lane, f.tenant_id, f.priority, f.available_at,
               coalesce(t.weight, 1) AS weight, t.max_concurrency
          FROM found f
          LEFT JOIN LATERAL (
               SELECT t.weight, t.max_concurrency
                 FROM tenants t
                WHERE t.id = f.tenant_id
                LIMIT 1) AS t ON true
         WHERE f.available_at <= (SELECT clock_timestamp() + $12::interval)
    ), alone AS MATERIALIZED (
        SELECT $15 > 0 AND count(DISTINCT d.tenant_id) = 1 AND count(d.max_concurrency) = 0 AS is
          FROM due d
    ), ready AS MATERIALIZED (
        SELECT r.id
          FROM (SELECT d.lane, d.tenant_id, d.priority, d.available_at AS first_at
                  FROM due d
                 WHERE (SELECT alone.is FROM alone)
                 ORDER BY d.priority DESC, d.available_at) AS w
         CROSS JOIN LATERAL ("""
    + _OF_RUN
    + """(SELECT clock_timestamp() + $12::interval)
                ORDER BY q.available_at
                LIMIT $15
                  FOR UPDATE SKIP LOCKED) AS r
         LIMIT $15
    ), taken AS ("""
    + _take_as("$13", "$14")
    + """)
    SELECT t.*, s.is_run, d.weight,
           d.lane AS run_lane, d.tenant_id AS run_tenant, d.priority AS run_priority,
           d.available_at AS run_at, d.max_concurrency AS cap,
           s.is_run AND (d.max_concurrency IS NULL
           OR pg_try_advisory_xact_lock("""
    + locks.CLAIMS
    + """, hashtext(d.tenant_id::text))) AS ours,
           e.after, e.first_at, e.at, e.took, e.walked
      FROM (VALUES (true), (false)) AS s(is_run)
      LEFT JOIN seen e ON s.is_run
      LEFT JOIN taken t ON NOT s.is_run
      LEFT JOIN due d ON s.is_run
"""
)


@dataclass(frozen=True, slots=True)
class _Looked:
    """What a look found."""

    runs: list[Row]
    """With work that is to be shared; none if one tenant alone has work."""
    claims: list[Claim]
    """Taken at once, as one tenant alone has work."""


async def _look(ask: _Ask, limit: int, standing: Standing) -> _Looked:
    """Claims, when one tenant alone has work; otherwise who has work of which priority."""
    # In any order: what is seen last decides where to look on, and no lane must always be it.
    lanes = random.sample(ask.lanes, len(ask.lanes))
    ends = 1 if standing.after == NOBODY else 2
    while True:
        # Beyond the first look nobody is known to be alone.
        places = max(limit, 0) if standing.after == NOBODY else 0
        look = standing.marks.look(lanes, ask.tenants, standing.after)
        rows = await ask.tx.fetch(
            CLAIM, *look_arguments(look), ask.lead, ask.worker, ask.visibility, places
        )
        runs = [row for row in rows if row["is_run"]]
        seen = _seen(runs, after=standing.after)
        standing.marks.looked(look, seen)
        standing.after = runs[0]["after"] or NOBODY
        standing.first_at = runs[0]["first_at"]
        ends -= standing.after == NOBODY
        if not ends or seen.runs:
            if places and _is_alone(runs):
                weight = runs[0]["weight"]
                return _Looked([], [_claim(row, weight) for row in rows if row["id"] is not None])
            return _Looked([row for row in runs if row["run_tenant"] is not None], [])


def _is_alone(runs: Sequence[Row]) -> bool:
    """As `CLAIM` decides it."""
    return len({row["run_tenant"] for row in runs}) == 1 and all(row["cap"] is None for row in runs)


def _seen(rows: Sequence[Row], *, after: UUID) -> Seen:
    first = rows[0]
    runs = {
        Run(row["run_lane"], row["run_tenant"], row["run_priority"]): row["run_at"]
        for row in rows
        if row["run_tenant"] is not None
    }
    is_whole = after == NOBODY and first["after"] is None
    took, walked = first["took"], first["walked"]
    return Seen(at=first["at"], took=took, walked=walked, runs=runs, is_whole=is_whole)


_SWEEP: LiteralString = (
    _RUNS
    + """
    SELECT f.lane AS run_lane, f.tenant_id AS run_tenant, f.priority AS run_priority,
           f.available_at AS run_at, e.after, e.at, e.took, e.walked
      FROM seen e
      LEFT JOIN found f ON f.available_at <= (SELECT clock_timestamp() + $12::interval)
"""
)


async def sweep(
    tx: Tx,
    lanes: Sequence[str],
    *,
    lead: timedelta,
    tenants: Collection[UUID] | None = None,
    standing: Standing,
) -> bool:
    """Look for what claims past the low-water marks cannot see; returns whether there is any.

    Only reads. To be called when `standing.marks.sweep_is_due`, beside claims and not before them.
    """
    begun = standing.marks.begin_sweep(lanes, tenants)
    rows = await tx.fetch(_SWEEP, *look_arguments(begun.look), lead)
    return standing.marks.swept(begun, _seen(rows, after=NOBODY))


def _contenders(runs: Sequence[Row], ask: _Ask, standing: Standing) -> dict[UUID, _Contender]:
    found: dict[UUID, _Contender] = {}
    for row in runs:
        if row["ours"]:
            one = found.setdefault(row["run_tenant"], _Contender(row["weight"], row["cap"]))
            one.runs.append(row)
    for one in found.values():
        # Of the same priority, the lane whose first has waited longest goes first.
        one.runs.sort(key=itemgetter("run_at"))
        one.runs.sort(key=itemgetter("run_priority"), reverse=True)
        one.lead = ask.lead
    if standing.places is not None:
        _bound(found, standing.places)
    return found


def _bound(contenders: Mapping[UUID, _Contender], places: Places) -> None:
    """Hold each to its share of the worker's places."""
    weights = places.with_contenders({id_: one.weight for id_, one in contenders.items()})
    for id_, one in contenders.items():
        one.most = places.may_claim(id_, one.weight, weights)
        if not places.may_claim_ahead(id_, one.weight, weights):
            one.lead = timedelta()


async def _share_out(
    ask: _Ask, contenders: dict[UUID, _Contender], limit: int, standing: Standing
) -> list[Claim]:
    """First to each its share, less what it holds already; then the rest to those with more."""
    if not contenders:
        return []
    weights = {id_: one.weight for id_, one in contenders.items()}
    wants = [
        replace(want, most=min(want.most, most), missing=min(want.missing, most))
        for want in wants_of(weights, standing.held, places=limit + sum(standing.held.values()))
        for most in [contenders[want.tenant].most]
    ]
    missing = sum(want.missing for want in wants)
    # More than the limit only for those who would otherwise wait for others to make room.
    rest = max(limit, min(limit + standing.spare, missing))
    if standing.places is not None:
        limit = min(limit, standing.places.may_claim_together(weights))
        rest = min(rest, standing.places.may_claim_together(weights))
    claims: list[Claim] = []
    has: Counter[UUID] = Counter()
    while rest > 0 and wants:
        turns = standing.turns.allot(rest, wants)
        taken = await _take(ask, contenders, turns) if turns else []
        got = Counter(each.tenant_id for each in taken)
        standing.turns.charge(got, weights)
        claims += taken
        has += got
        # Who took less than it might has no more, or may have no more.
        open_ = [id_ for id_ in contenders if got[id_] >= turns.get(id_, 0)]
        contenders = {id_: contenders[id_] for id_ in open_}
        rest = limit - len(claims)
        left = {id_: contenders[id_].most - has[id_] for id_ in open_}
        wants = [Want(id_, weights[id_], min(rest, most)) for id_, most in left.items() if most > 0]
    return claims


# For each tenant $3 as many as $4 says, or as its cap $6 still allows, of what is due by its $5,
# from its runs: those from $7 to $8 of all the runs, which are lanes $9, priorities $10 and first
# rows $11, in the order wanted.
#
# Claims that ran out a while ago are no longer counted: whoever made them may not begin any more,
# and without a bound the count walks over all that ended and cannot be vacuumed yet.
_SHARE: LiteralString = (
    """
    WITH asked AS MATERIALIZED (
        SELECT a.tenant_id, a.first, a.last, clock_timestamp() + a.lead AS before,
               CASE WHEN a.cap IS NULL THEN a.places
                    ELSE greatest(0, least(a.places, a.cap - (
                         SELECT count(*)
                           FROM (SELECT
                                   FROM queue q
                                  WHERE q.tenant_id = a.tenant_id AND q.state = 'running'
                                    AND q.claimed_until
                                        > (SELECT clock_timestamp() - interval '15 s')
                                  LIMIT a.cap) AS running)))
               END AS places
          FROM unnest($3::uuid[], $4::bigint[], $5::interval[], $6::integer[], $7::integer[],
                      $8::integer[])
               AS a(tenant_id, places, lead, cap, first, last)
    ), ready AS MATERIALIZED (
        SELECT s.id
          FROM asked a
         CROSS JOIN LATERAL (
               SELECT r.id
                 FROM (SELECT a.tenant_id, ($9::text[])[i] AS lane,
                              ($10::smallint[])[i] AS priority, ($11::timestamptz[])[i] AS first_at
                         FROM generate_series(a.first, a.last) AS i) AS w
                CROSS JOIN LATERAL ("""
    + _OF_RUN
    + """a.before
                ORDER BY q.available_at
                LIMIT a.places
                  FOR UPDATE SKIP LOCKED) AS r
                LIMIT a.places) AS s
    )"""
    + _take_as("$1", "$2")
)


async def _take(
    ask: _Ask, contenders: Mapping[UUID, _Contender], turns: Mapping[UUID, int]
) -> list[Claim]:
    ids = list(turns)
    chosen = [contenders[id_] for id_ in ids]
    lasts = list(accumulate(len(one.runs) for one in chosen))
    rows = await ask.tx.fetch(
        _SHARE,
        ask.worker,
        ask.visibility,
        ids,
        list(turns.values()),
        [one.lead for one in chosen],
        [one.cap for one in chosen],
        [last - len(one.runs) + 1 for last, one in zip(lasts, chosen, strict=True)],
        lasts,
        [run["run_lane"] for one in chosen for run in one.runs],
        [run["run_priority"] for one in chosen for run in one.runs],
        [run["run_at"] for one in chosen for run in one.runs],
    )
    return [_claim(row, contenders[row["tenant_id"]].weight) for row in rows]


def _claim(row: Row, weight: int) -> Claim:
    # The row's first columns, by their places; whatever follows is not the claim's.
    return Claim(*row[:_STORED], weight=weight)
