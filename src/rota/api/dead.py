"""`/v1/dead`: what failed for good, and repeating it; `/v1/firings/{id}/replay` and `/cancel`."""

import re
from http import HTTPStatus

from litestar import Response, get, post

from rota.api import access, bodies, cursors, filters, firings, models, paths, views
from rota.api.events import CancelAsked, FiringsReplayed
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import FieldError, Refused, bad_field
from rota.api.queries import Query
from rota.db import Tx
from rota.history import queries
from rota.queue import replay
from rota.queue.enqueue import NewFiring
from rota.queue.states import WITHDRAW_REASONS
from rota.queue.withdraw import cancel
from rota.schedules.replay import MAX_MANY, replay_many, replay_one
from rota.tenants.tenant import Principal

CANCELLED = "cancelled by request"
_MAX_REASON = 200
_OWN_REASONS = WITHDRAW_REASONS | {"overlap"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")


@get("/v1/dead", opt=access.needs("read"))
async def list_dead(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """The dead letters, the newest slot first."""
    query = Query(request, "schedule_id", "since", "until", "limit", "cursor")
    schedule_id = filters.schedule_id(query.text("schedule_id"))
    since, until = (filters.instant(name, query.text(name)) for name in ("since", "until"))
    limit = query.limit()
    await engine.charge(caller.tenant, items=limit)
    after = firings.place(query.text("cursor"))

    async def work(tx: Tx) -> queries.Page:
        return await queries.dead(
            tx,
            caller.tenant.id,
            schedule_id=schedule_id,
            since=since,
            until=until,
            after=after,
            limit=limit,
        )

    page = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    items = views.encoded(page.firings, views.brief_firing)
    return models.Page(
        items=await engine.slicer.run(caller.tenant.id, items),
        next_cursor=None if page.next_place is None else cursors.encode(page.next_place),
    )


@post("/v1/dead/replay", status_code=202, opt=access.needs("write"))
async def replay_dead(request: AnyRequest, engine: TheEngine, caller: Caller) -> Response[bytes]:
    """Repeat the dead letters that fit and have no replay yet, or the firings named."""
    given = await bodies.read_as(request, models.ReplayFields, optional=True)
    limit = MAX_MANY if given.limit is None else given.limit
    if not 1 <= limit <= MAX_MANY:
        raise bad_field("limit", f"expected a number from 1 to {MAX_MANY}, got {limit}")

    await engine.charge(caller.tenant, items=limit if given.ids is None else len(given.ids))
    made: list[NewFiring] = []

    async def work(tx: Tx) -> Done:
        if given.ids is not None:
            found, more = await _named(tx, caller, given), False
        else:
            found = await _fitting(tx, caller, given, limit + 1)
            found, more = found[:limit], len(found) > limit
        made[:] = await replay_many(tx, caller.tenant, found)
        # Left where their schedules' queues are full.
        more = more or (given.ids is None and len(made) < len(found))
        items = [views.firing_id(each.id) for each in made]
        return Done(models.ReplayResult(replayed=len(items), items=items, more=more), 202)

    def after(_: Done) -> None:
        engine.bus.publish(_replayed(caller, made))

    return await once(request, engine, caller, work, after=after)


@post("/v1/firings/{firing_id:str}/replay", status_code=202, opt=access.needs("write"))
async def replay_firing(
    request: AnyRequest, engine: TheEngine, caller: Caller, firing_id: Named
) -> Response[bytes]:
    """Repeat a firing that has ended: a new one, which names it."""
    id_ = paths.firing_id(firing_id)

    await bodies.require_none(request)
    made: list[NewFiring] = []

    async def work(tx: Tx) -> Done:
        firing = await firings.find(tx, caller, id_)
        if firing.is_live:
            raise _conflict(f"expected a firing that has ended, got one that is {firing.status}")
        origin = (await replay.origins(tx, caller.tenant.id, [id_]))[id_]
        made[:] = [await replay_one(tx, caller.tenant, origin)]
        return Done(_view(made[0]), 202)

    def after(_: Done) -> None:
        engine.bus.publish(_replayed(caller, made))

    return await once(request, engine, caller, work, after=after)


@post("/v1/firings/{firing_id:str}/cancel", opt=access.needs("write"))
async def cancel_firing(
    request: AnyRequest, engine: TheEngine, caller: Caller, firing_id: Named
) -> Response[bytes]:
    """End a firing: at once when no worker has it (200), else within a second (202)."""
    id_ = paths.firing_id(firing_id)
    given = await bodies.read_as(request, models.CancelFields, optional=True)
    reason = _reason(given.reason)

    async def work(tx: Tx) -> Done:
        # Not ours: not found, whatever state it is in.
        await firings.find(tx, caller, id_)
        answer = (await cancel(tx, [id_], reason)).get(id_)
        firing = await firings.find(tx, caller, id_)
        if answer is None:
            raise _conflict(
                f"expected a firing that has not ended, got one that is {firing.status}"
            )
        status = HTTPStatus.OK if answer == "ended" else HTTPStatus.ACCEPTED
        return Done(views.firing(firing), status)

    def after(done: Done) -> None:
        ended = done.status == HTTPStatus.OK
        engine.bus.publish(
            CancelAsked(firing_id=id_, tenant_id=caller.tenant.id, reason=reason, ended=ended)
        )

    return await once(request, engine, caller, work, repeatable=True, after=after)


ROUTES = (list_dead, replay_dead, replay_firing, cancel_firing)


async def _fitting(
    tx: Tx, caller: Principal, given: models.ReplayFields, limit: int
) -> list[replay.Origin]:
    return await replay.dead(
        tx,
        caller.tenant.id,
        schedule_id=filters.schedule_id(given.schedule_id),
        since=filters.instant("since", given.since),
        until=filters.instant("until", given.until),
        limit=limit,
    )


async def _named(tx: Tx, caller: Principal, given: models.ReplayFields) -> list[replay.Origin]:
    """The firings named, in their order; a problem with each that cannot be repeated."""
    if given.schedule_id or given.since or given.until or given.limit:
        raise bad_field("ids", "expected either ids or a filter, got both")
    texts = list(dict.fromkeys(given.ids or []))
    if not 1 <= len(texts) <= MAX_MANY:
        raise bad_field("ids", f"expected 1 to {MAX_MANY} ids, got {len(texts)}")
    wanted = [paths.firing_id(text) for text in texts]
    found = await replay.origins(tx, caller.tenant.id, wanted)
    wrong = tuple(
        FieldError(f"ids[{at}]", "expected a firing of yours that has ended and is of one slot")
        for at, id_ in enumerate(wanted)
        if id_ not in found or found[id_].slot_count > 1
    )
    if wrong:
        sentence = f"{len(wrong)} of {len(wanted)} firings cannot be replayed: {wrong[0].message}"
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, errors=wrong[:100])
    return [found[id_] for id_ in wanted]


def _view(made: NewFiring) -> views.Firing:
    return views.Firing(
        id=views.firing_id(made.id),
        schedule_id=views.schedule_id(made.schedule_id),
        scheduled_for=made.scheduled_for,
        status=made.state,
        reason=made.reason,
        triggered_by=made.triggered_by,
        replay_of=None if made.replay_of is None else views.firing_id(made.replay_of),
    )


def _replayed(caller: Principal, made: list[NewFiring]) -> FiringsReplayed:
    return FiringsReplayed(
        tenant_id=caller.tenant.id, count=len(made), first=made[0].id if made else None
    )


def _reason(text: str | None) -> str:
    if text is None:
        return CANCELLED
    text = text.strip()
    if not 1 <= len(text) <= _MAX_REASON or _CONTROL.search(text):
        raise bad_field("reason", f"expected one line of 1 to {_MAX_REASON} characters")
    if text in _OWN_REASONS:
        # It would read, and act, as if the schedule itself had taken the firing back.
        raise bad_field("reason", f"expected your own words, got one of Rota's: {text}")
    return text


def _conflict(detail: str) -> Refused:
    return Refused(HTTPStatus.CONFLICT, detail)
