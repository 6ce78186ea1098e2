"""Taking firings for a worker, ahead of their instant."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import accumulate
from operator import itemgetter
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec

from rota.queue import claim_sql as sql
from rota.queue.fairness import Turns, Want, wants_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from rota.db import Row, Tx
    from rota.queue.shares import Places

_NOBODY: Final = UUID(int=0)
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
    """A firing that a worker holds. It may be begun at `available_at`, never before (I9).

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


_COLUMNS: Final = Claim.__struct_fields__.index("weight")
"""Of a row: all of a claim up to the tenant's weight."""


@dataclass(slots=True, kw_only=True)
class Standing:
    """What a worker knows when it claims again."""

    held: Mapping[UUID, int] = field(default_factory=dict[UUID, int])
    """How many claims of each tenant it has already."""
    spare: int = 0
    """Places beyond the limit, for tenants that hold less than their share."""
    turns: Turns = field(default_factory=Turns)
    after: UUID = _NOBODY
    """Where to look for tenants next, when there are more than one look can see."""
    first_at: datetime | None = None
    """The earliest instant of all that waited at the last look; None when nothing did."""
    places: Places | None = None
    """Of a worker that serves several tenants: none may have more than its share of them."""
    again: bool = False
    """Whether the last claim took all it might: another may find more."""
    more: bool = False
    """Whether the last claim may have left work behind, if only for its tenant's share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ask:
    """Who claims what."""

    tx: Tx
    lanes: Sequence[str]
    worker: UUID
    lead: timedelta
    visibility: timedelta
    tenants: Sequence[UUID] | None

    async def look(self, lanes: Sequence[str], places: int, after: UUID) -> list[Row]:
        """What `claim_sql` finds in these lanes of the tenants that are served."""
        args = (lanes, self.worker, places, self.lead, self.visibility, after)
        if self.tenants is None:
            return await self.tx.fetch(sql.CLAIM, *args)
        return await self.tx.fetch(sql.CLAIM_FOR, *args, self.tenants)


@dataclass(slots=True)
class _Contender:
    """A tenant with work, among others."""

    weight: int
    cap: int | None
    runs: list[Row] = field(default_factory=list["Row"])
    lead: timedelta = timedelta()
    most: int = _UNBOUNDED
    """It may take no more than this: more would be above its share."""


async def count_tenants(tx: Tx) -> int:
    """How many tenants there are, counted up to two: whether there is more than one."""
    return await tx.fetch_value(sql.COUNT_TENANTS)


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
    """Up to `limit` firings that are due within `lead`, fairly shared between tenants (TN3).

    `tenants` are those that the worker serves, all tenants without it: no other tenant's firing is
    ever claimed, whatever its lane is called.

    In proportion to the weights of the tenants that have work; no tenant above its cap, over all
    workers (TN2); by priority (TN4), then the oldest first, within a tenant. Whoever claims again
    and again keeps a `standing`, by which the proportion holds over all its claims.

    They come in the order in which they should be begun.

    Exclusive: no other worker has or gets them until their claims run out. They run out
    `visibility` after their instant, or after now for those that are due already.
    """
    # Who keeps none draws lots: also those who claim once and are gone are fair, taken together.
    standing = standing or Standing(turns=Turns(by_lot=True))
    served = None if tenants is None else list(tenants)
    ask = _Ask(tx=tx, lanes=lanes, worker=worker, lead=lead, visibility=visibility, tenants=served)
    alone = limit if standing.places is None else min(limit, standing.places.for_any())
    rows = await _look(ask, alone, standing)
    claims = [_claim(row, row["weight"]) for row in rows if row["id"] is not None]
    if claims:
        first = claims[0]
        standing.turns.had({first.tenant_id: len(claims)}, {first.tenant_id: first.weight})
        standing.again = standing.more = len(claims) >= alone
    else:
        contenders = _contenders(rows, ask, standing)
        claims = await _share_out(ask, contenders, limit, standing)
        got = Counter(each.tenant_id for each in claims)
        standing.again = len(claims) >= limit
        standing.more = standing.again or any(
            got[id_] >= one.most for id_, one in contenders.items()
        )
    if len(claims) < limit and not standing.more:
        standing.turns.rest()
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


async def _look(ask: _Ask, limit: int, standing: Standing) -> list[Row]:
    """Claims, when one tenant alone has work; otherwise who has work of which priority."""
    # In any order: what is seen last decides where to look on, and no lane must always be it.
    lanes = random.sample(ask.lanes, len(ask.lanes))
    ends = 1 if standing.after == _NOBODY else 2
    while True:
        # Beyond the first look nobody is known to be alone.
        places = max(limit, 0) if standing.after == _NOBODY else 0
        rows = await ask.look(lanes, places, standing.after)
        standing.after = rows[0]["after"] or _NOBODY
        standing.first_at = rows[0]["first_at"]
        ends -= standing.after == _NOBODY
        if not ends or rows[0]["id"] is not None or rows[0]["run_tenant"] is not None:
            return rows


def _contenders(rows: Sequence[Row], ask: _Ask, standing: Standing) -> dict[UUID, _Contender]:
    found: dict[UUID, _Contender] = {}
    for row in rows:
        if row["run_tenant"] is not None and row["ours"]:
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
        standing.turns.had(got, weights)
        claims += taken
        has += got
        # Who took less than it might has no more, or may have no more.
        open_ = [id_ for id_ in contenders if got[id_] >= turns.get(id_, 0)]
        contenders = {id_: contenders[id_] for id_ in open_}
        rest = limit - len(claims)
        left = {id_: contenders[id_].most - has[id_] for id_ in open_}
        wants = [Want(id_, weights[id_], min(rest, most)) for id_, most in left.items() if most > 0]
    return claims


async def _take(
    ask: _Ask, contenders: Mapping[UUID, _Contender], turns: Mapping[UUID, int]
) -> list[Claim]:
    ids = list(turns)
    chosen = [contenders[id_] for id_ in ids]
    lasts = list(accumulate(len(one.runs) for one in chosen))
    rows = await ask.tx.fetch(
        sql.SHARE,
        ids,
        ask.worker,
        list(turns.values()),
        [one.lead for one in chosen],
        ask.visibility,
        [one.cap for one in chosen],
        [last - len(one.runs) + 1 for last, one in zip(lasts, chosen, strict=True)],
        lasts,
        [run["run_lane"] for one in chosen for run in one.runs],
        [run["run_priority"] for one in chosen for run in one.runs],
    )
    return [_claim(row, contenders[row["tenant_id"]].weight) for row in rows]


def _claim(row: Row, weight: int) -> Claim:
    # The row's first columns, by their places; whatever follows is not the claim's.
    return Claim(*row[:_COLUMNS], weight=weight)
