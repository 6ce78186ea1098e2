"""The table `schedules`: a schedule's row, and the statements that read, insert and change rows.

Pausing all, calendars and firing change many at once with statements of their own, built of
`COLUMNS`.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, LiteralString
from uuid import UUID

import msgspec

from rota.schedules import definition as definitions
from rota.schedules.calendars import sql as calendars

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from rota.db import Row, Tx
    from rota.schedules.calendars.calendar import Known
    from rota.schedules.definition import Definition
    from rota.schedules.fields import Parsed
    from rota.triggers.trigger import Trigger

Status = Literal["active", "paused", "completed"]
"""`active` has a timer, or fires without one (`triggers.never`); `paused` waits for its owner;
`completed` has no slot left."""

COLUMNS: LiteralString = """s.id, s.tenant_id, s.key, s.name, s.status, s.version, s.shard,
           s.anchor_at, s.definition::text AS definition, s.created_at, s.updated_at"""
"""What `of_row` reads of a row of `schedules s`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The contract as it stands at one version."""

    id: UUID
    tenant_id: UUID
    key: str
    name: str
    status: Status
    version: int
    """One more after every change of its definition, or of its calendar's days."""
    shard: int
    anchor_at: datetime
    """What its intervals count from; fixed when it was made or its trigger was edited."""
    definition: Definition
    created_at: datetime
    updated_at: datetime
    calendar: Known | None = None
    """The one that its definition names, with its days."""
    whole: Definition | None = None
    """In a worker's hands, of one that has steps: all of it, where `definition` is one step's."""

    @property
    def trigger(self) -> Trigger:
        """The instants it names."""
        return self.definition.trigger(self.anchor_at, self.calendar and self.calendar.days)

    @property
    def slots(self) -> Trigger:
        """The instants that people ask about: of a monitor, those for which it expects pings."""
        days = self.calendar and self.calendar.days
        return self.definition.expected(self.anchor_at, days) or self.trigger


def shard_of(schedule_id: UUID, shards: int) -> int:
    """The shard whose lease's holder fires it: fixed for its life.

    From the last bytes, which are random: the first are the time it was made, and schedules made
    together must not all be one node's work.
    """
    return (schedule_id.int & 0xFFFFFFFF) % shards


def of_row(row: Row, *, calendar: Known | None = None) -> Schedule:
    """The schedule of a row with `COLUMNS`.

    Callers that ask for its slots give its calendar, or call `with_calendars`.
    """
    return Schedule(
        id=row["id"],
        tenant_id=row["tenant_id"],
        key=row["key"],
        name=row["name"],
        status=row["status"],
        version=row["version"],
        shard=row["shard"],
        anchor_at=row["anchor_at"],
        definition=definitions.decode(row["definition"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        calendar=calendar,
    )


async def with_calendars(tx: Tx, schedules: Sequence[Schedule]) -> list[Schedule]:
    """These schedules, each with its calendar's days as they are now.

    A statement of its own, after those that lock: one that has waited for a lock would see the
    schedule as it is by then, and the calendar as it was before.
    """
    having = [each.id for each in schedules if each.definition.calendar is not None]
    found = await calendars.of_schedules(tx, having) if having else {}
    return [replace(s, calendar=found[s.id]) if s.id in found else s for s in schedules]


_NOW: LiteralString = "SELECT clock_timestamp()"


async def now(tx: Tx) -> datetime:
    """The database's clock."""
    return await tx.fetch_value(_NOW)


# Held until the transaction ends: two that create at once would both see room for one more.
_LOCK_TENANT: LiteralString = "SELECT FROM tenants WHERE id = $1 FOR NO KEY UPDATE"

_COUNT: LiteralString = "SELECT count(*) FROM schedules WHERE tenant_id = $1"


async def count(tx: Tx, tenant_id: UUID) -> int:
    """Returns how many schedules the tenant has; it gets no others before the transaction ends."""
    await tx.execute(_LOCK_TENANT, tenant_id)
    return await tx.fetch_value(_COUNT, tenant_id)


_ID_OF_KEY: LiteralString = "SELECT id FROM schedules WHERE tenant_id = $1 AND key = $2"


async def id_of_key(tx: Tx, tenant_id: UUID, key: str) -> UUID | None:
    return await tx.fetch_value(_ID_OF_KEY, tenant_id, key)


_OWNED: LiteralString = "SELECT EXISTS (SELECT FROM schedules WHERE tenant_id = $1 AND id = $2)"


async def is_owned(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> bool:
    return bool(await tx.fetch_value(_OWNED, tenant_id, schedule_id))


_LOAD: LiteralString = f"SELECT {COLUMNS} FROM schedules s WHERE s.id = ANY ($1::uuid[])"


async def load(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Schedule]:
    """The schedules with these ids, of whatever tenant, as they are now; no calendars."""
    return {row["id"]: of_row(row) for row in await tx.fetch(_LOAD, list(ids))}


_LOCK: LiteralString = f"""
    SELECT {COLUMNS}
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.id = $2
       FOR NO KEY UPDATE
"""


async def lock(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Schedule | None:
    row = await tx.fetch_row(_LOCK, tenant_id, schedule_id)
    if row is None:
        return None
    return (await with_calendars(tx, [of_row(row)]))[0]


_LOCK_MANY: LiteralString = f"""
    SELECT {COLUMNS}
      FROM schedules s
     WHERE s.id = ANY ($1::uuid[]) AND ($2::uuid IS NULL OR s.tenant_id = $2)
     ORDER BY s.id
       FOR NO KEY UPDATE
"""


async def lock_many(
    tx: Tx, schedule_ids: Sequence[UUID], *, tenant_id: UUID | None = None
) -> list[Schedule]:
    """Locks those of these schedules that exist until the transaction ends; no calendars."""
    return [of_row(row) for row in await tx.fetch(_LOCK_MANY, list(schedule_ids), tenant_id)]


_NO_ID: Final = UUID(int=0)


@dataclass(slots=True, eq=False)
class NewSchedule:
    """A schedule to be inserted: what is stored of it, as the database takes it."""

    key: str
    name: str
    definition: str
    """As `definition.encode` has it, though the order of its fields may differ."""
    tags: str
    """As PostgreSQL writes an array."""
    paused: bool
    slot: datetime | None
    """The first; None for one that needs no timer."""
    window: timedelta
    """How late after its slot it may be due."""
    warnings: tuple[str, ...]
    like: Definition
    """Its definition, or that of another with the same target."""
    parsed: Parsed | None = None
    """What was parsed; always there for one that follows others, is a monitor or has a calendar."""
    actor: str | None = None
    """Who creates it; None for the transaction's actor."""
    id: UUID = _NO_ID
    """Drawn when it is stored, and drawn again when that is tried again."""

    @property
    def status(self) -> Status:
        return "paused" if self.paused else "active"

    @classmethod
    def of(cls, parsed: Parsed) -> NewSchedule:
        definition = parsed.definition
        return cls(
            key=definition.key,
            name=definition.name,
            definition=definitions.encode(without_enabled(definition)),
            tags=text_array(definition.tags),
            paused=not definition.enabled,
            slot=parsed.next_slot,
            window=definition.spread_window,
            warnings=parsed.warnings,
            like=definition,
            parsed=parsed,
        )

    def schedule(self, tenant_id: UUID, *, shards: int, now: datetime) -> Schedule:
        """The schedule once it is stored."""
        parsed = self.parsed
        return Schedule(
            id=self.id,
            tenant_id=tenant_id,
            key=self.key,
            name=self.name,
            status=self.status,
            version=1,
            shard=shard_of(self.id, shards),
            anchor_at=anchor(now),
            definition=without_enabled(parsed.definition)
            if parsed is not None
            else definitions.decode(self.definition),
            created_at=now,
            updated_at=now,
            calendar=parsed and parsed.calendar,
        )


@lru_cache(maxsize=64)
def anchor(now: datetime) -> datetime:
    """Whole milliseconds, as an id has them: slots are read by people.

    Those that are created together share one instant.
    """
    return now.replace(microsecond=now.microsecond // 1000 * 1000)


def without_enabled(given: Definition) -> Definition:
    """As it is stored: whether it is active is told by its status alone."""
    return given if given.enabled else msgspec.structs.replace(given, enabled=True)


@lru_cache(maxsize=4096)
def text_array(texts: tuple[str, ...]) -> str:
    """As PostgreSQL writes an array: arrays of different lengths are no array of arrays."""
    quoted = (each.replace("\\", "\\\\").replace('"', '\\"') for each in texts)
    return "{" + ",".join(f'"{each}"' for each in quoted) + "}"


_UPDATE: LiteralString = """
    UPDATE schedules
       SET name = $3::jsonb ->> 'name',
           tags = ARRAY(SELECT jsonb_array_elements_text($3::jsonb -> 'tags')),
           job_type = $3::jsonb ->> 'job_type',
           definition = $3, status = $2, version = $4, anchor_at = $5, updated_at = $6,
           calendar = $3::jsonb ->> 'calendar', calendar_version = $7, updated_by = $8
     WHERE id = $1
"""


async def update(tx: Tx, schedule: Schedule) -> None:
    await tx.execute(
        _UPDATE,
        schedule.id,
        schedule.status,
        definitions.encode(schedule.definition),
        schedule.version,
        schedule.anchor_at,
        schedule.updated_at,
        schedule.calendar and schedule.calendar.version,
        tx.actor,
    )


_SET_STATUS: LiteralString = """
    UPDATE schedules
       SET status = $2, updated_at = $3, status_reason = $4, paused_until = $5, updated_by = $6,
           paused_together = false
     WHERE id = $1
"""


async def set_status(
    tx: Tx,
    schedule_id: UUID,
    status: Status,
    *,
    at: datetime,
    reason: str | None = None,
    until: datetime | None = None,
) -> None:
    await tx.execute(_SET_STATUS, schedule_id, status, at, reason, until, tx.actor)


_PAUSE_ALONE: LiteralString = """
    UPDATE schedules
       SET status_reason = CASE WHEN paused_together THEN NULL ELSE status_reason END,
           paused_together = false, paused_until = NULL
     WHERE id = $1 AND status = 'paused' AND (paused_together OR paused_until IS NOT NULL)
"""


async def pause_alone(tx: Tx, schedule_id: UUID) -> bool:
    """For one that is paused: takes it out of a bulk pause and removes the pause's end.

    Returns whether that changed anything.
    """
    return await tx.execute(_PAUSE_ALONE, schedule_id) > 0


_NOTE_PAUSE: LiteralString = """
    UPDATE schedules
       SET status_reason = $2, paused_until = $3, updated_at = $4, updated_by = $5,
           paused_together = false
     WHERE id = $1 AND status = 'paused'
"""


async def note_pause(
    tx: Tx, schedule_id: UUID, *, at: datetime, reason: str | None, until: datetime | None
) -> None:
    """For one that is paused: sets why, and until when."""
    await tx.execute(_NOTE_PAUSE, schedule_id, reason, until, at, tx.actor)


_DELETE: LiteralString = "DELETE FROM schedules WHERE id = $1"


async def delete(tx: Tx, schedule_id: UUID) -> None:
    """Its timer goes with it, by the foreign key."""
    await tx.execute(_DELETE, schedule_id)


_FIRED: LiteralString = "SELECT fired FROM schedules WHERE id = $1"


async def fired(tx: Tx, schedule_id: UUID) -> int:
    """Returns how many firings it had had when it was completed."""
    count: int | None = await tx.fetch_value(_FIRED, schedule_id)
    return count or 0


_KEEP_FIRED: LiteralString = "UPDATE schedules SET fired = $2 WHERE id = $1"


async def keep_fired(tx: Tx, schedule_id: UUID, count: int) -> None:
    """Stores how many firings it has had, for when it has no timer to count them."""
    await tx.execute(_KEEP_FIRED, schedule_id, count)


# A part of the statement that fires (`firing.fire`): `ended` are the timers that have no slot left.
COMPLETE: LiteralString = """
        UPDATE schedules s
           SET status = 'completed', fired = ended.fired, updated_at = clock_timestamp(),
               updated_by = 'rota'
          FROM ended
         WHERE s.id = ended.schedule_id AND s.status = 'active'
     RETURNING s.id, s.tenant_id, s.version, s.updated_at
"""
