"""`/v1/schedules/{id}/firings` and `/v1/firings/{id}`: what became of slots, and every try."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from uuid import UUID

import msgspec
from litestar import MediaType, get
from litestar.response import Stream

from rota.api import access, cursors, models, paths, schedules, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.problems import not_found
from rota.api.queries import Query
from rota.clock import Clock
from rota.db import Tx
from rota.history import queries
from rota.history.firing import Attempt, Firing
from rota.tenants.tenant import Principal

_UTC = timedelta()


@get("/v1/schedules/{schedule_id:str}/firings", opt=access.needs("read"))
async def list_firings(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> models.Page:
    """Its firings, the newest first, live ones included."""
    id_ = paths.schedule_id(schedule_id)
    query = Query(request, "status", "limit", "cursor")
    status = query.choice("status", queries.STATUSES)
    limit = query.limit(default=20)
    await engine.charge(caller.tenant, items=limit)
    after = place(query.text("cursor"))

    async def work(tx: Tx) -> queries.Page:
        await schedules.standing(tx, caller, id_)
        statuses = None if status is None else [status]
        return await queries.of_schedule(tx, id_, statuses=statuses, after=after, limit=limit)

    page = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    items = views.encoded(page.firings, views.brief_firing)
    return models.Page(
        items=await engine.slicer.run(caller.tenant.id, items),
        next_cursor=None if page.next_place is None else cursors.encode(page.next_place),
    )


@get("/v1/firings/{firing_id:str}", opt=access.needs("read"))
async def get_firing(engine: TheEngine, caller: Caller, firing_id: Named) -> views.Firing:
    """One firing, live or ended."""
    id_ = paths.firing_id(firing_id)
    return views.firing(
        await engine.db.run(
            lambda tx: find(tx, caller, id_), read_only=True, tenant=caller.tenant.id
        )
    )


@get("/v1/firings/{firing_id:str}/attempts", opt=access.needs("read"))
async def list_attempts(engine: TheEngine, caller: Caller, firing_id: Named) -> Stream:
    """Every try of a firing, with request and response: up to 25 MB, and so sent in parts."""
    id_ = paths.firing_id(firing_id)

    async def work(tx: Tx) -> list[Attempt]:
        return await queries.attempts(tx, await find(tx, caller, id_))

    tries = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    items = await engine.slicer.run(caller.tenant.id, views.encoded(tries, views.attempt))
    return Stream(_page_of(items, engine.clock), media_type=MediaType.JSON)


ROUTES = (list_firings, get_firing, list_attempts)


async def _page_of(items: list[msgspec.Raw], clock: Clock) -> AsyncGenerator[bytes]:
    """A page without another one, in parts; between two, the loop sees to others."""
    yield b'{"items":['
    for at, each in enumerate(items):
        await clock.sleep(timedelta())
        yield b"," * bool(at) + bytes(each)
    yield b'],"next_cursor":null}'


def place(cursor: str | None) -> queries.Place | None:
    """Where a list of firings goes on."""
    found = cursors.decode(cursor, queries.Place)
    if cursor is not None and found is not None and found.scheduled_for.utcoffset() != _UTC:
        # Ours are in UTC; another offset may name an instant beyond the calendar.
        raise cursors.refused(cursor)
    return found


async def find(tx: Tx, caller: Principal, firing_id: UUID) -> Firing:
    """The caller's firing; not found when the caller has none of this id."""
    found = await queries.find(tx, firing_id, tenant_id=caller.tenant.id)
    if found is None:
        raise not_found("firing")
    return found
