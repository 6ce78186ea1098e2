"""What can be done to a schedule from its page."""

from http import HTTPStatus
from typing import Any, Final

from litestar import Response, post

from rota.dashboard import doors, paths, pauses, rendering, shown
from rota.dashboard.drafts import from_json
from rota.dashboard.forms import LARGE, Form
from rota.dashboard.given import AnyRequest, Named, TheDesk, TheVisitor
from rota.dashboard.pages import schedule_parts as parts
from rota.dashboard.pages.schedule import whole
from rota.dashboard.pages.schedule_parts import Asked
from rota.dashboard.refusals import missing
from rota.db import Tx
from rota.errors import CallerError, InvalidInput
from rota.schedules import pause, run_now, update
from rota.schedules.backfill import backfill
from rota.schedules.errors import NoSuchSchedule
from rota.triggers.at import parse_instant
from rota.triggers.zones import zone


@post("/schedules/{schedule_id:str}/pause", opt=doors.needs("write"))
async def pause_schedule(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[Any]:
    """No firing from now on; with an end, on the schedule's own clock, until then."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    tenant = visitor.principal.tenant
    form = await Form.read(request)
    reason, until = form.text("reason"), form.text("until")

    async def work(tx: Tx) -> None:
        clock = (await parts.standing(tx, asked)).schedule.slots.timezone
        end = pauses.end(until, clock)
        await pause.pause(tx, tenant, asked.id, reason=reason or None, until=end)

    try:
        await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor, repeatable=True)
    except NoSuchSchedule as error:
        raise missing("schedule") from error
    except InvalidInput as error:
        said = {"form": "pause", "wrong": error.message, "reason": reason, "end": until}
        return await whole(asked, code=HTTPStatus.UNPROCESSABLE_ENTITY, said=said)
    return rendering.go_to(f"/schedules/{schedule_id}")


@post("/schedules/{schedule_id:str}/resume", opt=doors.needs("write"))
async def resume_schedule(desk: TheDesk, visitor: TheVisitor, schedule_id: Named) -> Response[Any]:
    """Fire again, from now on."""
    id_, tenant = paths.schedule_id(schedule_id), visitor.principal.tenant
    try:
        await desk.db.run(
            lambda tx: update.resume(tx, tenant, id_),
            tenant=tenant.id,
            actor=visitor.principal.actor,
            repeatable=True,
        )
    except NoSuchSchedule as error:
        raise missing("schedule") from error
    return rendering.go_to(f"/schedules/{schedule_id}")


@post("/schedules/{schedule_id:str}/delete", opt=doors.needs("write"))
async def delete_schedule(desk: TheDesk, visitor: TheVisitor, schedule_id: Named) -> Response[Any]:
    """Forget it, but for its history."""
    id_, tenant = paths.schedule_id(schedule_id), visitor.principal.tenant
    try:
        await desk.db.run(
            lambda tx: update.delete(tx, tenant, id_),
            tenant=tenant.id,
            actor=visitor.principal.actor,
        )
    except NoSuchSchedule as error:
        raise missing("schedule") from error
    return rendering.go_to("/schedules")


@post("/schedules/{schedule_id:str}/trigger", opt=doors.needs("write"), request_max_body_size=LARGE)
async def trigger_schedule(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[Any]:
    """Run it now, once; then its firing's page, where request and response will show."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    tenant = visitor.principal.tenant
    text = (await Form.read(request)).lines("payload")

    async def work(tx: Tx) -> run_now.Run:
        payload = _json(text) if text.strip() else None
        return await run_now.trigger_now(tx, tenant, asked.id, payload=payload)

    try:
        run = await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor)
    except NoSuchSchedule as error:
        raise missing("schedule") from error
    except CallerError as error:
        said = {"form": "trigger", "wrong": str(error), "payload": text}
        return await whole(asked, code=HTTPStatus.UNPROCESSABLE_ENTITY, said=said)
    return rendering.go_to(f"/firings/{shown.firing_id(run.id)}")


@post("/schedules/{schedule_id:str}/backfill", opt=doors.needs("write"))
async def backfill_schedule(
    request: AnyRequest, desk: TheDesk, visitor: TheVisitor, schedule_id: Named
) -> Response[Any]:
    """Fire the slots of a past range, one after another."""
    asked = Asked(desk, visitor, request, paths.schedule_id(schedule_id))
    tenant = visitor.principal.tenant
    form = await Form.read(request)
    since, until = form.text("since"), form.text("until")

    async def work(tx: Tx) -> int:
        clock = zone((await parts.standing(tx, asked)).schedule.slots.timezone)
        filled = await backfill(
            tx,
            tenant,
            asked.id,
            since=parse_instant(since, clock),
            until=parse_instant(until, clock),
            slicer=asked.desk.slicer,
        )
        return len(filled.firings)

    try:
        count = await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor)
    except InvalidInput as error:
        said = {"form": "backfill", "wrong": error.message, "since": since, "until": until}
        return await whole(asked, code=HTTPStatus.UNPROCESSABLE_ENTITY, said=said)
    return rendering.go_to(f"/schedules/{schedule_id}?filled={count}#history")


ROUTES: Final = (
    pause_schedule,
    resume_schedule,
    delete_schedule,
    trigger_schedule,
    backfill_schedule,
)


def _json(text: str) -> object:
    try:
        return from_json(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Invalid payload: expected JSON: {error}", field="payload") from error
