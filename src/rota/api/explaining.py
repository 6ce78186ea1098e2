"""`/v1/schedules/{id}/why`: what became of a slot, in a sentence."""

from datetime import datetime
from typing import Any

import msgspec
from litestar import get

from rota.api import access, paths, slots, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.problems import not_found
from rota.api.queries import Query
from rota.db import Tx
from rota.history import why as history


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the slot at one instant: a firing's status, or why there is none."""

    at: datetime
    outcome: str
    explanation: str
    firing: views.Firing | None
    previous_slot: datetime | None
    next_slot: datetime | None


class Why(Explained, frozen=True, kw_only=True):
    """The same for the instant that was asked for."""

    schedule_id: str
    note: str | None = None
    """Which instant it is about, when clocks skip or repeat the local time that was asked for."""
    second: Explained | None = None
    """Of a local time that clocks repeat: the same for its second instant."""


@get("/v1/schedules/{schedule_id:str}/why", opt=access.needs("read"))
async def why(request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named) -> Why:
    """What became of a slot, and why."""
    id_ = paths.schedule_id(schedule_id)
    text = Query(request, "at").required("at")

    async def work(tx: Tx) -> tuple[list[history.Why], str | None]:
        schedule = await history.find(tx, caller.tenant.id, id_)
        if schedule is None:
            raise not_found("schedule")
        found = slots.named_instants(text, "at", schedule.slots.timezone)
        return [await history.why(tx, schedule, at) for at in found.instants], found.note

    (first, *others), note = await engine.db.run(work, read_only=True, tenant=caller.tenant.id)
    return Why(
        schedule_id=views.schedule_id(id_),
        note=note,
        second=Explained(**_explained(others[0])) if others else None,
        **_explained(first),
    )


def _explained(answer: history.Why) -> dict[str, Any]:
    return {
        "at": answer.at,
        "outcome": answer.outcome,
        "explanation": answer.sentence,
        "firing": None if answer.firing is None else views.firing(answer.firing),
        "previous_slot": answer.previous_slot,
        "next_slot": answer.next_slot,
    }


ROUTES = (why,)
