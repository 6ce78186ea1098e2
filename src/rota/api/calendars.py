"""`/v1/calendars`: local dates on which schedules do not fire."""

from datetime import UTC, date, datetime
from heapq import nsmallest
from typing import Final
from uuid import UUID

import msgspec
from litestar import Response, delete, get, put

from rota.api import access, bodies, cursors, models
from rota.api.engine import Engine
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.schedules.calendars import calendar as calendars
from rota.schedules.calendars import rearm, service, sql
from rota.schedules.calendars.fields import is_name, write

UPCOMING: Final = 20
"""How many of the dates to come are shown."""


class CalendarFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which dates are left out: a country's holidays, dates and ranges, days of the week."""

    description: str | None = None
    country: str | None = None
    subdivision: str | None = None
    dates: list[str] | None = None
    weekdays: list[str] | None = None
    except_dates: list[str] | None = None


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A date that is left out, and what people call it."""

    date: date
    name: str | None


class Calendar(msgspec.Struct, frozen=True, kw_only=True):
    """A calendar, and the dates to come that it leaves out beside its days of the week."""

    name: str
    description: str
    country: str | None
    subdivision: str | None
    dates: list[str]
    weekdays: list[str]
    except_dates: list[str]
    upcoming: list[LeftOut]
    schedules: int
    """How many schedules have it."""
    holidays_version: str | None
    """Of the data that its country's holidays come from."""
    until_year: int | None
    """The last year whose holidays are known; every year there is one more."""
    version: int
    created_at: datetime
    updated_at: datetime


class CalendarSaved(Calendar, frozen=True, kw_only=True):
    """A calendar just written, and how many schedules were armed anew by it."""

    rearmed: int
    more: bool
    """There are others: they follow by themselves within a minute."""


@put("/v1/calendars/{name:str}", opt=access.needs("write"))
async def put_calendar(
    request: AnyRequest, engine: TheEngine, caller: Caller, name: Named
) -> Response[CalendarSaved]:
    """Make the calendar of this name, or change it; schedules that have it are armed anew."""
    given = await bodies.read_object(request)
    today = engine.clock.now().date()
    draft = await service.read(name, given, today=today)
    tenant_id = caller.tenant.id

    async def work(tx: Tx) -> bool:
        return await service.put(tx, tenant_id, draft)

    created = await engine.db.run(work, repeatable=True, tenant=tenant_id)
    rearmed, more = 0, False
    if not created:
        rearmed, more = await rearm.rearm_all(
            engine.db, engine.clock, tenant_id, name, actor=caller.actor
        )
    found = await _found(engine, tenant_id, name)
    saved = CalendarSaved(**msgspec.structs.asdict(_view(found, today)), rearmed=rearmed, more=more)
    return Response(saved, status_code=201 if created else 200)


@get("/v1/calendars", opt=access.needs("read"))
async def list_calendars(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List the calendars by name."""
    query = Query(request, "limit", "cursor")
    limit = query.limit()
    after = cursors.decode(query.text("cursor"), str) or ""
    if after and not is_name(after):
        raise cursors.refused(query.text("cursor") or "")
    tenant_id = caller.tenant.id

    async def work(tx: Tx) -> list[calendars.Calendar]:
        # One more than asked for tells whether there is another page.
        return await sql.page(tx, tenant_id, after=after, limit=limit + 1)

    found = await engine.db.run(work, read_only=True, tenant=tenant_id)
    page = found[:limit]
    more = cursors.encode(page[-1].name) if len(found) > limit else None
    today = engine.clock.now().date()
    return models.Page(items=[_view(each, today) for each in page], next_cursor=more)


@get("/v1/calendars/{name:str}", opt=access.needs("read"))
async def get_calendar(engine: TheEngine, caller: Caller, name: Named) -> Calendar:
    """One calendar, with the dates to come that it leaves out."""
    found = await _found(engine, caller.tenant.id, name)
    return _view(found, engine.clock.now().astimezone(UTC).date())


@delete("/v1/calendars/{name:str}", opt=access.needs("write"))
async def delete_calendar(engine: TheEngine, caller: Caller, name: Named) -> None:
    """Delete a calendar that no schedule has."""
    tenant_id = caller.tenant.id
    await engine.db.run(lambda tx: service.delete(tx, tenant_id, name), tenant=tenant_id)


ROUTES = (put_calendar, list_calendars, get_calendar, delete_calendar)


async def _found(engine: Engine, tenant_id: UUID, name: str) -> calendars.Calendar:
    async def work(tx: Tx) -> calendars.Calendar:
        return await service.find(tx, tenant_id, name)

    return await engine.db.run(work, read_only=True, tenant=tenant_id)


def _view(found: calendars.Calendar, today: date) -> Calendar:
    days = found.days
    ahead = (day for day in days.excluded if day >= today and day not in days.kept)
    return Calendar(
        name=found.name,
        **write(found.rules),
        upcoming=[
            LeftOut(date=day, name=days.names.get(day)) for day in nsmallest(UPCOMING, ahead)
        ],
        schedules=found.schedules,
        holidays_version=found.package,
        until_year=found.until_year,
        version=found.version,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )
