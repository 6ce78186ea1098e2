"""Dead letters: what failed for good, and repeating it, one by one or many."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from litestar import Response, get, post

from rota.dashboard import doors, paths, places, rendering
from rota.dashboard.forms import MEDIUM, Form
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused
from rota.db import Tx
from rota.history import queries
from rota.queue import replay
from rota.schedules import list as listing
from rota.schedules.replay import MAX_MANY, replay_many

PAGE: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    now: datetime
    page: queries.Page
    names: dict[UUID, str]
    replayed: frozenset[UUID]


@get("/dead", opt=doors.needs("read"))
async def dead_letters(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """A page of them, the newest slot first."""
    query = request.query_params
    of = query.get("schedule")
    schedule_id = None if not of else paths.schedule_id(of)
    after = places.read(query.get("after"), queries.Place)
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> _Found:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        page = await queries.dead(tx, tenant, schedule_id=schedule_id, after=after, limit=PAGE)
        ids = list({each.schedule_id for each in page.firings})
        standings = await listing.find_many(tx, tenant, ids) if ids else []
        return _Found(
            now=now,
            page=page,
            names={each.schedule.id: each.schedule.name for each in standings},
            replayed=await replay.replayed(tx, [each.id for each in page.firings]),
        )

    found = await desk.db.run(work, read_only=True, tenant=tenant)
    place = found.page.next_place
    return rendering.page(
        "dead.html",
        visitor=visitor,
        section="dead",
        now=found.now,
        firings=found.page.firings,
        names=found.names,
        replayed=found.replayed,
        schedule=of,
        first_page=after is None,
        next_place=None if place is None else places.write(place),
        most=MAX_MANY,
        count=_number(query.get("replayed")),
    )


@post("/dead/replay", opt=doors.needs("write"), request_max_body_size=MEDIUM)
async def replay_dead(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """Repeat those that are ticked, or all that have no replay yet."""
    form = await Form.read(request)
    tenant = visitor.principal.tenant
    chosen = list(dict.fromkeys(paths.firing_id(each) for each in form.all("id")))
    of = form.text("schedule")
    schedule_id = None if not of else paths.schedule_id(of)
    everything = form.text("action") == "all"
    if not everything and not 1 <= len(chosen) <= MAX_MANY:
        raise PageRefused(
            HTTPStatus.BAD_REQUEST,
            f"Expected 1 to {MAX_MANY} dead letters, got {len(chosen)}.",
        )

    async def work(tx: Tx) -> int:
        if everything:
            found = await replay.dead(
                tx,
                tenant.id,
                schedule_id=schedule_id,
                since=None,
                until=None,
                limit=MAX_MANY,
            )
        else:
            origins = await replay.origins(tx, tenant.id, chosen)
            found = [origins[id_] for id_ in chosen if id_ in origins]
        return len(await replay_many(tx, tenant, found))

    count = await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor)
    return rendering.go_to(f"/dead?replayed={count}{f'&schedule={of}' if of else ''}")


ROUTES = (dead_letters, replay_dead)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdecimal() and len(text) < 8 else None
