"""When things will happen: `next` and `preview`."""

from datetime import datetime, timedelta
from typing import Annotated, cast

import msgspec
from litestar import Response, get, post

from rota.api import access, bodies, paths, schedules, views
from rota.api.engine import Engine
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, asked, kept_afterwards
from rota.api.problems import bad_field
from rota.api.queries import Query
from rota.api.saying import says
from rota.db import Tx
from rota.errors import InvalidInput
from rota.schedules import next_slot
from rota.schedules.calendars import service as calendars
from rota.tenants.tenant import Principal
from rota.time_slicer import Steps
from rota.triggers.at import NamedInstants, named
from rota.triggers.calendars import Days, Filtered
from rota.triggers.english import explain
from rota.triggers.interval import Interval
from rota.triggers.limits import require_future
from rota.triggers.parse import Kind, kind, read_as
from rota.triggers.preview import MAX_COUNT, each_slot
from rota.triggers.trigger import Trigger
from rota.triggers.warnings import warnings
from rota.triggers.zones import zone

_NONE = timedelta()
_TRIGGERS = ("when", "cron_expr", "interval", "run_at", "rrule", "text")


class Upcoming(msgspec.Struct, frozen=True, kw_only=True):
    """The slots to come, and what they mean."""

    explanation: str
    timezone: str
    slots: list[views.Slot]
    warnings: list[str]


class PreviewFields(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A trigger to look at: exactly one of the first six."""

    when: str | None = None
    cron_expr: str | None = None
    interval: str | int | float | None = None
    run_at: str | None = None
    rrule: str | None = None
    text: str | None = None
    timezone: str | None = None
    calendar: str | None = None
    """Of the caller's: its dates are left out, with a note."""
    after: str | None = None
    count: Annotated[int, says(minimum=1, maximum=MAX_COUNT)] = 10


@get("/v1/schedules/{schedule_id:str}/next", opt=access.needs("read"))
async def next_slots(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Upcoming:
    """The next slots of a schedule, with zone, UTC and clock-change notes."""
    query = Query(request, "count", "after")
    count = query.number("count", default=10, low=1, high=MAX_COUNT)
    id_ = paths.schedule_id(schedule_id)
    await engine.charge(caller.tenant, items=count)
    found = await engine.db.run(
        lambda tx: schedules.standing(tx, caller, id_), read_only=True, tenant=caller.tenant.id
    )
    trigger = found.schedule.slots
    given = query.text("after")
    after = instant(given, "after", trigger.timezone) if given else engine.clock.now()
    spread = next_slot.spread(found.schedule)
    return await engine.slicer.run(caller.tenant.id, _upcoming(trigger, after, count, spread))


@post("/v1/preview", status_code=200, opt=access.needs("read"))
async def preview_slots(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """The next slots of a trigger that is not stored anywhere."""
    fields = await bodies.read_as(request, PreviewFields)
    if not 1 <= fields.count <= MAX_COUNT:
        raise bad_field("count", f"expected a number from 1 to {MAX_COUNT}, got {fields.count}")
    await engine.charge(caller.tenant, items=fields.count)
    now = engine.clock.now()
    zone_name = fields.timezone or "UTC"
    after = instant(fields.after, "after", zone_name) if fields.after else now
    trigger = _trigger(fields, now)
    if fields.calendar is not None:
        trigger = Filtered(trigger, await _days(engine, caller, fields.calendar))
    require_future(trigger, after)
    keyed = await asked(request, caller.tenant.id)
    found = await engine.slicer.run(caller.tenant.id, _upcoming(trigger, after, fields.count))
    return await kept_afterwards(engine, keyed, Done(found))


ROUTES = (next_slots, preview_slots)


def _trigger(fields: PreviewFields, now: datetime) -> Trigger:
    given = [name for name in _TRIGGERS if getattr(fields, name) is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise bad_field(given[0] if given else "when", f"expected exactly one trigger, got {got}")
    name = given[0]
    value: str | float = getattr(fields, name)
    try:
        if isinstance(value, str):
            written = kind(value) if name == "when" else cast("Kind", name)
            return read_as(written, value, fields.timezone, now)
        return Interval.parse(value, fields.timezone or "UTC")
    except InvalidInput as error:
        # Named as the caller named it; the trigger's own word for a part of it is in the message.
        zone_is_wrong = error.field == "timezone"
        raise bad_field("timezone" if zone_is_wrong else name, error.message) from error


async def _days(engine: Engine, caller: Principal, name: str) -> Days:
    async def work(tx: Tx) -> Days:
        try:
            return (await calendars.find(tx, caller.tenant.id, name)).days
        except calendars.NoSuchCalendar as error:
            raise bad_field("calendar", str(error)) from error

    return await engine.db.run(work, read_only=True, tenant=caller.tenant.id)


def _upcoming(
    trigger: Trigger, after: datetime, count: int, spread: timedelta = _NONE
) -> Steps[Upcoming]:
    slots: list[views.Slot] = []
    for slot in each_slot(trigger, after=after, count=count):
        due_at = slot.instant + spread if spread else None
        local = slot.local.isoformat()
        slots.append(views.Slot(utc=slot.instant, local=local, note=slot.note, due_at=due_at))
        yield
    return Upcoming(
        explanation=explain(trigger),
        timezone=trigger.timezone,
        slots=slots,
        warnings=warnings(trigger, after=after),
    )


def instant(text: str, field: str, timezone: str) -> datetime:
    """The instant that a text names; without an offset, on the wall clock of the zone."""
    return named_instants(text, field, timezone).instants[0]


def named_instants(text: str, field: str, timezone: str) -> NamedInstants:
    """The same, with the second instant of a local time that clocks repeat."""
    try:
        in_zone = zone(timezone)
    except InvalidInput as error:
        raise bad_field("timezone", error.message) from error
    try:
        return named(text, in_zone)
    except InvalidInput as error:
        raise bad_field(field, error.message) from error
