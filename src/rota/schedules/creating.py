"""Making schedules: one, or thousands in one statement.

A schedule and its timer are written in one transaction, so that there is never a schedule that
nobody will fire, nor a timer of nothing (F10).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from rota import ids, timers
from rota.errors import CallerError
from rota.schedules import arming, definition, fields, sql
from rota.schedules.errors import DuplicateKey, InvalidSchedule, Problem, QuotaReached
from rota.schedules.saved import Saved
from rota.schedules.schedule import Schedule, shard_of
from rota.targets import OPEN, TargetPolicy
from rota.tenants import create_pace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.db import Database, Tx
    from rota.schedules.fields import Parsed
    from rota.tenants.tenant import Tenant

MAX_MANY = 10_000
#: Nobody mends more at once, and an answer must not be larger than its question.
_MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Batch:
    """Many schedules as they were read at `now`: each a definition, or what is wrong with it."""

    now: datetime
    read: list[Parsed | InvalidSchedule]


async def create(
    tx: Tx,
    tenant: Tenant,
    given: Mapping[str, object],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
) -> Saved:
    """A new schedule of the fields; its timer is armed from now, in one of so many shards.

    `InvalidSchedule` with all that is wrong with them, `DuplicateKey` when the key is in use.
    """
    now = await sql.now(tx)
    parsed = fields.read(given, now=anchor(now), min_interval=tenant.min_interval, targets=targets)
    saved = await insert(tx, tenant, [parsed], shards=shards, now=now)
    if not saved:
        raise DuplicateKey((parsed.definition.key,))
    return saved[0]


async def create_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
) -> list[Saved]:
    """All of them, or none, in a transaction of their own."""
    batch = await read_many(db, tenant, items, targets=targets)
    return await db.run(lambda tx: store_many(tx, tenant, batch, shards=shards))


async def store_many(tx: Tx, tenant: Tenant, batch: Batch, *, shards: int) -> list[Saved]:
    """All of them, or none: the error then names every item that stood in the way.

    In `InvalidSchedule` a field is called `items[3].cron_expr`.
    """
    problems = [
        Problem(f"items[{at}].{problem.field}", problem.message)
        for at, each in enumerate(batch.read)
        if isinstance(each, InvalidSchedule)
        for problem in each.problems
    ]
    if problems:
        raise InvalidSchedule(tuple(problems[:_MOST_PROBLEMS]))
    parsed = [each for each in batch.read if not isinstance(each, CallerError)]
    _refuse_twins(parsed)
    saved = await insert(tx, tenant, parsed, shards=shards, now=batch.now)
    if len(saved) < len(parsed):
        stored = {each.schedule.key for each in saved}
        raise DuplicateKey(
            tuple(p.definition.key for p in parsed if p.definition.key not in stored)
        )
    return saved


async def store_each(
    tx: Tx, tenant: Tenant, batch: Batch, *, shards: int
) -> list[Saved | CallerError]:
    """Those that can be made; for each of the others, why not. In the order of the items."""
    read = batch.read
    first: dict[str, int] = {}
    for at, each in enumerate(read):
        if not isinstance(each, CallerError):
            first.setdefault(each.definition.key, at)
    chosen = {at: p for at, p in enumerate(read) if not isinstance(p, CallerError)}
    parsed = [p for at, p in chosen.items() if first[p.definition.key] == at]

    stored = await insert(tx, tenant, parsed, shards=shards, now=batch.now)
    saved = {each.schedule.key: each for each in stored}
    results: list[Saved | CallerError] = []
    for at, each in enumerate(read):
        if isinstance(each, CallerError):
            results.append(each)
        elif first[each.definition.key] == at and each.definition.key in saved:
            results.append(saved[each.definition.key])
        else:
            results.append(DuplicateKey((each.definition.key,)))
    return results


async def insert(
    tx: Tx, tenant: Tenant, parsed: Sequence[Parsed], *, shards: int, now: datetime
) -> list[Saved]:
    """Store and arm those whose key is free, in the order given."""
    if not parsed:
        return []
    await _check_quota(tx, tenant, len(parsed))
    anchor_at = anchor(now)
    drafts = [_draft(tenant, each, shards=shards, now=now) for each in parsed]
    rows = [
        sql.NewSchedule(
            id=draft.id,
            key=draft.key,
            status=draft.status,
            shard=draft.shard,
            definition=definition.encode(draft.definition),
        )
        for draft in drafts
    ]
    stored = await sql.insert(tx, tenant.id, rows, anchor_at=anchor_at, at=now)
    kept = [(d, p) for d, p in zip(drafts, parsed, strict=True) if d.id in stored]
    await timers.arm(tx, [arming.timer(d, p.next_slot) for d, p in kept if p.next_slot])
    return [Saved(schedule=d, outcome="created", warnings=p.warnings) for d, p in kept]


def _draft(tenant: Tenant, parsed: Parsed, *, shards: int, now: datetime) -> Schedule:
    id_ = ids.new(at=now)
    return Schedule(
        id=id_,
        tenant_id=tenant.id,
        key=parsed.definition.key,
        name=parsed.definition.name,
        status="active" if parsed.definition.enabled else "paused",
        version=1,
        shard=shard_of(id_, shards),
        anchor_at=anchor(now),
        definition=stripped(parsed.definition),
        created_at=now,
        updated_at=now,
    )


def stripped(given: definition.Definition) -> definition.Definition:
    """Without `enabled`: whether it is active is told by its status alone."""
    return given if given.enabled else msgspec.structs.replace(given, enabled=True)


def anchor(now: datetime) -> datetime:
    """Whole milliseconds, as an id has them: slots are read by people."""
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


async def _check_quota(tx: Tx, tenant: Tenant, more: int) -> None:
    most = tenant.max_schedules
    if most is not None and await sql.count(tx, tenant.id) + more > most:
        raise QuotaReached(most)
    await create_pace.spend(tx, tenant, more)


async def read_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    targets: TargetPolicy = OPEN,
) -> Batch:
    """What the items say, before any of them is stored."""
    if len(items) > MAX_MANY:
        wrong = f"Invalid items: expected at most {MAX_MANY}, got {len(items)}"
        raise InvalidSchedule((Problem("items", wrong),))
    now = await db.run(sql.now, read_only=True)

    def read() -> list[Parsed | InvalidSchedule]:
        return [_read_one(each, tenant, anchor(now), targets) for each in items]

    # In a thread, and before the transaction: a second of work here must neither keep the loop
    # from firing nor hold locks.
    return Batch(now, await asyncio.to_thread(read))


def _read_one(
    given: Mapping[str, object], tenant: Tenant, now: datetime, targets: TargetPolicy
) -> Parsed | InvalidSchedule:
    try:
        return fields.read(given, now=now, min_interval=tenant.min_interval, targets=targets)
    except InvalidSchedule as problem:
        return problem


def _refuse_twins(parsed: Sequence[Parsed]) -> None:
    counts = Counter(each.definition.key for each in parsed)
    twins = tuple(key for key, count in counts.items() if count > 1)
    if twins:
        raise DuplicateKey(twins)
