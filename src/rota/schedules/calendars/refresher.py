"""Keeping calendars up to date: another year of holidays, newer data, what was left half-way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

import msgspec

from rota.events import Event
from rota.schedules.calendars import countries, days, rearm, service, sql
from rota.schedules.calendars.calendar import Rules
from rota.schedules.schedule import now as database_now

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.events import Bus

INTERVAL: Final = timedelta(minutes=1)

_BATCH = 20
_HALF_WAY = timedelta(days=2)
"""How long after a change those are looked for that were not armed by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarRenewed(Event):
    """Rota wrote a calendar's holidays out anew."""

    tenant_id: UUID
    name: str
    package: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesRearmed(Event):
    """Schedules were armed by days of their calendar that had changed."""

    tenant_id: UUID
    calendar: str
    count: int


async def rearm_all(db: Database, tenant_id: UUID, name: str) -> int:
    """Arm all of the calendar's schedules that are not armed by its days; how many it were."""
    count, after = 0, rearm.START
    while True:
        part = await db.run(
            lambda tx, at=after: rearm.rearm_some(tx, tenant_id, name, after=at), repeatable=True
        )
        count += part.changed
        if part.last is None:
            return count
        after = part.last


class Refresher:
    """Any number of nodes may have one: each calendar is some one's, and done twice is done."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus

    async def run_once(self) -> int:
        """Renew what is old and arm what is not armed by it; how many schedules were armed."""
        while await self._db.run(self._renew_some, repeatable=True):
            pass
        count = 0
        while stale := await self._db.run(_stale, read_only=True):
            for tenant_id, name in stale:
                armed = await rearm_all(self._db, tenant_id, name)
                count += armed
                event = SchedulesRearmed(tenant_id=tenant_id, calendar=name, count=armed)
                self._bus.publish(event)
        return count

    async def _renew_some(self, tx: Tx) -> int:
        """Write out some calendars whose holidays are old, and say how many it were."""
        today = (await database_now(tx)).date()
        year = days.years(today)[-1]
        rows = await sql.old(tx, year=year, package=countries.VERSION, limit=_BATCH)
        wanted = [row for row in rows if not _is_newer(row["package"], row["until_year"], year)]
        for row in wanted:
            rules = msgspec.json.decode(row["definition"], type=Rules)
            draft = await asyncio.to_thread(service.written_out, row["name"], rules, today)
            await service.put(tx, row["tenant_id"], draft)
            event = CalendarRenewed(
                tenant_id=row["tenant_id"], name=row["name"], package=countries.VERSION
            )
            self._bus.publish(event)
        return len(wanted)


def _is_newer(package: str | None, until_year: int, year: int) -> bool:
    """Of better data than ours: of two versions in a fleet, the newer one has the word."""
    return until_year >= year and _parts(package) > _parts(countries.VERSION)


def _parts(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in (version or "0").split(".") if part.isdecimal())


# Calendars whose days changed and whose schedules were left half-way. Calendar by calendar: a
# scan of all schedules with one would be long.
_STALE_CALENDARS: LiteralString = """
    SELECT c.tenant_id, c.name
      FROM calendars c
     WHERE c.updated_at > clock_timestamp() - $1::interval
       AND (SELECT true FROM schedules s
             WHERE s.tenant_id = c.tenant_id AND s.calendar = c.name
               AND s.calendar_version IS DISTINCT FROM c.version
             LIMIT 1)
     LIMIT $2
"""


async def _stale(tx: Tx) -> list[tuple[UUID, str]]:
    rows = await tx.fetch(_STALE_CALENDARS, _HALF_WAY, _BATCH)
    return [(row["tenant_id"], row["name"]) for row in rows]
