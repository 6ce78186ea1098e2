"""A firing: what became of it, every attempt, and what can still be done."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any

from litestar import Response, get, post

from rota.dashboard import curl, doors, paths, rendering, shown
from rota.dashboard.given import Named, TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused, missing
from rota.dashboard.spans import spans
from rota.db import Tx
from rota.history import queries
from rota.history.firing import Attempt, Firing
from rota.queue import replay
from rota.queue.enqueue import NewFiring
from rota.queue.withdraw import cancel
from rota.schedules import list as listing
from rota.schedules.replay import replay_one
from rota.schedules.schedule import Schedule

CANCELLED = "cancelled in the dashboard"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    now: datetime
    firing: Firing
    attempts: list[Attempt]
    schedule: Schedule | None
    """None when it has been deleted."""


@get("/firings/{firing_id:str}", opt=doors.needs("read"))
async def firing(desk: TheDesk, visitor: TheVisitor, firing_id: Named) -> Response[str]:
    """Every attempt with its request and response."""
    id_ = paths.firing_id(firing_id)
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> _Found:
        found = await queries.find(tx, id_, tenant_id=tenant)
        if found is None:
            raise missing("firing")
        standing = await listing.find(tx, tenant, found.schedule_id)
        return _Found(
            now=await tx.fetch_value("SELECT clock_timestamp()"),
            firing=found,
            attempts=await queries.attempts(tx, found),
            schedule=None if standing is None else standing.schedule,
        )

    found = await desk.db.run(work, read_only=True, tenant=tenant)
    return await rendering.large_page(
        "firing.html",
        desk=desk,
        visitor=visitor,
        section="schedules",
        now=found.now,
        firing=found.firing,
        schedule=found.schedule,
        zone="UTC" if found.schedule is None else found.schedule.definition.timezone,
        attempts=[
            (each, None if each.request is None else _curl(each.request))
            for each in reversed(found.attempts)
        ],
        spans=spans(found.attempts),
    )


@post("/firings/{firing_id:str}/cancel", opt=doors.needs("write"))
async def cancel_firing(desk: TheDesk, visitor: TheVisitor, firing_id: Named) -> Response[Any]:
    """End it: at once when no worker has it, else within a second."""
    id_ = paths.firing_id(firing_id)
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> None:
        if await queries.find(tx, id_, tenant_id=tenant) is None:
            raise missing("firing")
        if not await cancel(tx, [id_], CANCELLED):
            raise PageRefused(HTTPStatus.CONFLICT, "This firing has ended already.")

    await desk.db.run(work, tenant=tenant)
    return rendering.go_to(f"/firings/{firing_id}")


@post("/firings/{firing_id:str}/replay", opt=doors.needs("write"))
async def replay_firing(desk: TheDesk, visitor: TheVisitor, firing_id: Named) -> Response[Any]:
    """Repeat it: a new firing, which names this one."""
    id_ = paths.firing_id(firing_id)
    tenant = visitor.principal.tenant

    async def work(tx: Tx) -> NewFiring:
        found = await queries.find(tx, id_, tenant_id=tenant.id)
        if found is None:
            raise missing("firing")
        if found.is_live:
            raise PageRefused(HTTPStatus.CONFLICT, "This firing has not ended yet.")
        origin = (await replay.origins(tx, tenant.id, [id_]))[id_]
        return await replay_one(tx, tenant, origin)

    made = await desk.db.run(work, tenant=tenant.id, actor=visitor.principal.actor)
    return rendering.go_to(f"/firings/{shown.firing_id(made.id)}")


ROUTES = (firing, cancel_firing, replay_firing)


def _curl(request: dict[str, Any]) -> str | None:
    """The request as a command; None of one that has no address, or a body too long to paste."""
    if "url" not in request or len(str(request.get("body") or "")) > shown.MAX_SHOWN:
        return None
    return curl.command(request)
