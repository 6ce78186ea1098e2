"""`/v1/schedules/{id}/pause`, `/resume` and `/trigger`."""

from typing import Any
from uuid import UUID

from litestar import post

from rota.api import access, bodies, models, paths, schedules, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.db import Tx
from rota.schedules import service
from rota.tenants.tenant import Principal


@post("/v1/schedules/{schedule_id:str}/pause", status_code=200, opt=access.needs("write"))
async def pause_schedule(engine: TheEngine, caller: Caller, schedule_id: Named) -> dict[str, Any]:
    """Stop it until it is resumed."""
    id_ = paths.schedule_id(schedule_id)

    async def work(tx: Tx) -> dict[str, Any]:
        await service.pause(tx, caller.tenant, id_)
        return await schedules.shown(tx, caller, id_)

    return await engine.db.run(work, repeatable=True)


@post("/v1/schedules/{schedule_id:str}/resume", status_code=200, opt=access.needs("write"))
async def resume_schedule(engine: TheEngine, caller: Caller, schedule_id: Named) -> dict[str, Any]:
    """Let it run again, from now on."""
    id_ = paths.schedule_id(schedule_id)

    async def work(tx: Tx) -> dict[str, Any]:
        await service.resume(tx, caller.tenant, id_)
        return await schedules.shown(tx, caller, id_)

    return await engine.db.run(work, repeatable=True)


@post("/v1/schedules/{schedule_id:str}/trigger", status_code=202, opt=access.needs("write"))
async def trigger_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> views.Firing:
    """Run it now, once, beside its own slots."""
    id_ = paths.schedule_id(schedule_id)
    given = await bodies.read_as(request, models.TriggerFields, optional=True)
    run = await engine.db.run(lambda tx: _trigger(tx, caller, id_, given.payload))
    return views.Firing(
        id=views.firing_id(run.id),
        schedule_id=views.schedule_id(run.schedule_id),
        scheduled_for=run.scheduled_for,
        status=run.status,
        reason=run.reason,
        triggered_by=run.triggered_by,
    )


ROUTES = (pause_schedule, resume_schedule, trigger_schedule)


async def _trigger(tx: Tx, caller: Principal, id_: UUID, payload: object) -> service.Run:
    return await service.trigger_now(tx, caller.tenant, id_, payload=payload, triggered_by="api")
