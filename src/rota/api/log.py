"""`/v1/firings`: all of a tenant's firings, as a log that can be followed."""

from datetime import timedelta

from litestar import get

from rota.api import access, cursors, filters, models, views
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.history import log, queries

_UTC = timedelta()


@get("/v1/firings", opt=access.needs("read"))
async def list_log(request: AnyRequest, engine: TheEngine, caller: Caller) -> models.Page:
    """The tenant's firings: the live ones first, then those that ended, the newest end first."""
    query = Query(request, "since", "status", "schedule_id", "limit", "cursor")
    status = query.choice("status", (*queries.STATUSES, *log.GROUPS))
    wanted = log.Wanted(
        statuses=queries.STATUSES if status is None else log.GROUPS.get(status, (status,)),
        schedule_id=filters.schedule_id(query.text("schedule_id")),
        since=filters.instant("since", query.text("since")),
    )
    limit = query.limit()
    await engine.charge(caller.tenant, items=limit)
    after = _place(query.text("cursor"))

    async def work(tx: Tx) -> log.LogPage:
        return await log.of_tenant(tx, caller.tenant.id, wanted, after=after, limit=limit)

    # One snapshot: what ends between two statements would be listed twice.
    page = await engine.db.run(
        work, isolation="repeatable_read", read_only=True, tenant=caller.tenant.id
    )
    items = views.encoded(page.firings, views.brief_firing)
    return models.Page(
        items=await engine.slicer.run(caller.tenant.id, items),
        next_cursor=None if page.next_place is None else cursors.encode(page.next_place),
    )


ROUTES = (list_log,)


def _place(cursor: str | None) -> log.LogPlace | None:
    """Where the log goes on."""
    found = cursors.decode(cursor, log.LogPlace)
    end = None if found is None else found.finished_at
    if cursor is not None and end is not None and end.utcoffset() != _UTC:
        # Ours are in UTC; another offset may name an instant beyond the calendar.
        raise cursors.refused(cursor)
    return found
