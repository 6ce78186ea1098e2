"""Calendars: local dates on which schedules do not fire."""

from datetime import UTC, date, datetime
from heapq import nsmallest
from http import HTTPStatus
from typing import Any, Final

from litestar import Response, get, post

from rota.dashboard import doors, rendering, settings
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.forms import MEDIUM, Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.schedules.calendars import fields, rearm, service, sql
from rota.schedules.calendars.calendar import Calendar

PAGE: Final = 50
UPCOMING: Final = 20

_EMPTY: Final[dict[str, Any]] = {
    "name": "",
    "description": "",
    "country": "",
    "subdivision": "",
    "dates": "",
    "weekdays": [],
    "except_dates": "",
}


@get("/settings/calendars", opt=doors.needs("read"))
async def calendars(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """A page of them, by name."""
    query = request.query_params
    after = query.get("after", "")
    return await _listed(
        desk, visitor, after=after if fields.is_name(after) else "", done=query.get("done")
    )


@post("/settings/calendars", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def create_calendar(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make one; a name that is taken is refused, so that none is overwritten unseen."""
    typed = _typed(await Form.read(request))
    tenant = visitor.principal.tenant.id
    name = typed["name"]

    async def taken(tx: Tx) -> bool:
        return fields.is_name(name) and await sql.find(tx, tenant, name) is not None

    if await desk.db.run(taken, read_only=True, tenant=tenant):
        wrong = f"Expected a name that is not in use, got {name}: open that calendar to change it."
        return await _listed(desk, visitor, typed=typed, wrong=wrong, code=HTTPStatus.CONFLICT)
    try:
        await _put(desk, visitor, typed)
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _listed(desk, visitor, typed=typed, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/calendars/{name}?done=made")


@get("/settings/calendars/{name:str}", opt=doors.needs("read"))
async def calendar(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, name: Named
) -> Response[str]:
    """One, with the dates to come that it leaves out."""
    return await _one(desk, visitor, name, done=request.query_params.get("done"))


@post("/settings/calendars/{name:str}", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def change_calendar(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, name: Named
) -> Response[Any]:
    """Change its days; schedules that have it are armed anew."""
    typed = _typed(await Form.read(request)) | {"name": name}
    await _found(desk, visitor, name)
    try:
        await _put(desk, visitor, typed)
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _one(desk, visitor, name, typed=typed, wrong=wrong, code=code)
    return rendering.go_to(f"/settings/calendars/{name}?done=saved")


@post("/settings/calendars/{name:str}/delete", opt=doors.needs("write"))
async def delete_calendar(desk: TheDesk, visitor: TheVisitor, name: Named) -> Response[Any]:
    """Delete one that no schedule has."""
    tenant = visitor.principal.tenant.id
    try:
        await desk.db.run(lambda tx: service.delete(tx, tenant, name), tenant=tenant)
    except service.NoSuchCalendar:
        raise missing("calendar") from None
    except settings.REFUSALS as error:
        code, wrong = settings.refusal(error)
        return await _one(desk, visitor, name, wrong=wrong, code=code)
    return rendering.go_to("/settings/calendars?done=deleted")


ROUTES = (calendars, create_calendar, calendar, change_calendar, delete_calendar)


async def _listed(
    desk: Desk,
    visitor: Visitor,
    *,
    after: str = "",
    typed: dict[str, Any] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, list[Calendar]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await sql.page(tx, tenant, after=after, limit=PAGE + 1)

    now, found = await desk.db.run(work, read_only=True, tenant=tenant)
    today = now.astimezone(UTC).date()
    return settings.page(
        "settings_calendars.html",
        visitor,
        "calendars",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        calendars=[(each, _upcoming(each, today, 1)) for each in found[:PAGE]],
        next_name=found[PAGE - 1].name if len(found) > PAGE else None,
        first_page=not after,
        typed=typed or _EMPTY,
        weekdays=fields.WEEKDAYS,
    )


async def _one(
    desk: Desk,
    visitor: Visitor,
    name: str,
    *,
    typed: dict[str, Any] | None = None,
    done: str | None = None,
    wrong: str = "",
    code: HTTPStatus = HTTPStatus.OK,
) -> Response[str]:
    now, found = await _found(desk, visitor, name)
    return settings.page(
        "settings_calendar.html",
        visitor,
        "calendars",
        done=done,
        wrong=wrong,
        code=code,
        now=now,
        calendar=found,
        upcoming=_upcoming(found, now.astimezone(UTC).date(), UPCOMING),
        typed=typed or _as_typed(found),
        weekdays=fields.WEEKDAYS,
    )


async def _found(desk: Desk, visitor: Visitor, name: str) -> tuple[datetime, Calendar]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, Calendar]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        return now, await service.find(tx, tenant, name)

    try:
        return await desk.db.run(work, read_only=True, tenant=tenant)
    except service.NoSuchCalendar:
        raise missing("calendar") from None


async def _put(desk: Desk, visitor: Visitor, typed: dict[str, Any]) -> None:
    tenant = visitor.principal.tenant.id
    draft = await service.read(typed["name"], _given(typed), today=desk.clock.now().date())
    created = await desk.db.run(
        lambda tx: service.put(tx, tenant, draft), repeatable=True, tenant=tenant
    )
    if not created:
        await rearm.rearm_all(
            desk.db, desk.clock, tenant, draft.name, actor=visitor.principal.actor
        )


def _typed(form: Form) -> dict[str, Any]:
    texts = {name: form.text(name) for name in ("name", "description", "country", "subdivision")}
    lists = {name: form.lines(name) for name in ("dates", "except_dates")}
    return texts | lists | {"weekdays": form.all("weekdays")}


def _given(typed: dict[str, Any]) -> dict[str, object]:
    """The fields as the service reads them."""
    return {
        "description": typed["description"],
        "country": typed["country"] or None,
        "subdivision": typed["subdivision"] or None,
        "dates": _lines(typed["dates"]),
        "weekdays": typed["weekdays"],
        "except_dates": _lines(typed["except_dates"]),
    }


def _lines(text: str) -> list[str]:
    return text.replace(",", " ").split()


def _as_typed(found: Calendar) -> dict[str, Any]:
    rules = found.rules
    return {
        "name": found.name,
        "description": rules.description,
        "country": rules.country or "",
        "subdivision": rules.subdivision or "",
        "dates": "\n".join(rules.dates),
        "weekdays": list(rules.weekdays),
        "except_dates": "\n".join(rules.except_dates),
    }


def _upcoming(found: Calendar, today: date, most: int) -> list[tuple[date, str]]:
    days = found.days
    ahead = (day for day in days.excluded if day >= today and day not in days.kept)
    return [(day, days.names.get(day, "")) for day in nsmallest(most, ahead)]
