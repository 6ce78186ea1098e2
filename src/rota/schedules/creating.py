"""Making schedules: one, or thousands in one statement.

A schedule and its timer are written in one transaction, so that there is never a schedule that
nobody will fire, nor a timer of nothing (F10).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from rota.errors import CallerError
from rota.schedules import after_links, calendar_field, celery_access, draft, making, sql
from rota.schedules.alike import Reader
from rota.schedules.calendars import sql as calendars_sql
from rota.schedules.calendars.calendar import Calendars
from rota.schedules.draft import stripped
from rota.schedules.errors import DuplicateKey, InvalidSchedule, Problem
from rota.schedules.making import Made, anchor
from rota.targets import OPEN, TargetPolicy
from rota.time_slicer import SOME, TimeSlicer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from rota.db import Database, Tx
    from rota.schedules.alike_kept import Memory
    from rota.schedules.draft import Draft
    from rota.schedules.fields import Parsed
    from rota.schedules.saved import Saved
    from rota.tenants.tenant import Tenant
    from rota.time_slicer import Steps

__all__ = [
    "MAX_MANY",
    "Batch",
    "anchor",
    "calendars_of",
    "create",
    "create_each",
    "create_many",
    "insert",
    "make_each",
    "make_many",
    "read_many",
    "store_each",
    "store_many",
    "stripped",
]

MAX_MANY = 10_000
#: Nobody mends more at once, and an answer must not be larger than its question.
_MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class Batch:
    """Many schedules as they were read at `now`: each a draft, or what is wrong with it."""

    now: datetime
    read: list[Draft | InvalidSchedule]


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
    [done] = await create_each(tx, tenant, [given], shards=shards, targets=targets)
    if isinstance(done, CallerError):
        raise done
    return done


async def create_each(
    tx: Tx,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
    memory: Memory | None = None,
    now: datetime | None = None,
) -> list[Saved | CallerError]:
    """Those that can be made, as `create` would each; for each of the others, why not.

    `memory` is of earlier ones under the same `targets`, and makes it quicker; so does `now`, when
    the database's clock is known already.
    """
    now = now or await sql.now(tx)
    known = await calendars_of(tx, tenant, *items)
    reader = Reader(
        now=anchor(now),
        min_interval=tenant.min_interval,
        targets=targets.of_tenant(tenant.id),
        calendars=known,
        memory=memory,
    )
    batch = Batch(now, [reader.whole(each) for each in items])
    return await store_each(tx, tenant, batch, shards=shards)


async def create_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
) -> list[Saved]:
    """All of them, or none, in a transaction of their own."""
    batch = await read_many(db, tenant, items, targets=targets, slicer=TimeSlicer())
    return await db.run(lambda tx: store_many(tx, tenant, batch, shards=shards))


async def store_many(tx: Tx, tenant: Tenant, batch: Batch, *, shards: int) -> list[Saved]:
    """As `make_many`: the whole of each."""
    made = await make_many(tx, tenant, batch, shards=shards)
    return [each.saved(tenant, shards=shards, now=batch.now) for each in made]


async def store_each(
    tx: Tx, tenant: Tenant, batch: Batch, *, shards: int
) -> list[Saved | CallerError]:
    """As `make_each`: the whole of those that were made."""
    made = await make_each(tx, tenant, batch, shards=shards)
    return [
        each if isinstance(each, CallerError) else each.saved(tenant, shards=shards, now=batch.now)
        for each in made
    ]


async def make_many(tx: Tx, tenant: Tenant, batch: Batch, *, shards: int) -> list[Made]:
    """All of them, or none: the error then names every item that stood in the way.

    In `InvalidSchedule` a field is called `items[3].cron_expr`.
    """
    drafts = [each for each in batch.read if not isinstance(each, CallerError)]
    if len(drafts) < len(batch.read):
        _refuse_all({at: e for at, e in enumerate(batch.read) if isinstance(e, InvalidSchedule)})
    _refuse_twins(drafts)
    refused = await _refused(tx, tenant, drafts)
    _refuse_all({at: refused[e.key] for at, e in enumerate(drafts) if e.key in refused})
    made = await making.store(tx, tenant, drafts, shards=shards, now=batch.now)
    if len(made) < len(drafts):
        stored = {each.draft.key for each in made}
        raise DuplicateKey(tuple(each.key for each in drafts if each.key not in stored))
    return made


async def make_each(
    tx: Tx, tenant: Tenant, batch: Batch, *, shards: int
) -> list[Made | CallerError]:
    """Those that can be made; for each of the others, why not. In the order of the items."""
    first: dict[str, int] = {}
    for at, each in enumerate(batch.read):
        if not isinstance(each, CallerError):
            first.setdefault(each.key, at)
    chosen = [batch.read[at] for at in first.values()]
    drafts = [each for each in chosen if not isinstance(each, CallerError)]
    refused = await _refused(tx, tenant, drafts)
    if refused:
        drafts = [each for each in drafts if each.key not in refused]
    made = await making.store(tx, tenant, drafts, shards=shards, now=batch.now)
    done: dict[str, Made | CallerError] = {each.draft.key: each for each in made}
    done |= refused
    return [
        each
        if isinstance(each, CallerError)
        else (done.get(each.key) if first[each.key] == at else None) or DuplicateKey((each.key,))
        for at, each in enumerate(batch.read)
    ]


async def insert(
    tx: Tx, tenant: Tenant, parsed: Sequence[Parsed], *, shards: int, now: datetime
) -> list[Saved]:
    """Store and arm those whose key is free, in the order given."""
    drafts = [draft.of(each) for each in parsed]
    for wrong in (await _refused(tx, tenant, drafts)).values():
        raise wrong
    made = await making.store(tx, tenant, drafts, shards=shards, now=now)
    return [each.saved(tenant, shards=shards, now=now) for each in made]


async def calendars_of(tx: Tx, tenant: Tenant, *items: Mapping[str, object]) -> Calendars:
    """The calendars that the fields name: they stay as they are until the transaction ends."""
    names = calendar_field.wanted(items)
    return await calendars_sql.share(tx, tenant.id, names) if names else Calendars()


async def read_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    targets: TargetPolicy = OPEN,
    memory: Memory | None = None,
    slicer: TimeSlicer,
) -> Batch:
    """What the items say, before any of them is stored; `memory` is as in `create_each`."""
    if len(items) > MAX_MANY:
        wrong = f"Invalid items: expected at most {MAX_MANY}, got {len(items)}"
        raise InvalidSchedule((Problem("items", wrong),))
    names = calendar_field.wanted(items)

    async def look(tx: Tx) -> tuple[datetime, Calendars]:
        known = await calendars_sql.named(tx, tenant.id, names) if names else Calendars()
        return await sql.now(tx), known

    now, known = await db.run(look, read_only=True)

    reader = Reader(
        now=anchor(now),
        min_interval=tenant.min_interval,
        targets=targets.of_tenant(tenant.id),
        calendars=known,
        memory=memory,
    )

    # Before the transaction, which would hold its locks for as long.
    return Batch(now, await slicer.run(tenant.id, _read(reader, items)))


def _read(
    reader: Reader, items: Sequence[Mapping[str, object]]
) -> Steps[list[Draft | InvalidSchedule]]:
    found: list[Draft | InvalidSchedule] = []
    for at, each in enumerate(items):
        found.append(reader.draft(each))
        if at % SOME == 0:
            yield
    return found


async def _refused(tx: Tx, tenant: Tenant, drafts: Sequence[Draft]) -> dict[str, InvalidSchedule]:
    """By key, those that must not follow whom they would follow, or not send what they would."""
    following = [each.parsed.definition for each in drafts if each.parsed is not None]
    refused = await after_links.refused(tx, tenant.id, following)
    return refused | celery_access.refused(tenant, drafts)


def _refuse_all(wrong: Mapping[int, InvalidSchedule]) -> None:
    """Nothing, or all that is wrong with the items at these places."""
    problems = islice(
        (
            Problem(f"items[{at}].{problem.field}", problem.message)
            for at, each in wrong.items()
            for problem in each.problems
        ),
        _MOST_PROBLEMS,
    )
    if found := tuple(problems):
        raise InvalidSchedule(found)


def _refuse_twins(drafts: Sequence[Draft]) -> None:
    counts = Counter(each.key for each in drafts)
    if len(counts) < len(drafts):
        raise DuplicateKey(tuple(key for key, count in counts.items() if count > 1))
