"""The statements on calendars."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

import msgspec

from rota.schedules.calendars import days
from rota.schedules.calendars.calendar import Calendar, Calendars, Known, Rules

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from rota.db import Row, Tx

# Shared until the transaction ends: whoever changes the days meanwhile waits, and then finds the
# schedule that is made here among those to arm anew.
_SHARE: LiteralString = """
    SELECT name, version, days::text AS days
      FROM calendars
     WHERE tenant_id = $1 AND name = ANY ($2::text[])
       FOR SHARE
"""

_NAMED: LiteralString = """
    SELECT name, version, days::text AS days
      FROM calendars
     WHERE tenant_id = $1 AND name = ANY ($2::text[])
"""

_NAMES: LiteralString = """
    SELECT name FROM calendars WHERE tenant_id = $1 ORDER BY name LIMIT 1000
"""

_OF_SCHEDULES: LiteralString = """
    SELECT s.id, c.name, c.version, c.days::text AS days
      FROM schedules s
      JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.id = ANY ($1::uuid[])
"""

_LIST: LiteralString = """
    SELECT c.name, c.definition::text AS definition, c.days::text AS days, c.version, c.package,
           c.until_year, c.created_at, c.updated_at,
           (SELECT count(*) FROM schedules s
             WHERE s.tenant_id = c.tenant_id AND s.calendar = c.name) AS schedules
      FROM calendars c
     WHERE c.tenant_id = $1 AND c.name > $2 AND ($3::text IS NULL OR c.name = $3)
     ORDER BY c.name
     LIMIT $4
"""

# The version moves with the days alone: a new description arms nothing anew.
_PUT: LiteralString = """
    INSERT INTO calendars AS c (tenant_id, name, definition, days, package, until_year,
                                created_at, updated_at)
    VALUES ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp())
        ON CONFLICT (tenant_id, name) DO UPDATE
       SET definition = excluded.definition,
           days = excluded.days,
           package = excluded.package,
           until_year = excluded.until_year,
           version = c.version + CASE WHEN c.days = excluded.days THEN 0 ELSE 1 END,
           updated_at = CASE WHEN c.definition = excluded.definition AND c.days = excluded.days
                             THEN c.updated_at ELSE excluded.updated_at END
 RETURNING c.xmax = 0 AS created
"""

_COUNT: LiteralString = "SELECT count(*) FROM calendars WHERE tenant_id = $1"

_LOCK: LiteralString = """
    SELECT true FROM calendars WHERE tenant_id = $1 AND name = $2 FOR UPDATE
"""

# A statement of its own, after the lock: one that waited would not see the schedule that got the
# calendar meanwhile.
_COUNT_SCHEDULES: LiteralString = """
    SELECT count(*) FROM schedules WHERE tenant_id = $1 AND calendar = $2
"""

_DELETE: LiteralString = "DELETE FROM calendars WHERE tenant_id = $1 AND name = $2"

# Those whose holidays come from older data, or end a year too early.
_OLD: LiteralString = """
    SELECT tenant_id, name, definition::text AS definition, package, until_year
      FROM calendars
     WHERE until_year IS NOT NULL AND (until_year < $1 OR package IS DISTINCT FROM $2)
     ORDER BY tenant_id, name
     LIMIT $3
       FOR UPDATE SKIP LOCKED
"""


async def share(tx: Tx, tenant_id: UUID, names: Collection[str]) -> Calendars:
    """These calendars, which stay as they are until the transaction ends."""
    return await _found(tx, tenant_id, names, await tx.fetch(_SHARE, tenant_id, list(names)))


async def named(tx: Tx, tenant_id: UUID, names: Collection[str]) -> Calendars:
    """These calendars as they are now."""
    return await _found(tx, tenant_id, names, await tx.fetch(_NAMED, tenant_id, list(names)))


async def of_schedules(tx: Tx, schedule_ids: Sequence[UUID]) -> dict[UUID, Known]:
    """The calendar of each of these schedules that has one."""
    rows = await tx.fetch(_OF_SCHEDULES, list(schedule_ids))
    return {row["id"]: known(row["name"], row["version"], row["days"]) for row in rows}


async def page(tx: Tx, tenant_id: UUID, *, after: str, limit: int) -> list[Calendar]:
    """The calendars whose names follow, in their order."""
    return [_calendar(row) for row in await tx.fetch(_LIST, tenant_id, after, None, limit)]


async def find(tx: Tx, tenant_id: UUID, name: str) -> Calendar | None:
    rows = await tx.fetch(_LIST, tenant_id, "", name, 1)
    return _calendar(rows[0]) if rows else None


async def put(
    tx: Tx,
    tenant_id: UUID,
    name: str,
    *,
    definition: str,
    days_text: str,
    package: str | None,
    until_year: int | None,
) -> bool:
    """Make the calendar, or make it be of these days. Whether it is new."""
    row = await tx.fetch_row(_PUT, tenant_id, name, definition, days_text, package, until_year)
    assert row is not None
    return row["created"]


async def count(tx: Tx, tenant_id: UUID) -> int:
    return await tx.fetch_value(_COUNT, tenant_id)


async def count_schedules(tx: Tx, tenant_id: UUID, name: str) -> int | None:
    """How many schedules have it, which no other gets meanwhile; None when there is none such."""
    if not await tx.fetch_value(_LOCK, tenant_id, name):
        return None
    return await tx.fetch_value(_COUNT_SCHEDULES, tenant_id, name)


async def delete(tx: Tx, tenant_id: UUID, name: str) -> None:
    await tx.execute(_DELETE, tenant_id, name)


async def old(tx: Tx, *, year: int, package: str, limit: int) -> list[Row]:
    """Calendars with holidays that end before the year, or come from other data; ours for now."""
    return await tx.fetch(_OLD, year, package, limit)


def known(name: str, version: int, stored: str) -> Known:
    return Known(name, version, days.decode(stored))


async def _found(tx: Tx, tenant_id: UUID, names: Collection[str], rows: list[Row]) -> Calendars:
    found = {row["name"]: known(row["name"], row["version"], row["days"]) for row in rows}
    others: tuple[str, ...] = ()
    if len(found) < len(set(names)):
        others = tuple(row["name"] for row in await tx.fetch(_NAMES, tenant_id))
    return Calendars(found, others)


def _calendar(row: Row) -> Calendar:
    return Calendar(
        name=row["name"],
        rules=msgspec.json.decode(row["definition"], type=Rules),
        days=days.decode(row["days"]),
        version=row["version"],
        package=row["package"],
        until_year=row["until_year"],
        schedules=row["schedules"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
