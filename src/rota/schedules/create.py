"""Creating schedules, one or thousands: parse → check → store.

A schedule and its timer are written in one transaction, so that there is never a schedule that
nobody will fire, nor a timer of nothing. One create is a batch of one. On the way a schedule has
four shapes: the fields that were given, `Parsed` (a definition that holds), `NewSchedule` (what is
stored) and `Saved` (the schedule as it is now).
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, LiteralString

from rota import ids, timers
from rota.errors import CallerError
from rota.schedules import (
    after_links,
    audit,
    calendar_field,
    celery_access,
    monitoring,
    secret_names,
    task_queues,
    when,
)
from rota.schedules import definition as definitions
from rota.schedules import schedule as schedules
from rota.schedules.bulk_parser import BulkParser
from rota.schedules.calendars import sql as calendars_sql
from rota.schedules.calendars.calendar import Calendars
from rota.schedules.errors import DuplicateKey, InvalidSchedule, Problem, QuotaReached
from rota.schedules.schedule import NewSchedule, anchor
from rota.targets import OPEN, TargetPolicy
from rota.targets.placeholders import BEGINNING
from rota.tenants import create_pace
from rota.time_slicer import SOME, TimeSlicer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.schedules.bulk_parser import ParseCache
    from rota.schedules.fields import Parsed
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant
    from rota.time_slicer import Steps

MAX_MANY: Final = 10_000
_MAX_PROBLEMS: Final = 100
"""Nobody mends more at once, and an answer must not be larger than its question."""
_LARGE: Final = 32 * 1024
"""Bytes of payloads that are parsed without a pause."""
_STEP: Final = 1_000
"""In one statement: between two, the loop serves others."""
FEW: Final = 200
"""Up to so many get an audit row each, and their search index with them. More get one audit row for
all, and the index a little later, because writing it takes longer than all the rest
(docs/decisions/search.md)."""
_NO_WINDOW: Final = timedelta()


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A schedule as it is now, after it was created or changed."""

    schedule: Schedule
    outcome: Literal["created", "updated", "unchanged"]
    warnings: tuple[str, ...] = ()
    next_slot: datetime | None = None
    """Of one that was created: its first slot."""
    actor: str | None = None
    """Of one that was created: who created it."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Schedules as they were parsed at `now`: each to be stored, or what is wrong with it."""

    now: datetime
    parsed: list[NewSchedule | InvalidSchedule]


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
    cache: ParseCache | None = None,
    now: datetime | None = None,
    actors: Sequence[str] | None = None,
) -> list[Saved | CallerError]:
    """Those that can be created, as `create` would each; for each of the others, why not.

    `cache` is of earlier ones under the same `targets`, and makes it faster; so does `now`, when
    the database's clock is known already. `actors` is who creates each, if they are of several.
    """
    now = now or await schedules.now(tx)
    parser = BulkParser(
        now=anchor(now),
        min_interval=tenant.min_interval,
        targets=targets.of_tenant(tenant.id),
        calendars=await share_calendars(tx, tenant, *items),
        cache=cache,
    )
    parsed = [parser.parse_new(each) for each in items]
    for each, actor in zip(parsed, actors or [None] * len(parsed), strict=True):
        if not isinstance(each, CallerError):
            each.actor = actor
    results = await store_each(tx, tenant, Batch(now, parsed), shards=shards)
    return [
        each if isinstance(each, CallerError) else saved(each, tenant, shards=shards, now=now)
        for each in results
    ]


async def create_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    shards: int,
    targets: TargetPolicy = OPEN,
) -> list[Saved]:
    """All of them, or none, in a transaction of their own."""
    batch = await parse_many(db, tenant, items, targets=targets, slicer=TimeSlicer())
    stored = await db.run(lambda tx: store_all(tx, tenant, batch, shards=shards))
    return [saved(each, tenant, shards=shards, now=batch.now) for each in stored]


async def create_parsed(
    tx: Tx, tenant: Tenant, parsed: Sequence[Parsed], *, shards: int, now: datetime
) -> list[Saved]:
    """Those parsed at `now` whose key is free, in the order given."""
    new = [NewSchedule.of(each) for each in parsed]
    for wrong in (await _refused(tx, tenant, new)).values():
        raise wrong
    stored = await _store(tx, tenant, new, shards=shards, now=now)
    return [saved(each, tenant, shards=shards, now=now) for each in stored]


def saved(new: NewSchedule, tenant: Tenant, *, shards: int, now: datetime) -> Saved:
    """A schedule that was stored at `now`."""
    return Saved(
        schedule=new.schedule(tenant.id, shards=shards, now=now),
        outcome="created",
        warnings=new.warnings,
        next_slot=new.slot,
        actor=new.actor,
    )


# Parse.


async def parse_many(
    db: Database,
    tenant: Tenant,
    items: Sequence[Mapping[str, object]],
    *,
    targets: TargetPolicy = OPEN,
    cache: ParseCache | None = None,
    slicer: TimeSlicer,
) -> Batch:
    """What the items say, before any of them is stored; `cache` is as in `create_each`."""
    if len(items) > MAX_MANY:
        wrong = f"Invalid items: expected at most {MAX_MANY}, got {len(items)}"
        raise InvalidSchedule((Problem("items", wrong),))
    names = calendar_field.wanted(items)

    async def look(tx: Tx) -> tuple[datetime, Calendars]:
        known = await calendars_sql.named(tx, tenant.id, names) if names else Calendars()
        return await schedules.now(tx), known

    now, known = await db.run(look, read_only=True)
    parser = BulkParser(
        now=anchor(now),
        min_interval=tenant.min_interval,
        targets=targets.of_tenant(tenant.id),
        calendars=known,
        cache=cache,
    )
    # Before the transaction, which would hold its locks for as long.
    return Batch(now, await slicer.run(tenant.id, _parse(parser, items)))


def _parse(
    parser: BulkParser, items: Sequence[Mapping[str, object]]
) -> Steps[list[NewSchedule | InvalidSchedule]]:
    found: list[NewSchedule | InvalidSchedule] = []
    paused_at = 0
    for at, each in enumerate(items):
        found.append(parser.parse_row(each))
        # Some small items at a time, and each large one by itself.
        if at % SOME == 0 or parser.payload_bytes > paused_at + _LARGE:
            paused_at = parser.payload_bytes
            yield
    return found


async def share_calendars(tx: Tx, tenant: Tenant, *items: Mapping[str, object]) -> Calendars:
    """The calendars that the fields name, locked against changes until the transaction ends."""
    names = calendar_field.wanted(items)
    return await calendars_sql.share(tx, tenant.id, names) if names else Calendars()


# Check.


async def _refused(
    tx: Tx, tenant: Tenant, new: Sequence[NewSchedule]
) -> dict[str, InvalidSchedule]:
    """By key, those that must not follow what they would follow, or not send what they would."""
    following = [each.parsed.definition for each in new if each.parsed is not None]
    refused = await after_links.refused(tx, tenant.id, following)
    return refused | celery_access.refused(tenant, new)


def _refuse_all(wrong: Mapping[int, InvalidSchedule]) -> None:
    """Raise all that is wrong with the items at these places, if anything is."""
    problems = islice(
        (
            Problem(f"items[{at}].{problem.field}", problem.message)
            for at, each in wrong.items()
            for problem in each.problems
        ),
        _MAX_PROBLEMS,
    )
    if found := tuple(problems):
        raise InvalidSchedule(found)


def _refuse_twins(new: Sequence[NewSchedule]) -> None:
    counts = Counter(each.key for each in new)
    if len(counts) < len(new):
        raise DuplicateKey(tuple(key for key, count in counts.items() if count > 1))


async def _check_quota(tx: Tx, tenant: Tenant, more: int) -> None:
    most = tenant.max_schedules
    if most is not None and await schedules.count(tx, tenant.id) + more > most:
        raise QuotaReached(most)
    await create_pace.spend(tx, tenant, more)


# Store.


async def store_all(tx: Tx, tenant: Tenant, batch: Batch, *, shards: int) -> list[NewSchedule]:
    """All of them, or none: the error then names every item that stood in the way.

    In `InvalidSchedule` a field is called `items[3].cron_expr`.
    """
    new = [each for each in batch.parsed if not isinstance(each, CallerError)]
    if len(new) < len(batch.parsed):
        _refuse_all({at: e for at, e in enumerate(batch.parsed) if isinstance(e, InvalidSchedule)})
    _refuse_twins(new)
    refused = await _refused(tx, tenant, new)
    _refuse_all({at: refused[e.key] for at, e in enumerate(new) if e.key in refused})
    stored = await _store(tx, tenant, new, shards=shards, now=batch.now)
    if len(stored) < len(new):
        keys = {each.key for each in stored}
        raise DuplicateKey(tuple(each.key for each in new if each.key not in keys))
    return stored


async def store_each(
    tx: Tx, tenant: Tenant, batch: Batch, *, shards: int
) -> list[NewSchedule | CallerError]:
    """Those that can be stored; for each of the others, why not. In the order of the items."""
    first: dict[str, int] = {}
    for at, each in enumerate(batch.parsed):
        if not isinstance(each, CallerError):
            first.setdefault(each.key, at)
    chosen = [batch.parsed[at] for at in first.values()]
    new = [each for each in chosen if not isinstance(each, CallerError)]
    refused = await _refused(tx, tenant, new)
    if refused:
        new = [each for each in new if each.key not in refused]
    stored = await _store(tx, tenant, new, shards=shards, now=batch.now)
    done: dict[str, NewSchedule | CallerError] = {each.key: each for each in stored}
    done |= refused
    return [
        each
        if isinstance(each, CallerError)
        else (done.get(each.key) if first[each.key] == at else None) or DuplicateKey((each.key,))
        for at, each in enumerate(batch.parsed)
    ]


async def _store(
    tx: Tx, tenant: Tenant, new: Sequence[NewSchedule], *, shards: int, now: datetime
) -> list[NewSchedule]:
    """Store and arm those whose key is free, in the order given."""
    if not new:
        return []
    new = await _with_calendars(tx, tenant, new, anchor(now))
    new = await _with_queues(tx, tenant, new)
    await _check_quota(tx, tenant, len(new))
    few = len(new) <= FEW
    drawn = ids.several(len(new), at=now)
    stored: list[NewSchedule] = []
    for start in range(0, len(new), _STEP):
        part = new[start : start + _STEP]
        for each, id_ in zip(part, drawn, strict=False):
            each.id, each.actor = id_, each.actor or tx.actor
        is_last = start + _STEP >= len(new)
        left_out = await insert(
            tx,
            tenant.id,
            part,
            shards=shards,
            at=now,
            few=few,
            put_off=(new[0].id, new[-1].id) if is_last and not few else None,
        )
        stored += [each for each in part if each.id not in left_out] if left_out else part
    if not few:
        await audit.created_many(tx, tenant.id, len(stored), at=now)
    return await _linked(tx, tenant, stored, shards=shards, now=now)


# Columns of anything but text are one text each: the driver looks at every value of an array to see
# whether it is another array, which takes longer than all the rest of it.
_INSERT: LiteralString = f"""
    WITH left_out AS MATERIALIZED (
        SELECT make_schedules($1, $2, $3, $4::text::uuid[], $5, $6, $7::text::smallint[],
                              $8::text::boolean[], $9, $10::text::integer[], $11, $12, $13, $14,
                              $15, $16) AS id
    ), made AS (
        SELECT $1 AS tenant_id, x.id, $3 AS at, coalesce(x.actor, ($16::text[])[1]) AS actor,
               CASE WHEN x.paused THEN 'paused' ELSE 'active' END AS status
          FROM unnest($4::text::uuid[], $8::text::boolean[], $16::text[]) AS x(id, paused, actor)
         WHERE $13 AND x.id NOT IN (SELECT id FROM left_out)
    ), recorded AS ({audit.CREATED})
    SELECT id FROM left_out
"""


async def insert(
    tx: Tx,
    tenant_id: UUID,
    new: Sequence[NewSchedule],
    *,
    shards: int,
    at: datetime,
    few: bool,
    put_off: tuple[UUID, UUID] | None = None,
) -> set[UUID]:
    """Insert and arm those whose key is free, by `make_schedules` (db/functions).

    Returns the ids of the others. A `few` get their search index and an audit row each with them.
    Otherwise `put_off` is the first and the last id of all whose index is written later, given
    once for all of them, and all have one actor.

    Wakes, when the transaction commits, the schedulers of shards that get a timer due soon.
    """
    # Of thousands of schedules most share few instants, and an instant takes long to write.
    numbers: dict[datetime | None, str] = {None: "NULL"}
    slots: list[datetime] = []
    for each in new:
        if each.slot is not None and each.slot not in numbers:
            slots.append(each.slot)
            numbers[each.slot] = str(len(slots))
    actors = [each.actor or tx.actor for each in new]
    rows = await tx.fetch(
        _INSERT,
        tenant_id,
        anchor(at),
        at,
        _column([f"{each.id.int:032x}" for each in new]),
        [each.definition for each in new],
        [each.tags for each in new],
        _column([str(schedules.shard_of(each.id, shards)) for each in new]),
        _column(["t" if each.paused else "f" for each in new]),
        slots,
        _column([numbers[each.slot] for each in new]),
        _due(new),
        _calendar_versions(new),
        few,
        put_off,
        timers.SOON,
        actors[:1] if len(set(actors)) == 1 else actors,
    )
    return {row[0] for row in rows}


def _column(values: list[str]) -> str:
    """As PostgreSQL writes an array of what needs no quotes."""
    return "{" + ",".join(values) + "}"


def _due(new: Sequence[NewSchedule]) -> list[datetime | None] | None:
    """When each is due; None when each is due at its slot."""
    if all(each.window == _NO_WINDOW for each in new):
        return None
    return [
        None if each.slot is None else each.slot + timers.offset(each.id, each.window)
        for each in new
    ]


def _calendar_versions(new: Sequence[NewSchedule]) -> list[int | None] | None:
    """Of each, the version of its calendar's days; None when none has a calendar."""
    known = [each.parsed and each.parsed.calendar for each in new]
    return [each and each.version for each in known] if any(known) else None


async def _linked(
    tx: Tx, tenant: Tenant, stored: list[NewSchedule], *, shards: int, now: datetime
) -> list[NewSchedule]:
    """Arm the monitors among them and link those that follow others.

    Returns them with a warning for each secret, and each schedule to follow, that does not exist.
    """
    stored = await _with_secrets(tx, tenant, stored)
    whole = [
        each.schedule(tenant.id, shards=shards, now=now)
        for each in stored
        if each.parsed is not None and _waits(each.parsed)
    ]
    if not whole:
        return stored
    await monitoring.arm(tx, whole, now=now)
    return _warned(stored, await after_links.store(tx, tenant.id, whole))


def _waits(parsed: Parsed) -> bool:
    return parsed.definition.monitor is not None or parsed.definition.after is not None


async def _with_secrets(tx: Tx, tenant: Tenant, stored: list[NewSchedule]) -> list[NewSchedule]:
    names = {
        each.id: secret_names.used(definitions.decode(each.definition))
        for each in stored
        if BEGINNING in each.definition
    }
    return _warned(stored, await secret_names.unknown(tx, tenant.id, names)) if names else stored


def _warned(stored: list[NewSchedule], more: Mapping[UUID, Sequence[str]]) -> list[NewSchedule]:
    if not more:
        return stored
    return [
        replace(each, warnings=(*each.warnings, *more[each.id])) if each.id in more else each
        for each in stored
    ]


async def _with_calendars(
    tx: Tx, tenant: Tenant, new: Sequence[NewSchedule], now: datetime
) -> Sequence[NewSchedule]:
    """The same, with their calendars as they are now: many are parsed before the transaction."""
    names = {
        each.parsed.calendar.name
        for each in new
        if each.parsed is not None and each.parsed.calendar is not None
    }
    if not names:
        return new
    current = await calendars_sql.share(tx, tenant.id, names)
    return [_with_calendar(each, current, now) for each in new]


def _with_calendar(new: NewSchedule, current: Calendars, now: datetime) -> NewSchedule:
    parsed = new.parsed
    if parsed is None or parsed.calendar is None:
        return new
    calendar = current.known.get(parsed.calendar.name)
    if calendar is None:
        wrong = "Invalid calendar: it has just been deleted"
        raise InvalidSchedule((Problem("calendar", wrong),))
    if calendar.version == parsed.calendar.version:
        return new
    trigger = parsed.definition.trigger(now, calendar.days)
    slot = trigger.next_after(now)
    if slot is None and parsed.next_slot is not None:
        raise InvalidSchedule((Problem("calendar", when.no_future(trigger, now)),))
    return _reparsed(new, replace(parsed, calendar=calendar, trigger=trigger, next_slot=slot))


async def _with_queues(tx: Tx, tenant: Tenant, new: Sequence[NewSchedule]) -> Sequence[NewSchedule]:
    """The same, those without a queue in the queue where a program has registered their task."""
    tasks = frozenset[str]().union(*(task_queues.unplaced(each.like) for each in new))
    queues = await task_queues.find(tx, tenant.id, tasks)
    return [_with_queue(each, queues) for each in new] if queues else new


def _with_queue(new: NewSchedule, queues: Mapping[str, str]) -> NewSchedule:
    if not task_queues.unplaced(new.like) & queues.keys():
        return new
    if new.parsed is not None:
        parsed = new.parsed
        placed = task_queues.placed(parsed.definition, queues)
        return _reparsed(new, replace(parsed, definition=placed))
    placed = task_queues.placed(definitions.decode(new.definition), queues)
    return replace(new, definition=definitions.encode(placed), like=placed)


def _reparsed(new: NewSchedule, parsed: Parsed) -> NewSchedule:
    return replace(NewSchedule.of(parsed), actor=new.actor)
