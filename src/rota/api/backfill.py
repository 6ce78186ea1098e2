"""`/v1/schedules/{id}/backfill`: the slots of a past range, fired now."""

from datetime import datetime
from typing import Annotated

import msgspec
from litestar import Response, post

from rota.api import access, bodies, paths, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.problems import bad_field
from rota.api.saying import says
from rota.db import Tx
from rota.schedules import backfill


class BackfillFields(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"from_": "from"}
):
    """A range that has passed, from an instant up to, and without, another."""

    from_: Annotated[datetime, says(format="date-time")]
    to: Annotated[datetime, says(format="date-time")]


class Backfilled(msgspec.Struct, frozen=True, kw_only=True):
    """The firings that were made, in the order of their slots."""

    created: int
    items: list[views.Firing]


@post("/v1/schedules/{schedule_id:str}/backfill", status_code=202, opt=access.needs("write"))
async def backfill_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[bytes]:
    """Fire the slots of a past range, one after another, marked as backfill."""
    id_ = paths.schedule_id(schedule_id)
    given = await bodies.read_as(request, BackfillFields)
    for name, instant in (("from", given.from_), ("to", given.to)):
        if instant.tzinfo is None:
            raise bad_field(name, "expected an instant with an offset, such as …Z, got none")

    async def work(tx: Tx) -> Done:
        filled = await backfill.backfill(
            tx, caller.tenant, id_, since=given.from_, until=given.to, slicer=engine.slicer
        )
        items = [_firing(schedule_id, at, filled) for at in range(len(filled.firings))]
        return Done(Backfilled(created=len(items), items=items), 202)

    return await once(request, engine, caller, work)


ROUTES = (backfill_schedule,)


def _firing(schedule_id: str, at: int, filled: backfill.Filled) -> views.Firing:
    firing_id, slot = filled.firings[at]
    goes = "waiting" if at == 0 and not filled.blocked else "blocked"
    return views.Firing(
        id=views.firing_id(firing_id),
        schedule_id=schedule_id,
        scheduled_for=slot,
        status=goes,
        triggered_by="backfill",
        catch_up=True,
    )
