"""`/v1/schedules/{id}/pause`, `/resume` and `/trigger`."""

from litestar import Response, post

from rota.api import access, bodies, models, paths, schedules, views
from rota.api.given import AnyRequest, Caller, Named, TheEngine
from rota.api.once import Done, once
from rota.api.pausing import PauseOneFields
from rota.db import Tx
from rota.schedules import pause, run_now, update


@post("/v1/schedules/{schedule_id:str}/pause", status_code=200, opt=access.needs("write"))
async def pause_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[bytes]:
    """Stop it until it is resumed, or until an instant."""
    id_ = paths.schedule_id(schedule_id)
    given = await bodies.read_as(request, PauseOneFields, optional=True)

    async def work(tx: Tx) -> Done:
        await pause.pause(tx, caller.tenant, id_, reason=given.reason, until=given.until)
        return Done(await schedules.shown(tx, caller, id_))

    return await once(request, engine, caller, work, repeatable=True)


@post("/v1/schedules/{schedule_id:str}/resume", status_code=200, opt=access.needs("write"))
async def resume_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[bytes]:
    """Let it run again, from now on."""
    id_ = paths.schedule_id(schedule_id)
    await bodies.require_none(request)

    async def work(tx: Tx) -> Done:
        await update.resume(tx, caller.tenant, id_)
        return Done(await schedules.shown(tx, caller, id_))

    return await once(request, engine, caller, work, repeatable=True)


@post("/v1/schedules/{schedule_id:str}/trigger", status_code=202, opt=access.needs("write"))
async def trigger_schedule(
    request: AnyRequest, engine: TheEngine, caller: Caller, schedule_id: Named
) -> Response[bytes]:
    """Run it now, once, beside its own slots."""
    id_ = paths.schedule_id(schedule_id)
    given = await bodies.read_as(request, models.TriggerFields, optional=True)

    async def work(tx: Tx) -> Done:
        run = await run_now.trigger_now(tx, caller.tenant, id_, payload=given.payload)
        firing = views.Firing(
            id=views.firing_id(run.id),
            schedule_id=views.schedule_id(run.schedule_id),
            scheduled_for=run.scheduled_for,
            status=run.status,
            reason=run.reason,
            triggered_by=run.triggered_by,
        )
        return Done(firing, 202)

    return await once(request, engine, caller, work)


ROUTES = (pause_schedule, resume_schedule, trigger_schedule)
