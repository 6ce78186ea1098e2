"""`/v1/alerts`: the troubles of a tenant's schedules, and for operators the installation's."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from litestar import get

from rota import ids
from rota.api import access, cursors, models
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.watch import alert, alerts
from rota.watch.kinds import KINDS


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One trouble, from when it was noticed until it was over."""

    id: str
    kind: str
    """dead, missed, overdue, failing or slow; of the installation also others."""
    subject: str
    """What it is about: a schedule's id, a host, a node."""
    schedule_id: str | None
    schedule_name: str | None
    detail: str
    count: int
    """How often it has happened."""
    installation: bool
    """Whether it is the installation's, and not a tenant's."""
    opened_at: datetime
    seen_at: datetime
    """When it was last seen to go on."""
    closed_at: datetime | None


@get("/v1/alerts", opt=access.needs("read"))
async def list_alerts(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """List alerts, the newest first."""
    query = Query(request, "open", "kind", "limit", "cursor")
    limit = query.limit()
    open_ = query.flag("open")
    kind = query.choice("kind", tuple(KINDS))
    before = cursors.decode(query.text("cursor"), tuple[datetime, UUID])
    if before is not None and before[0].tzinfo is None:
        raise cursors.refused(query.text("cursor") or "")

    async def work(tx: Tx) -> Sequence[alert.Alert]:
        return await alerts.listed(
            tx,
            caller.tenant.id,
            installation=caller.is_operator,
            open_=open_,
            kind=kind,
            before=before,
            limit=limit + 1,
        )

    # Those of the installation are no tenant's: row security would hide them from everybody.
    tenant = None if caller.is_operator else caller.tenant.id
    found = await engine.db.run(work, read_only=True, tenant=tenant)
    page = found[:limit]
    more = cursors.encode((page[-1].opened_at, page[-1].id)) if len(found) > limit else None
    return models.Page(items=[_view(each) for each in page], next_cursor=more)


ROUTES = (list_alerts,)


def _view(each: alert.Alert) -> Alert:
    id_ = each.schedule_id
    return Alert(
        id=ids.to_text(ids.Kind.ALERT, each.id),
        kind=each.kind,
        subject=each.subject,
        schedule_id=None if id_ is None else ids.to_text(ids.Kind.SCHEDULE, id_),
        schedule_name=each.schedule_name,
        detail=each.detail,
        count=each.count,
        installation=each.tenant_id is None,
        opened_at=each.opened_at,
        seen_at=each.seen_at,
        closed_at=each.closed_at,
    )
