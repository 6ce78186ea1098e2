"""Reading schedules for their owners: one, or a page of those that fit a filter.

Everything is read for one tenant; a schedule of another looks like none at all.

There is one statement for each way to find them, because a statement that takes every filter or
none is planned once for all of them, and then walks all of a tenant's schedules for a page of a
hundred. There is one to read them, because it takes longer to plan than to run, and with nothing
but ids in it, it is planned once.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString, NamedTuple
from uuid import UUID

from rota.schedules import next_slot
from rota.schedules.calendars.sql import known
from rota.schedules.schedule import COLUMNS, of_row

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from datetime import datetime

    from rota.db import Row, Tx
    from rota.schedules.create import Saved
    from rota.schedules.schedule import Schedule

MAX_PAGE_BYTES: Final = 2 * 1024 * 1024
MAX_LARGE: Final = 2
"""Schedules with large definitions that one statement reads."""
_STATUSES: Final = ("active", "paused", "completed")
_LAST: Final = UUID(int=2**128 - 1)
"""After every schedule: where a list begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A schedule, and where it stands."""

    schedule: Schedule
    next_fire_at: datetime | None
    """The next slot."""
    next_due_at: datetime | None
    """When that slot is due: later than the slot by its share of jitter and fire window."""
    last_fire_at: datetime | None
    last_status: str | None
    status_reason: str | None = None
    """Why it is paused, as Rota or whoever paused it said; None when nobody said."""
    paused_until: datetime | None = None
    """When it is resumed without being asked; None for never."""
    monitor_state: str | None = None
    """Of a monitor: waiting (for its first ping), up, late (its grace runs), or down."""
    expected_at: datetime | None = None
    """Of a monitor: when the next ping is due."""
    last_ping_at: datetime | None = None
    created_by: str | None = None
    """As the audit trail names actors; None of one that is older than the trail."""
    updated_by: str | None = None


class Page(NamedTuple):
    """Some schedules, the newest first, and whether there are more."""

    found: list[Standing]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which schedules are asked for; None asks for all."""

    status: str | None = None
    enabled: bool | None = None
    job_type: str | None = None
    tag: str | None = None
    key: str | None = None
    name: str | None = None
    q: str | None = None

    @property
    def statuses(self) -> list[str] | None:
        """The statuses that it leaves; None for all."""
        left = [
            each
            for each in _STATUSES
            if self.status in {None, each} and self.enabled in {None, each != "paused"}
        ]
        return None if len(left) == len(_STATUSES) else left


async def page(tx: Tx, tenant_id: UUID, wanted: Filter, *, after: UUID | None, limit: int) -> Page:
    """The newest schedules that fit, from the one after `after` on.

    The page ends early when it has `MAX_PAGE_BYTES` of definitions: a thousand payloads at their
    limit would be 256 MB. A transaction that sees one snapshot misses none between the statements.
    """
    # One more than asked for tells whether there is another page.
    found = await _find(tx, tenant_id, wanted, after=after or _LAST, limit=limit + 1)
    has_more = len(found) > limit
    ids = found[:limit]
    standings: list[Standing] = []
    size = 0
    async for rows in _in_parts(tx, tenant_id, ids):
        standings += [_standing(row) for row in rows]
        size += sum(len(row["definition"]) for row in rows)
        if size > MAX_PAGE_BYTES:
            break
    return Page(standings, has_more or len(standings) < len(ids))


async def find(tx: Tx, tenant_id: UUID, schedule_id: UUID) -> Standing | None:
    """One schedule; None when the tenant has none of this id."""
    found = await find_many(tx, tenant_id, [schedule_id])
    return found[0] if found else None


async def find_many(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> list[Standing]:
    """These schedules, as far as the tenant has them, the newest first."""
    return [_standing(row) for row in await _read(tx, tenant_id, ids)]


def from_saved(saved: Saved) -> Standing:
    """A schedule that was created just now, as `find` would have it."""
    schedule = saved.schedule
    slot = saved.next_slot if schedule.status == "active" else None
    return Standing(
        schedule=schedule,
        next_fire_at=slot,
        next_due_at=slot and next_slot.due_at(schedule.id, schedule.definition, slot),
        last_fire_at=None,
        last_status=None,
        created_by=saved.actor,
        updated_by=saved.actor,
    )


async def _find(tx: Tx, tenant_id: UUID, wanted: Filter, *, after: UUID, limit: int) -> list[UUID]:
    """By the filter that leaves the least, as far as can be told without looking."""
    statuses = wanted.statuses
    place = (tx, tenant_id, after, limit)
    if wanted.q is not None or wanted.tag is not None or wanted.name is not None:
        return await _by_words(
            *place,
            q=wanted.q,
            name=wanted.name,
            tag=wanted.tag,
            key=wanted.key,
            job_type=wanted.job_type,
            statuses=statuses,
        )
    if wanted.key is not None:
        return await _by_key(*place, key=wanted.key, statuses=statuses, job_type=wanted.job_type)
    if wanted.job_type is not None:
        return await _by_type(*place, job_type=wanted.job_type, statuses=statuses)
    if statuses is not None:
        return await _by_status(*place, statuses=statuses)
    return await _by_status(*place, statuses=list(_STATUSES))


def _standing(row: Row) -> Standing:
    calendar = None
    if row["calendar"] is not None:
        calendar = known(row["calendar"], row["calendar_version"], row["calendar_days"])
    return Standing(
        schedule=of_row(row, calendar=calendar),
        next_fire_at=row["next_fire_at"],
        next_due_at=row["next_due_at"],
        last_fire_at=row["last_fire_at"],
        last_status=row["last_status"],
        status_reason=row["status_reason"],
        paused_until=row["paused_until"],
        monitor_state=row["monitor_state"],
        expected_at=row["expected_at"],
        last_ping_at=row["last_ping_at"],
        created_by=row["created_by"],
        updated_by=row["updated_by"],
    )


# A slot that is prepared but not started yet is still to come: the scheduler works ahead of time,
# and with jitter or a fire window the slot itself may have passed. One that is asked back
# (`cancel_reason`) is not. What was skipped or missed has not fired, so it is not the last firing.
# As of this statement: the transaction of an edit may have waited for others since it began.
_READ: LiteralString = f"""
    WITH page AS (
        SELECT s.* FROM schedules s WHERE s.tenant_id = $1 AND s.id = ANY ($2::uuid[])
    )
    SELECT {COLUMNS}, s.status_reason, s.created_by, s.updated_by, m.last_ping_at,
           CASE WHEN m.deadline_at < 'infinity' THEN m.expected_at END AS expected_at,
           CASE WHEN m.state <> 'down' AND m.deadline_at < 'infinity' AND m.expected_at <= look.at
                THEN 'late' ELSE m.state END AS monitor_state,
           s.calendar, c.version AS calendar_version, c.days::text AS calendar_days,
           CASE WHEN s.status = 'paused' THEN s.paused_until END AS paused_until,
           upcoming.scheduled_for AS next_fire_at, upcoming.due_at AS next_due_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.scheduled_for ELSE ended.scheduled_for END AS last_fire_at,
           CASE WHEN live.scheduled_for >= ended.scheduled_for OR ended.scheduled_for IS NULL
                THEN live.state ELSE ended.status END AS last_status
      FROM page s
      LEFT JOIN timers t ON t.schedule_id = s.id
      LEFT JOIN monitors m ON m.schedule_id = s.id
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     CROSS JOIN LATERAL (
           SELECT statement_timestamp() AS at, make_interval(
                      secs => coalesce((s.definition -> 'jitter_seconds')::float8, 0)
                              + coalesce((s.definition -> 'fire_window_seconds')::float8, 0)
                  ) AS spread) look
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for, nullif(q.available_at, 'infinity') AS due_at FROM queue q
            WHERE q.schedule_id = s.id AND q.cancel_reason IS NULL
              AND q.scheduled_for > look.at - look.spread
              AND (q.scheduled_for > look.at
                   OR q.available_at > look.at
                      AND q.attempt <= CASE q.state WHEN 'running' THEN 1 ELSE 0 END)
            ORDER BY q.scheduled_for LIMIT 1) ahead ON true
      LEFT JOIN LATERAL (
           SELECT ahead.scheduled_for, ahead.due_at WHERE ahead.scheduled_for IS NOT NULL
            UNION ALL
           SELECT t.scheduled_for, t.due_at WHERE s.status = 'active' AND t.due_at < 'infinity'
            ORDER BY scheduled_for LIMIT 1) upcoming ON true
      LEFT JOIN LATERAL (
           SELECT q.scheduled_for, q.state FROM queue q
            WHERE q.schedule_id = s.id AND q.attempt > 0 AND q.scheduled_for <= look.at
              AND NOT (q.state = 'running' AND q.attempt = 1 AND q.available_at > look.at)
            ORDER BY q.scheduled_for DESC LIMIT 1) live ON true
      LEFT JOIN LATERAL (
           SELECT f.scheduled_for, f.status FROM firings f
            WHERE f.schedule_id = s.id AND f.status IN ('succeeded', 'dead', 'cancelled')
            ORDER BY f.scheduled_for DESC LIMIT 1) ended ON true
     ORDER BY s.id DESC
"""


async def _read(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> list[Row]:
    return await tx.fetch(_READ, tenant_id, list(ids))


# Stored compressed or elsewhere, and so perhaps large; its size is not known without reading it.
_LARGE: LiteralString = """
    SELECT id FROM schedules
     WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
       AND (pg_column_size(definition) > 1000 OR calendar IS NOT NULL)
"""


async def _in_parts(tx: Tx, tenant_id: UUID, ids: Sequence[UUID]) -> AsyncGenerator[list[Row]]:
    """`_read` in a few statements, in the order of the ids: no answer holds many large ones."""
    if len(ids) <= MAX_LARGE:
        yield await _read(tx, tenant_id, ids)
        return
    large = {row[0] for row in await tx.fetch(_LARGE, tenant_id, list(ids))}
    part: list[UUID] = []
    count = 0
    for id_ in ids:
        if count == MAX_LARGE and id_ in large:
            yield await _read(tx, tenant_id, part)
            part, count = [], 0
        part.append(id_)
        count += id_ in large
    yield await _read(tx, tenant_id, part)


# Each status by itself: the newest of each are side by side in the index, those of two are not. By
# two bounds in place of one value: the order then says which index it is, and rare ones are not
# looked for along the index of all.
_BY_STATUS: LiteralString = """
    SELECT s.id
      FROM unnest($4::text[]) AS wanted(status),
           LATERAL (SELECT e.id FROM schedules e
                     WHERE e.tenant_id = $1 AND e.id < $2
                       AND e.status >= wanted.status AND e.status <= wanted.status
                     ORDER BY e.status DESC, e.id DESC
                     LIMIT $3) AS s
     ORDER BY s.id DESC
     LIMIT $3
"""


async def _by_status(
    tx: Tx, tenant_id: UUID, after: UUID, limit: int, *, statuses: list[str]
) -> list[UUID]:
    rows = await tx.fetch(_BY_STATUS, tenant_id, after, limit, statuses)
    return [row[0] for row in rows]


_BY_TYPE: LiteralString = """
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.id < $2 AND s.job_type >= $4 AND s.job_type <= $4
       AND ($5::text[] IS NULL OR s.status = ANY ($5))
     ORDER BY s.job_type DESC, s.id DESC
     LIMIT $3
"""


async def _by_type(
    tx: Tx, tenant_id: UUID, after: UUID, limit: int, *, job_type: str, statuses: list[str] | None
) -> list[UUID]:
    rows = await tx.fetch(_BY_TYPE, tenant_id, after, limit, job_type, statuses)
    return [row[0] for row in rows]


_BY_KEY: LiteralString = """
    SELECT s.id
      FROM schedules s
     WHERE s.tenant_id = $1 AND s.key = $4 AND s.id < $2
       AND ($5::text[] IS NULL OR s.status = ANY ($5))
       AND ($6::text IS NULL OR s.job_type = $6)
     LIMIT $3
"""


async def _by_key(
    tx: Tx,
    tenant_id: UUID,
    after: UUID,
    limit: int,
    *,
    key: str,
    statuses: list[str] | None,
    job_type: str | None,
) -> list[UUID]:
    rows = await tx.fetch(_BY_KEY, tenant_id, after, limit, key, statuses, job_type)
    return [row[0] for row in rows]


# By a word, a tag or a name: see db/functions/search.sql.
_BY_WORDS: LiteralString = """
    SELECT id
      FROM find_schedules($1, $5, words_wanted($1, $4, $6, $7), $7, $6, $8, $9, $10, $2, $3)
           AS found(id)
"""


async def _by_words(
    tx: Tx,
    tenant_id: UUID,
    after: UUID,
    limit: int,
    *,
    q: str | None,
    name: str | None,
    tag: str | None,
    key: str | None,
    job_type: str | None,
    statuses: list[str] | None,
) -> list[UUID]:
    rows = await tx.fetch(
        _BY_WORDS,
        tenant_id,
        after,
        limit,
        q,
        None if q is None else containing(q),
        name,
        tag,
        key,
        job_type,
        statuses,
    )
    return [row[0] for row in rows]


def containing(text: str) -> str:
    """A pattern for LIKE in which nothing but the ends is special."""
    plain = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"
