"""Making a schedule and changing one: what is typed is looked at as it is typed, every rule is
explained, and what is wrong stands where it was written."""

from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import MediaType, Response, get, post

from rota.dashboard import doors, drafts, headers, looks, paths, policies, rendering, shown
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.drafts import Written
from rota.dashboard.drafts_filled import of_definition
from rota.dashboard.forms import LARGE, Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.pages import editing_saved as saving
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.schedules import list as listing
from rota.schedules.calendars import sql as calendars
from rota.schedules.calendars.fields import is_name
from rota.schedules.schedule import Schedule
from rota.targets.http import METHODS
from rota.triggers.zones import names as zone_names

_MOST_CALENDARS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the form shows."""

    written: Written
    schedule: Schedule | None = None
    """None for a new one."""
    version: int = 0
    wrong: str = ""
    """What is wrong with all of it."""
    problems: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What is wrong with each input."""
    theirs: Written | None = None
    """What somebody else has made of it meanwhile."""


@get("/schedules/new", opt=doors.needs("write"))
async def new_schedule(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """An empty form, or one like a schedule that there is."""
    like = request.query_params.get("like")
    written = drafts.blank()
    if like:
        found = await _find(desk, visitor, paths.schedule_id(like))
        written = of_definition(found.definition)
        written |= {"key": "", "name": f"{found.name[:190]} (copy)"}
    return await _page(desk, visitor, Sheet(written=written))


@post("/schedules/new", opt=doors.needs("write"), request_max_body_size=LARGE)
async def make_schedule(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Make it; or make it paused and send one request at once, to see what comes back."""
    form = await Form.read(request)
    written = drafts.given(form.lines)
    try:
        done = await saving.make(desk, visitor, written, action=form.text("action"))
    except saving.Refused as refused:
        shows = Sheet(written=written, wrong=refused.wrong, problems=refused.problems)
        return await _page(desk, visitor, shows, code=refused.code)
    return _on(done)


@get("/schedules/{schedule_id:str}/edit", opt=doors.needs("write"))
async def edit_schedule(desk: TheDesk, visitor: TheVisitor, schedule_id: Named) -> Response[str]:
    """The form of a schedule that there is."""
    found = await _find(desk, visitor, paths.schedule_id(schedule_id))
    written = of_definition(found.definition)
    shows = Sheet(written=written, schedule=found, version=found.version)
    return await _page(desk, visitor, shows)


@post("/schedules/{schedule_id:str}/edit", opt=doors.needs("write"), request_max_body_size=LARGE)
async def change_schedule(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[Any]:
    """Change what was changed in the form, if nobody else has changed it meanwhile."""
    id_ = paths.schedule_id(schedule_id)
    form = await Form.read(request)
    written = drafts.given(form.lines)
    version = form.text("version")
    seen = int(version) if version.isascii() and version.isdecimal() and len(version) < 9 else 0
    action = form.text("action")
    try:
        done = await saving.change(desk, visitor, id_, written, seen=seen, action=action)
    except saving.Refused as refused:
        found = await _find(desk, visitor, id_)
        theirs = of_definition(found.definition) if refused.changed else None
        shows = Sheet(
            written=written | {"key": found.key},
            schedule=found,
            # Who saves again has seen what the others did.
            version=found.version if refused.changed else seen,
            wrong=refused.wrong,
            problems=refused.problems,
            theirs=theirs,
        )
        return await _page(desk, visitor, shows, code=refused.code)
    return _on(done)


@get("/schedules/preview", opt=doors.needs("read"))
async def preview_when(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """What a text for "when" means; for the form to put in place as it is typed."""
    query = request.query_params
    now, look = await _look(
        desk,
        visitor,
        text=query.get("when", ""),
        timezone=query.get("timezone", "").strip()[:100],
        calendar=query.get("calendar", "").strip()[:200],
    )
    text = rendering.part("edit_preview.html", visitor=visitor, look=look, now=now)
    return Response(text, media_type=MediaType.HTML, headers=dict(headers.PAGE))


ROUTES = (new_schedule, make_schedule, edit_schedule, change_schedule, preview_when)


def _on(done: saving.Done) -> Response[Any]:
    if done.firing_id is not None:
        return rendering.go_to(f"/firings/{shown.firing_id(done.firing_id)}")
    return rendering.go_to(f"/schedules/{shown.schedule_id(done.schedule_id)}")


async def _find(desk: Desk, visitor: Visitor, id_: UUID) -> Schedule:
    tenant = visitor.principal.tenant.id
    found = await desk.db.run(
        lambda tx: listing.find(tx, tenant, id_), read_only=True, tenant=tenant
    )
    if found is None:
        raise missing("schedule")
    return found.schedule


async def _look(
    desk: Desk, visitor: Visitor, *, text: str, timezone: str, calendar: str
) -> tuple[datetime, looks.Look]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, Any]:
        found = await calendars.find(tx, tenant, calendar) if is_name(calendar) else None
        return await tx.fetch_value("SELECT clock_timestamp()"), found

    now, found = await desk.db.run(work, read_only=True, tenant=tenant)
    days = None if found is None else found.days
    return now, looks.look(text, timezone, now=now, days=days)


async def _page(
    desk: Desk, visitor: Visitor, shows: Sheet, *, code: HTTPStatus = HTTPStatus.OK
) -> Response[str]:
    tenant = visitor.principal.tenant.id
    written = shows.written
    known = await desk.db.run(
        lambda tx: calendars.page(tx, tenant, after="", limit=_MOST_CALENDARS),
        read_only=True,
        tenant=tenant,
    )
    now, look = await _look(
        desk,
        visitor,
        text=written["expect" if written["firing"] == "pings" else "when"],
        timezone=written["timezone"],
        calendar=written["calendar"],
    )
    return rendering.page(
        "edit.html",
        visitor=visitor,
        section="schedules",
        code=code,
        form=shows,
        written=written,
        problems=shows.problems,
        groups=policies.GROUPS,
        counts=_counts(written),
        differing=[] if shows.theirs is None else _differing(written, shows.theirs),
        calendars=[each.name for each in known],
        zones=sorted(zone_names()),
        methods=METHODS,
        look=look,
        now=now,
    )


def _counts(written: Written) -> dict[str, int]:
    """How many fields of each group are not as usual."""
    return {
        group.id: sum(
            each.name != "key" and written[each.name] not in ("", each.usual)
            for each in group.policies
        )
        for group in policies.GROUPS
    }


def _differing(mine: Written, theirs: Written) -> list[tuple[str, str, str]]:
    """What stands in this form, and what the others have made of it."""
    return [
        (policies.POLICIES[name].label if name in policies.POLICIES else name, mine[name], value)
        for name, value in theirs.items()
        if name != "key" and mine[name] != value
    ]
