"""`/v1/schedules/bulk`: thousands at once, all or none, or with a result for each."""

from collections.abc import Sequence
from http import HTTPStatus

from litestar import Response, post

from rota.api import access, bodies, models, views
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, once
from rota.api.problems import Refused, refusal, to_problem
from rota.api.queries import Query
from rota.db import Tx
from rota.errors import CallerError
from rota.schedules.create import MAX_MANY, parse_many, store_all, store_each
from rota.schedules.schedule import NewSchedule
from rota.time_slicer import SOME, Steps, released

_NAMES = ("items", "schedules")


@post(
    "/v1/schedules/bulk",
    opt=access.needs("write"),
    request_max_body_size=bodies.MAX_BULK_BODY,
)
async def create_schedules(
    request: AnyRequest, engine: TheEngine, caller: Caller
) -> Response[bytes]:
    """Create up to 10,000 schedules: all or none, or with a result for each."""
    partial = Query(request, "partial").flag("partial") or False
    items = await bodies.read_items(request, _NAMES, most=MAX_MANY)
    await engine.charge(caller.tenant, items=len(items))
    store = store_each if partial else store_all
    batch = await parse_many(
        engine.db,
        caller.tenant,
        items,
        targets=engine.targets,
        cache=engine.creates.cache(caller.tenant),
        slicer=engine.slicer,
    )

    async def work(tx: Tx) -> Done:
        results = await store(tx, caller.tenant, batch, shards=engine.shards)
        return await engine.slicer.run(caller.tenant.id, _done(results))

    answer = await once(request, engine, caller, work)
    await engine.slicer.run(caller.tenant.id, released(items, batch.parsed))
    return answer


ROUTES = (create_schedules,)


def _done(results: Sequence[NewSchedule | CallerError]) -> Steps[Done]:
    made = sum(isinstance(each, NewSchedule) for each in results)
    items: list[models.BulkItem] = []
    for at, each in enumerate(results):
        items.append(_result(at, each))
        if at % SOME == 0:
            yield
    body = models.BulkResult(created=made, failed=len(results) - made, items=items)
    # Nothing of it was created, or only some: then 200 says that there is more to look at.
    return Done(body, HTTPStatus.CREATED if made == len(results) else HTTPStatus.OK)


def _result(index: int, each: NewSchedule | CallerError) -> models.BulkItem:
    if isinstance(each, NewSchedule):
        return models.BulkItem(
            index=index,
            id=views.schedule_id(each.id),
            key=each.key,
            name=each.name,
            status=each.status,
            next_fire_at=None if each.paused else each.slot,
            warnings=list(each.warnings),
        )
    known = refusal(each) or Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(each))
    return models.BulkItem(index=index, problem=to_problem(known))
