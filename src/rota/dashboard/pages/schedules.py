"""The list of schedules: search, filter, and what can be done to many at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from litestar import Response, get, post

from rota.dashboard import doors, paths, pauses, rendering, shown, strip, told
from rota.dashboard.forms import MEDIUM, Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused
from rota.db import Tx
from rota.errors import InvalidInput
from rota.history.strips import strips
from rota.schedules import list as listing
from rota.schedules import pause, update
from rota.schedules.errors import NoSuchSchedule
from rota.schedules.list import Standing
from rota.tenants.tenant import Tenant

PAGE: Final = 50
_STATUSES: Final = ("active", "paused", "completed")
_MOST_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule, as a line of the list."""

    standing: Standing
    when: str
    target: str
    ticks: list[strip.Tick]


@get("/schedules", opt=doors.needs("read"))
async def list_schedules(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """A page of them, the newest first."""
    return await _listed(desk, visitor, request.query_params)


async def _listed(
    desk: TheDesk,
    visitor: TheVisitor,
    query: Mapping[str, str],
    *,
    wrong: str = "",
    form: Form | None = None,
) -> Response[str]:
    """The list; `wrong` is what was refused, and the form what was typed and ticked."""
    form = form or Form({})
    q, tag = query.get("q", "").strip()[:200], query.get("tag", "").strip()[:200]
    status = query.get("status", "")
    wanted = listing.Filter(
        q=q or None, tag=tag or None, status=status if status in _STATUSES else None
    )
    after = query.get("after")
    place = None if after is None else paths.schedule_id(after)
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> tuple[datetime, listing.Page, dict[UUID, Any]]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        page = await listing.page(tx, tenant, wanted, after=place, limit=PAGE)
        return now, page, await strips(tx, [each.schedule.id for each in page.found])

    now, page, outcomes = await desk.db.run(work, read_only=True, tenant=tenant)
    rows = [_row(each, outcomes.get(each.schedule.id, [])) for each in page.found]
    chosen = {"q": q, "tag": tag, "status": status}
    return rendering.page(
        "schedules.html",
        visitor=visitor,
        section="schedules",
        code=HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK,
        wrong=wrong,
        said={"reason": form.text("reason"), "end": form.text("until")},
        ticked=form.all("id"),
        now=now,
        rows=rows,
        statuses=_STATUSES,
        filtered=any(chosen.values()),
        first_page=place is None,
        here=_address(chosen),
        next_page=_next(chosen, rows[-1].standing) if page.has_more else None,
        strip=strip,
        chosen=chosen,
    )


@post("/schedules/together", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def change_together(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Pause, resume or delete those that are ticked: all of them, or none."""
    form = await Form.read(request)
    try:
        change = _change(form)
    except InvalidInput as error:
        return await _refused(desk, visitor, form, error)
    chosen = [paths.schedule_id(each) for each in form.all("id")]
    if change is None or len(chosen) > _MOST_AT_ONCE:
        raise PageRefused(
            HTTPStatus.BAD_REQUEST,
            f"Expected pause, resume or delete, and at most {_MOST_AT_ONCE} schedules.",
        )
    tenant = visitor.principal.tenant

    async def work(tx: Tx) -> None:
        # In one order, always: two who change the same ones must not wait for each other.
        for id_ in sorted(chosen):
            await _gone_is_fine(change, tx, tenant, id_)

    try:
        await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor, repeatable=True)
    except InvalidInput as error:
        return await _refused(desk, visitor, form, error)
    back = form.text("back")
    return rendering.go_to(back if back.startswith("/schedules") else "/schedules")


ROUTES = (list_schedules, change_together)


def _change(form: Form) -> Any:
    """What is to be done to each; None for anything else. An end is on the clock of UTC: they need
    not have a clock in common."""
    match form.text("action"):
        case "pause":
            end = pauses.end(form.text("until"), "UTC")
            return partial(pause.pause, reason=form.text("reason") or None, until=end)
        case "resume":
            return update.resume
        case "delete":
            return update.delete
        case _:
            return None


async def _refused(
    desk: TheDesk, visitor: TheVisitor, form: Form, error: InvalidInput
) -> Response[str]:
    query = dict(parse_qsl(urlsplit(form.text("back")).query))
    return await _listed(desk, visitor, query, wrong=error.message, form=form)


async def _gone_is_fine(change: Any, tx: Tx, tenant: Tenant, id_: UUID) -> None:
    """Somebody else may have deleted one meanwhile: the others are changed all the same."""
    try:
        await change(tx, tenant, id_)
    except NoSuchSchedule:
        return


def _row(standing: Standing, outcomes: list[Any]) -> Row:
    schedule = standing.schedule
    return Row(
        standing=standing,
        when=told.when(schedule),
        target=told.target(schedule.definition),
        ticks=strip.ticks(outcomes),
    )


def _address(chosen: dict[str, str], **more: str) -> str:
    query = urlencode({name: value for name, value in (chosen | more).items() if value})
    return f"/schedules?{query}" if query else "/schedules"


def _next(chosen: dict[str, str], last: Standing) -> str:
    return _address(chosen, after=shown.schedule_id(last.schedule.id))
