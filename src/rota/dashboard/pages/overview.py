"""The first page: how things are, at a glance, and kept fresh."""

from datetime import timedelta
from typing import Any, Final

from litestar import MediaType, Response, get

from rota.dashboard import charts, doors, headers, rendering
from rota.dashboard.desk import Desk
from rota.dashboard.doors import Visitor
from rota.dashboard.given import TheDesk, TheVisitor
from rota.db import Tx
from rota.history import queries
from rota.leases import standing
from rota.schedules import list as listing
from rota.schedules.upcoming import upcoming
from rota.timers import lags

_AHEAD: Final = timedelta(hours=1)
_MOST_DUE: Final = 2_000
_MOST_DEAD: Final = 200
_SHOWN: Final = 8


@get("/", opt=doors.needs("read"))
async def overview(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """Firings, lateness, the queue, what is next, what fails, and how the cluster is."""
    values = await _charts(desk, visitor) | await _lists(desk, visitor)
    return rendering.page("overview.html", visitor=visitor, section="overview", **values)


@get("/overview/charts", opt=doors.needs("read"))
async def overview_charts(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """The figures and charts alone, for the page to put in place."""
    return _part("overview_charts.html", visitor, await _charts(desk, visitor))


@get("/overview/lists", opt=doors.needs("read"))
async def overview_lists(desk: TheDesk, visitor: TheVisitor) -> Response[str]:
    """The lists alone."""
    return _part("overview_lists.html", visitor, await _lists(desk, visitor))


ROUTES = (overview, overview_charts, overview_lists)


def _part(template: str, visitor: Visitor, values: dict[str, Any]) -> Response[str]:
    text = rendering.part(template, visitor=visitor, **values)
    return Response(text, media_type=MediaType.HTML, headers=dict(headers.PAGE))


async def _charts(desk: Desk, visitor: Visitor) -> dict[str, Any]:
    beat = await desk.feeds.first(visitor.principal.tenant.id)
    minutes = beat.minutes
    return {
        "now": beat.stats.now,
        "stats": beat.stats,
        "minute": minutes[-2] if len(minutes) > 1 else minutes[-1],
        "columns": charts.columns(minutes),
        "lines": charts.lines(minutes),
        "most": charts.ceiling(max(each.total for each in minutes)),
        "latest": charts.late_top(minutes),
        "has_late": any(each.late_ms for each in minutes),
    }


async def _lists(desk: Desk, visitor: Visitor) -> dict[str, Any]:
    tenant = visitor.principal.tenant.id

    async def work(tx: Tx) -> dict[str, Any]:
        now = await tx.fetch_value("SELECT clock_timestamp()")
        active = await tx.fetch_value(_ACTIVE, tenant)
        due = await upcoming(tx, tenant, _AHEAD, active=active, limit=_MOST_DUE)
        dead = await queries.dead(tx, tenant, since=now - timedelta(days=1), limit=_MOST_DEAD)
        failing: dict[Any, list[Any]] = {}
        for firing in dead.firings:
            failing.setdefault(firing.schedule_id, []).append(firing)
        shown = list(failing)[:_SHOWN]
        standings = await listing.find_many(tx, tenant, shown) if shown else []
        names = {each.schedule.id: each.schedule.name for each in standings}
        return {
            "now": now,
            "due": due[:_SHOWN],
            "due_count": len(due),
            "due_bound": _MOST_DUE,
            "marks": charts.timeline([each.due_at for each in due], now=now, span=_AHEAD),
            "failing": [(id_, names.get(id_), failing[id_]) for id_ in shown],
        }

    found = await desk.db.run(work, read_only=True, tenant=tenant)
    return found | {"cluster": await _cluster(desk) if visitor.may("operator") else None}


_ACTIVE: Final = """
    SELECT count(*) FROM (SELECT FROM schedules
                           WHERE tenant_id = $1 AND status = 'active' LIMIT 2000) AS counted_up_to
"""


async def _cluster(desk: Desk) -> dict[str, Any]:
    """In a sentence; the cluster's own page has the rest."""

    async def work(tx: Tx) -> dict[str, Any]:
        nodes = [each for each in await standing.nodes(tx) if each.is_alive]
        shards = await standing.shards(tx)
        behind = await lags(tx)
        return {
            "nodes": len(nodes),
            "orphans": sum(not each.is_held for each in shards),
            "shards": len(shards),
            "lag": max(behind.values(), default=timedelta()),
        }

    return await desk.db.run(work, read_only=True)
