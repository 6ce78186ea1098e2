"""`/v1/audit/slots`: expected slots against outcomes."""

from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec
from litestar import get

from rota.api import access, cursors, filters, models, views
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.history import slot_audit
from rota.schedules.schedule import now as database_now
from rota.time_slicer import Steps

_BACK: Final = timedelta(days=1)
_MOST: Final = 100
"""Schedules on one page: each may have a thousand slots to look at."""
_AT_LEAST: Final = 100


class SlotRun(msgspec.Struct, frozen=True, kw_only=True):
    """Slots one after another, both ends included."""

    first_slot: datetime
    last_slot: datetime
    count: int


class SlotAudit(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule's slots in a range of time: how many it had to fire, and which are unexplained."""

    schedule_id: str
    schedule_key: str
    schedule_name: str
    since: datetime
    until: datetime
    """As far as slots were looked at: what is younger is not decided yet."""
    more: bool
    """There were more than one answer looks at; ask again with `since` at this `until`."""
    expected: int
    unexplained: int
    runs: list[SlotRun]
    """The unexplained ones, the first 100 runs of them."""
    has_no_timer: bool
    """It is active and nothing is armed for its next slot; Rota arms it again."""


@get("/v1/audit/slots", opt=access.needs("read"))
async def audit_slots(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """Expected slots against outcomes, schedule by schedule, of the last day unless it says."""
    query = Query(request, "schedule_id", "since", "until", "limit", "cursor")
    wanted = filters.schedule_id(query.text("schedule_id"))
    since = filters.instant("since", query.text("since"))
    until = filters.instant("until", query.text("until"))
    limit = min(query.limit(default=_MOST), _MOST)
    after = cursors.decode(query.text("cursor"), UUID) or slot_audit.START
    await engine.charge(caller.tenant, items=limit)
    tenant_id = caller.tenant.id

    async def work(tx: Tx) -> tuple[list[UUID], list[Steps[slot_audit.Audited]]]:
        if wanted is None:
            ids = await slot_audit.page(tx, tenant_id=tenant_id, after=after, limit=limit)
        else:
            ids = [wanted]
        found = await slot_audit.audited(
            tx,
            ids,
            since=since or await database_now(tx) - _BACK,
            until=until,
            most=max(_AT_LEAST, slot_audit.MOST_OUTCOMES // max(1, len(ids))),
        )
        return ids, found

    ids, found = await engine.db.run(
        work, isolation="repeatable_read", read_only=True, tenant=tenant_id
    )
    items = await engine.slicer.run(tenant_id, _views(found))
    await engine.charge(caller.tenant, items=1 + sum(each.expected for each in items))
    full = wanted is None and len(ids) == limit
    return models.Page(items=items, next_cursor=cursors.encode(ids[-1]) if full else None)


ROUTES = (audit_slots,)


def _views(found: list[Steps[slot_audit.Audited]]) -> Steps[list[SlotAudit]]:
    shown: list[SlotAudit] = []
    for steps in found:
        each = yield from steps
        shown.append(
            SlotAudit(
                schedule_id=views.schedule_id(each.schedule_id),
                schedule_key=each.key,
                schedule_name=each.name,
                since=each.since,
                until=each.until,
                more=each.more,
                expected=each.expected,
                unexplained=each.unexplained,
                runs=[
                    SlotRun(first_slot=run.first, last_slot=run.last, count=run.count)
                    for run in each.runs
                ],
                has_no_timer=each.has_no_timer,
            )
        )
        yield
    return shown
