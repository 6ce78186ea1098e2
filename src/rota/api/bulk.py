"""`/v1/schedules/bulk`: thousands at once, all or none, or with a result for each."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, cast

from litestar import Response, post

from rota.api import access, bodies, models, views
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.once import Done, once
from rota.api.problems import Refused, bad_field, refusal, to_problem
from rota.api.queries import Query
from rota.db import Tx
from rota.errors import CallerError
from rota.schedules import service

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
    items = _items(await bodies.read(request, limit=bodies.MAX_BULK_BODY))
    store = service.make_each if partial else service.make_many
    batch = await service.read_many(
        engine.db,
        caller.tenant,
        items,
        targets=engine.targets,
        memory=engine.creating.memory(caller.tenant),
    )

    async def work(tx: Tx) -> Done:
        return _done(await store(tx, caller.tenant, batch, shards=engine.shards))

    return await once(request, engine, caller, work)


ROUTES = (create_schedules,)


def _done(results: Sequence[service.Made | CallerError]) -> Done:
    made = sum(isinstance(each, service.Made) for each in results)
    body = models.BulkResult(
        created=made,
        failed=len(results) - made,
        items=[_result(at, each) for at, each in enumerate(results)],
    )
    # Nothing of it was created, or only some: then 200 says that there is more to look at.
    return Done(body, HTTPStatus.CREATED if made == len(results) else HTTPStatus.OK)


def _items(body: Any) -> list[dict[str, Any]]:
    """The list in a body that is one, or an object with one."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        if len(fields) != 1 or not fields.keys() <= set(_NAMES):
            unknown = next((name for name in fields if name not in _NAMES), "items")
            raise bad_field(unknown[:60], "expected an object with nothing but items")
        body = next(iter(fields.values()))
    if not isinstance(body, list) or not body:
        raise bad_field("items", f"expected a list of 1 to {service.MAX_MANY:,} schedules")
    items = cast("list[Any]", body)
    for at, item in enumerate(items):
        if not isinstance(item, dict):
            raise bad_field(f"items[{at}]", "expected an object")
    return items


def _result(index: int, each: service.Made | CallerError) -> models.BulkItem:
    if isinstance(each, service.Made):
        draft = each.draft
        return models.BulkItem(
            index=index,
            id=views.schedule_id(each.id),
            key=draft.key,
            name=draft.name,
            status=each.status,
            next_fire_at=None if draft.paused else draft.slot,
            warnings=list(each.warnings),
        )
    known = refusal(each) or Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(each))
    return models.BulkItem(index=index, problem=to_problem(known))
