"""`/v1/schedules`: create, list, inspect, edit, delete, and put by key."""

from typing import Any
from uuid import UUID

from litestar import Response, delete, get, patch, post, put

from rota.api import access, bodies, cursors, models, monitors, paths, versions, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import HEADER, Done, once, response
from rota.api.problems import not_found
from rota.api.queries import Query
from rota.db import Tx
from rota.schedules import after_links, create, secret_names, update
from rota.schedules import list as listing
from rota.tenants.tenant import Principal

_BY_KEY = "/v1/schedules/by-key/"
_STATUSES = ("active", "paused", "completed")
_FILTERS = ("enabled", "job_type", "tag", "status", "q", "key", "name")


@post("/v1/schedules", opt=access.needs("write"))
async def create_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[bytes]:
    """Create a schedule."""
    fields = await bodies.read_object(request)
    if HEADER not in request.headers and fields.get("monitor") is None:
        # Nothing to be kept or read with it, so it may share a transaction with others.
        return response(
            _created(await engine.creates.create(caller.tenant, fields, actor=caller.actor))
        )
    ping_key = None
    if fields.get("monitor") is not None:
        ping_key = await monitors.ping_key(engine, caller)

    async def work(tx: Tx) -> Done:
        done = await create.create(
            tx, caller.tenant, fields, shards=engine.shards, targets=engine.targets
        )
        answer = await saved(tx, caller, done)
        answer = monitors.with_ping_url(answer, ping_key, engine, request)
        return Done(answer, 201, versions.tag(done.schedule.version))

    # Whoever has a ping URL may ping: kept, it is sealed.
    return await once(request, engine, caller, work, sealed=ping_key is not None)


@get("/v1/schedules", opt=access.needs("read"))
async def list_schedules(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List, filter and search schedules, the newest first.

    A page ends early after 2 MB of definitions; its cursor goes on from there.
    """
    query = Query(request, *_FILTERS, "limit", "cursor")
    wanted = listing.Filter(
        status=query.choice("status", _STATUSES),
        enabled=query.flag("enabled"),
        job_type=query.text("job_type"),
        tag=query.text("tag"),
        key=query.text("key"),
        name=query.text("name"),
        q=query.text("q"),
    )
    limit = query.limit()
    await engine.charge(caller.tenant, items=limit)
    after = cursors.decode(query.text("cursor"), UUID)

    async def work(tx: Tx) -> listing.Page:
        return await listing.page(tx, caller.tenant.id, wanted, after=after, limit=limit)

    page = await engine.db.run(
        work, isolation="repeatable_read", read_only=True, tenant=caller.tenant.id
    )
    more = cursors.encode(page.found[-1].schedule.id) if page.has_more else None
    items = await engine.slicer.run(caller.tenant.id, views.encoded(page.found, views.schedule))
    return models.Page(items=items, next_cursor=more)


@get("/v1/schedules/{schedule_id:str}", opt=access.needs("read"))
async def get_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[dict[str, Any]]:
    """One schedule."""
    id_ = paths.schedule_id(schedule_id)
    found = await engine.db.run(
        lambda tx: shown(tx, caller, id_), read_only=True, tenant=caller.tenant.id
    )
    if found["monitor"] is not None:
        ping_key = await monitors.ping_key(engine, caller)
        found = monitors.with_ping_url(found, ping_key, engine, request)
    return Response(found, headers=versions.tag(found["version"]))


@patch("/v1/schedules/{schedule_id:str}", opt=access.needs("write"))
async def update_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[dict[str, Any]]:
    """Change the fields given; null takes one back to its default. Re-arms from now."""
    id_ = paths.schedule_id(schedule_id)
    changes = await bodies.read_object(request)
    wanted = versions.wanted(request)
    # Whether it is a monitor is not known before.
    ping_key = await monitors.ping_key(engine, caller)

    async def work(tx: Tx) -> Response[dict[str, Any]]:
        await versions.require(tx, caller, id_, wanted)
        done = await update.update(tx, caller.tenant, id_, changes, targets=engine.targets)
        answer = await saved(tx, caller, done)
        answer = monitors.with_ping_url(answer, ping_key, engine, request)
        return Response(answer, headers=versions.tag(done.schedule.version))

    return await engine.db.run(work, tenant=caller.tenant.id, actor=caller.actor)


@delete("/v1/schedules/{schedule_id:str}", opt=access.needs("write"))
async def delete_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> None:
    """Delete a schedule; its history stays."""
    id_ = paths.schedule_id(schedule_id)
    wanted = versions.wanted(request)

    async def work(tx: Tx) -> None:
        await versions.require(tx, caller, id_, wanted)
        await update.delete(tx, caller.tenant, id_)

    await engine.db.run(work, tenant=caller.tenant.id, actor=caller.actor)


@put("/v1/schedules/by-key/{key:path}", opt=access.needs("write"))
async def put_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[dict[str, Any]]:
    """Create the schedule with this key, or make it what is given."""
    key = paths.rest_of(request, _BY_KEY)
    fields = await bodies.read_object(request)
    wanted = versions.wanted(request)
    ping_key = None
    if fields.get("monitor") is not None:
        ping_key = await monitors.ping_key(engine, caller)

    async def work(tx: Tx) -> Response[dict[str, Any]]:
        await versions.require(tx, caller, key, wanted)
        done = await update.upsert_by_key(
            tx, caller.tenant, key, fields, shards=engine.shards, targets=engine.targets
        )
        status = 201 if done.outcome == "created" else 200
        answer = await saved(tx, caller, done)
        answer = monitors.with_ping_url(answer, ping_key, engine, request)
        tag = versions.tag(done.schedule.version)
        return Response(answer, status_code=status, headers=tag)

    # Putting the same twice is putting it once, so a commit in doubt may simply be tried again;
    # not when it was to be of a version, which the first time has changed.
    return await engine.db.run(
        work, repeatable=wanted is None, tenant=caller.tenant.id, actor=caller.actor
    )


ROUTES = (
    create_schedule,
    list_schedules,
    get_schedule,
    update_schedule,
    delete_schedule,
    put_schedule,
)


def _created(done: create.Saved) -> Done:
    """A new schedule, as it would be read: nothing can have come of it yet."""
    answer = views.schedule(listing.from_saved(done))
    answer["warnings"] = list(done.warnings)
    return Done(answer, 201, versions.tag(done.schedule.version))


async def standing(tx: Tx, caller: Principal, schedule_id: UUID) -> listing.Standing:
    """The caller's schedule; not found when the caller has none of this id."""
    found = await listing.find(tx, caller.tenant.id, schedule_id)
    if found is None:
        raise not_found("schedule")
    return found


async def shown(tx: Tx, caller: Principal, schedule_id: UUID) -> dict[str, Any]:
    """The caller's schedule as it is seen."""
    found = await standing(tx, caller, schedule_id)
    unmet = [
        *await after_links.warnings(tx, found.schedule),
        *await secret_names.warnings(tx, found.schedule),
    ]
    return views.schedule(found) | ({"warnings": unmet} if unmet else {})


async def saved(tx: Tx, caller: Principal, done: create.Saved) -> dict[str, Any]:
    """A schedule just written, with what there is to say about it."""
    return await shown(tx, caller, done.schedule.id) | {"warnings": list(done.warnings)}
