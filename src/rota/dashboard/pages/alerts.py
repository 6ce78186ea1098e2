"""Alerts: what is wrong now, what was, and what to do about it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from litestar import Response, get

from rota.dashboard import advice, doors, places, rendering
from rota.dashboard.given import AnyRequest, TheDesk, TheVisitor
from rota.db import Tx
from rota.watch import alerts, channels_sql
from rota.watch.alert import Alert
from rota.watch.kinds import KINDS

PAGE: Final = 50
_MOST_OPEN: Final = 200

Place = tuple[datetime, UUID]


@get("/alerts", opt=doors.needs("read"))
async def list_alerts(request: AnyRequest, desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """The open ones first, then a page of those that are over."""
    query = request.query_params
    kind = query.get("kind", "")
    kind = kind if kind in KINDS else ""
    after = _place(query.get("after"))
    principal = visitor.principal

    async def page(tx: Tx, *, open_: bool, before: Place | None, limit: int) -> Sequence[Alert]:
        return await alerts.listed(
            tx,
            principal.tenant.id,
            installation=principal.is_operator,
            open_=open_,
            kind=kind or None,
            before=before,
            limit=limit,
        )

    async def work(tx: Tx) -> tuple[datetime, Sequence[Alert], Sequence[Alert], bool]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        current: Sequence[Alert] = []
        if after is None:
            current = await page(tx, open_=True, before=None, limit=_MOST_OPEN)
        closed = await page(tx, open_=False, before=after, limit=PAGE + 1)
        told = bool(await channels_sql.count(tx, principal.tenant.id))
        return now, current, closed, told

    # Those of the installation are no tenant's: row security would hide them from everybody.
    tenant = None if principal.is_operator else principal.tenant.id
    now, current, closed, told = await desk.db.run(work, read_only=True, tenant=tenant)
    last = closed[PAGE - 1] if len(closed) > PAGE else None
    return rendering.page(
        "alerts.html",
        visitor=visitor,
        section="alerts",
        now=now,
        current=[advice.of(each) for each in current],
        closed=[advice.of(each) for each in closed[:PAGE]],
        kinds=_kinds(operator=principal.is_operator),
        kind=kind,
        first_page=after is None,
        most_open=_MOST_OPEN,
        next_place=None if last is None else places.write((last.opened_at, last.id)),
        told=told,
    )


ROUTES = (list_alerts,)


def _kinds(*, operator: bool) -> list[str]:
    return [name for name, each in KINDS.items() if operator or not each.is_installation]


def _place(text: str | None) -> Place | None:
    return places.read(text, tuple[datetime, UUID])
