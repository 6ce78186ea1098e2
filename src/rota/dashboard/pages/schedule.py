"""A schedule: when it runs next, how it has done, and what became of any of its slots."""

from http import HTTPStatus

from litestar import MediaType, Response, get

from rota.dashboard import doors, headers, paths, rendering
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.pages import schedule_parts as parts
from rota.dashboard.pages.schedule_parts import Asked, Values
from rota.db import Tx
from rota.errors import InvalidInput
from rota.history import why as history
from rota.triggers.at import named
from rota.triggers.zones import zone


@get("/schedules/{schedule_id:str}", opt=doors.needs("read"))
async def schedule(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[str]:
    """All of it."""
    return await whole(Asked(desk, visitor, request, paths.schedule_id(schedule_id)))


@get("/schedules/{schedule_id:str}/now", opt=doors.needs("read"))
async def schedule_now(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[str]:
    """How it stands, for the page to put in place."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    return _part("schedule_now.html", asked, await parts.now_part(asked))


@get("/schedules/{schedule_id:str}/history", opt=doors.needs("read"))
async def schedule_history(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[str]:
    """Its firings."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    return _part("schedule_history.html", asked, await parts.history_part(asked))


@get("/schedules/{schedule_id:str}/year", opt=doors.needs("read"))
async def schedule_year(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[str]:
    """Its calendar."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    return _part("schedule_year.html", asked, await parts.year_part(asked))


ROUTES = (schedule, schedule_now, schedule_history, schedule_year)


async def whole(
    asked: Asked, *, code: HTTPStatus = HTTPStatus.OK, said: Values | None = None
) -> Response[str]:
    """The page; `said` is what a form said that was refused, with what is wrong with it."""
    values = await parts.now_part(asked)
    values |= await parts.history_part(asked)
    values |= await parts.changes_part(asked)
    values |= await parts.year_part(asked, most=parts.COUNTED_AT_FIRST)
    empty: Values = dict.fromkeys(
        ("form", "wrong", "payload", "since", "until", "reason", "end"), ""
    )
    return rendering.page(
        "schedule.html",
        visitor=asked.visitor,
        section="schedules",
        code=code,
        **values,
        said=empty | (said or {}),
        filled=_number(asked.request.query_params.get("filled")),
        **await _why(asked),
    )


def _part(template: str, asked: Asked, values: Values) -> Response[str]:
    text = rendering.part(template, visitor=asked.visitor, **values)
    return Response(text, media_type=MediaType.HTML, headers=dict(headers.PAGE))


async def _why(asked: Asked) -> Values:
    """What became of the slot that the address asks about."""
    text = asked.request.query_params.get("at", "").strip()[:60]
    if not text:
        return {"why_at": "", "whys": [], "why_note": None, "why_wrong": ""}

    async def work(tx: Tx) -> tuple[list[history.Why], str | None]:
        schedule = (await parts.standing(tx, asked)).schedule
        found = named(text, zone(schedule.slots.timezone))
        return [await history.why(tx, schedule, at) for at in found.instants], found.note

    try:
        answers, note = await asked.desk.db.run(work, read_only=True, tenant=asked.tenant_id)
    except InvalidInput as error:
        return {"why_at": text, "whys": [], "why_note": None, "why_wrong": error.message}
    return {"why_at": text, "whys": answers, "why_note": note, "why_wrong": ""}


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 8 else None
