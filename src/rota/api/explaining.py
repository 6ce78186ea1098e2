"""`/v1/schedules/{id}/why`: what became of a slot, in a sentence."""

from datetime import datetime

import msgspec
from litestar import get

from rota.api import access, paths, schedules, slots, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.history import why as history


class Why(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a slot: a firing's status, or why there is none."""

    schedule_id: str
    at: datetime
    outcome: str
    explanation: str
    firing: views.Firing | None
    previous_slot: datetime | None
    next_slot: datetime | None


@get("/v1/schedules/{schedule_id:str}/why", opt=access.needs("read"))
async def why(request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named) -> Why:
    """What became of a slot, and why."""
    id_ = paths.schedule_id(schedule_id)
    text = Query(request, "at").required("at")

    async def work(tx: Tx) -> history.Why:
        schedule = (await schedules.standing(tx, caller, id_)).schedule
        at = slots.instant(text, "at", schedule.slots.timezone)
        return await history.why(tx, schedule, history.meant(schedule.slots, at))

    answer = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    return Why(
        schedule_id=views.schedule_id(id_),
        at=answer.at,
        outcome=answer.outcome,
        explanation=answer.sentence,
        firing=None if answer.firing is None else views.firing(answer.firing),
        previous_slot=answer.previous_slot,
        next_slot=answer.next_slot,
    )


ROUTES = (why,)
