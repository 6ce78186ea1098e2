"""Writing schedules with all that belongs to them: timers, and what is waited for."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from rota import ids
from rota.schedules import after_links, draft, making_sql, monitoring, sql, task_queues, when
from rota.schedules import definition as definitions
from rota.schedules.calendars import sql as calendars_sql
from rota.schedules.errors import InvalidSchedule, Problem, QuotaReached
from rota.schedules.saved import Saved
from rota.schedules.schedule import Schedule, shard_of
from rota.tenants import create_pace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.calendars.calendar import Calendars
    from rota.schedules.draft import Draft
    from rota.schedules.fields import Parsed
    from rota.schedules.schedule import Status
    from rota.tenants.tenant import Tenant

STEP: Final = 1_000
"""In one statement: between two, the loop sees to others."""


class Made(NamedTuple):
    """A schedule that was stored."""

    id: UUID
    draft: Draft
    warnings: tuple[str, ...]

    @property
    def status(self) -> Status:
        return "paused" if self.draft.paused else "active"

    def saved(self, tenant: Tenant, *, shards: int, now: datetime) -> Saved:
        """The whole of it."""
        schedule = _schedule(tenant, self.id, self.draft, shards=shards, now=now)
        return Saved(
            schedule=schedule,
            outcome="created",
            warnings=self.warnings,
            next_slot=self.draft.slot,
        )


async def store(
    tx: Tx, tenant: Tenant, drafts: Sequence[Draft], *, shards: int, now: datetime
) -> list[Made]:
    """Store and arm those whose key is free, in the order given.

    Whether they may follow those that they follow is the caller's to ask (`after_links.refused`).
    """
    if not drafts:
        return []
    drafts = await _with_calendars(tx, tenant, drafts, anchor(now))
    drafts = await _with_queues(tx, tenant, drafts)
    await _check_quota(tx, tenant, len(drafts))
    few = len(drafts) <= making_sql.FEW
    fresh = ids.several(len(drafts), at=now)
    first: UUID | None = None
    stored: list[Made] = []
    for start in range(0, len(drafts), STEP):
        part = drafts[start : start + STEP]
        made = list(islice(fresh, len(part)))
        first = first or made[0]
        is_last = start + STEP >= len(drafts)
        left_out = await making_sql.make(
            tx,
            tenant.id,
            made,
            part,
            shards=shards,
            anchor_at=anchor(now),
            at=now,
            with_words=few,
            put_off=(first, made[-1]) if is_last and not few else None,
        )
        stored += [
            Made(id_, each, each.warnings)
            for id_, each in zip(made, part, strict=True)
            if id_ not in left_out
        ]
    return await _linked(tx, tenant, stored, shards=shards, now=now)


async def _linked(
    tx: Tx, tenant: Tenant, stored: list[Made], *, shards: int, now: datetime
) -> list[Made]:
    """The same, when what is waited for is written down: pings, and the ends of others' firings."""
    whole = [
        _schedule(tenant, each.id, each.draft, shards=shards, now=now)
        for each in stored
        if each.draft.parsed is not None and _waits(each.draft.parsed)
    ]
    if not whole:
        return stored
    await monitoring.arm(tx, whole, now=now)
    unmet = await after_links.store(tx, tenant.id, whole)
    return [
        Made(each.id, each.draft, (*each.warnings, *unmet[each.id])) if each.id in unmet else each
        for each in stored
    ]


def _waits(parsed: Parsed) -> bool:
    return parsed.definition.monitor is not None or parsed.definition.after is not None


def _schedule(tenant: Tenant, id_: UUID, made: Draft, *, shards: int, now: datetime) -> Schedule:
    parsed = made.parsed
    return Schedule(
        id=id_,
        tenant_id=tenant.id,
        key=made.key,
        name=made.name,
        status="paused" if made.paused else "active",
        version=1,
        shard=shard_of(id_, shards),
        anchor_at=anchor(now),
        definition=draft.stripped(parsed.definition)
        if parsed is not None
        else definitions.decode(made.definition),
        created_at=now,
        updated_at=now,
        calendar=parsed and parsed.calendar,
    )


def anchor(now: datetime) -> datetime:
    """Whole milliseconds, as an id has them: slots are read by people."""
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


async def _with_calendars(
    tx: Tx, tenant: Tenant, drafts: Sequence[Draft], now: datetime
) -> Sequence[Draft]:
    """The same, with their calendars as they are now: many are read before the transaction."""
    names = {
        each.parsed.calendar.name
        for each in drafts
        if each.parsed is not None and each.parsed.calendar is not None
    }
    if not names:
        return drafts
    current = await calendars_sql.share(tx, tenant.id, names)
    return [_with_calendar(each, current, now) for each in drafts]


def _with_calendar(made: Draft, current: Calendars, now: datetime) -> Draft:
    parsed = made.parsed
    if parsed is None or parsed.calendar is None:
        return made
    calendar = current.known.get(parsed.calendar.name)
    if calendar is None:
        wrong = "Invalid calendar: it has just been deleted"
        raise InvalidSchedule((Problem("calendar", wrong),))
    if calendar.version == parsed.calendar.version:
        return made
    trigger = parsed.definition.trigger(now, calendar.days)
    slot = trigger.next_after(now)
    if slot is None and parsed.next_slot is not None:
        raise InvalidSchedule((Problem("calendar", when.no_future(trigger, now)),))
    return draft.of(replace(parsed, calendar=calendar, trigger=trigger, next_slot=slot))


async def _with_queues(tx: Tx, tenant: Tenant, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The same, those without a queue in the queue where a program has registered their task."""
    tasks = frozenset[str]().union(*(task_queues.unplaced(each.like) for each in drafts))
    queues = await task_queues.find(tx, tenant.id, tasks)
    return [_with_queue(each, queues) for each in drafts] if queues else drafts


def _with_queue(made: Draft, queues: Mapping[str, str]) -> Draft:
    if not task_queues.unplaced(made.like) & queues.keys():
        return made
    if made.parsed is not None:
        parsed = made.parsed
        return draft.of(replace(parsed, definition=task_queues.placed(parsed.definition, queues)))
    stored = task_queues.placed(definitions.decode(made.definition), queues)
    return made._replace(definition=definitions.encode(stored), like=stored)


async def _check_quota(tx: Tx, tenant: Tenant, more: int) -> None:
    most = tenant.max_schedules
    if most is not None and await sql.count(tx, tenant.id) + more > most:
        raise QuotaReached(most)
    await create_pace.spend(tx, tenant, more)
