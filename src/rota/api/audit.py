"""`/v1/audit`: who changed which schedule, when, from where, and what."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from litestar import get

from rota import ids
from rota.api import access, cursors, filters, models, views
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.schedules import audit
from rota.schedules import schedule as schedules
from rota.time_slicer import SOME, Steps


class FieldChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A field that was changed; the values of a `redacted` one may be secret and are not kept."""

    field: str
    old: Any = None
    new: Any = None
    redacted: bool = False


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was done to a schedule; `schedule_id` is null of a bulk create."""

    at: datetime
    action: str
    actor: str | None
    """From where and by whom, such as cli:PREFIX of a key; rota for Rota itself."""
    schedule_id: str | None
    schedule_key: str | None
    schedule_name: str | None
    status: str | None
    """Afterwards."""
    version: int | None
    changes: list[FieldChange]
    details: dict[str, Any]
    """What else there is to say, such as the firing that was asked for."""


@get("/v1/audit", opt=access.needs("read"))
async def list_audit(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """Who changed what, the newest first.

    A page ends early after 10,000 changes that were looked at; its cursor goes on from there.
    """
    query = Query(request, "schedule", "actor", "action", "since", "limit", "cursor")
    schedule = query.text("schedule")
    actor, since = query.text("actor"), filters.instant("since", query.text("since"))
    action = query.choice("action", audit.ACTIONS)
    limit = query.limit()
    await engine.charge(caller.tenant, items=limit)
    before = cursors.decode(query.text("cursor"), int)
    if before is not None and not 0 < before < 2**63:
        raise cursors.refused(query.text("cursor") or "")

    async def work(tx: Tx) -> audit.ChangePage:
        schedule_id = None
        if schedule is not None:
            schedule_id = await _schedule(tx, caller.tenant.id, schedule)
            if schedule_id is None:
                return audit.ChangePage([], None)
        wanted = audit.Filter(schedule_id=schedule_id, actor=actor, action=action, since=since)
        return await audit.page(tx, caller.tenant.id, wanted, before=before, limit=limit)

    page = await engine.db.run(
        work, isolation="repeatable_read", read_only=True, tenant=caller.tenant.id
    )
    return models.Page(
        items=await engine.slicer.run(caller.tenant.id, _views(page.changes)),
        next_cursor=None if page.next_id is None else cursors.encode(page.next_id),
    )


ROUTES = (list_audit,)


async def _schedule(tx: Tx, tenant_id: UUID, named: str) -> UUID | None:
    """By id or key; of a deleted one also by its name."""
    try:
        return ids.from_text(ids.Kind.SCHEDULE, named)
    except ids.InvalidId:
        found = await schedules.id_of_key(tx, tenant_id, named)
        return found or await audit.find_deleted(tx, tenant_id, named)


def _views(changes: list[audit.Listed]) -> Steps[list[AuditEntry]]:
    shown: list[AuditEntry] = []
    for at, each in enumerate(changes):
        shown.append(_view(each))
        if at % SOME == 0:
            yield
    return shown


def _view(listed: audit.Listed) -> AuditEntry:
    change = listed.change
    id_ = change.schedule_id
    return AuditEntry(
        at=change.at,
        action=change.action,
        actor=change.actor,
        schedule_id=None if id_ is None else views.schedule_id(id_),
        schedule_key=listed.key,
        schedule_name=listed.name,
        status=change.status,
        version=change.version,
        changes=[FieldChange(field=name, **values) for name, values in change.fields.items()],
        details=dict(change.details),
    )
