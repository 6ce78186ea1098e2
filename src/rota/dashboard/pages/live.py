"""What happens, as it happens: server-sent events for every page that is open."""

from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import Any

import msgspec
from litestar import Response, get
from litestar.response import ServerSentEvent

from rota import ids
from rota.dashboard import doors
from rota.dashboard.desk import Desk
from rota.dashboard.feeds import MOST_READERS, Beat
from rota.dashboard.given import TheDesk, TheVisitor
from rota.dashboard.refusals import PageRefused
from rota.dashboard.shown import tone
from rota.errors import DatabaseUnavailable
from rota.tenants import sessions


@get("/live", opt=doors.needs("read"))
async def live(desk: TheDesk, visitor: TheVisitor) -> Response[Any]:
    """A beat a second: figures, the current minute, and what ended."""
    if desk.feeds.is_full(visitor.principal.tenant.id):
        raise PageRefused(
            HTTPStatus.TOO_MANY_REQUESTS,
            f"Expected at most {MOST_READERS} live pages of this tenant, got one more.",
        )
    return ServerSentEvent(_beats(desk, visitor.session))


ROUTES = (live,)


async def _beats(desk: Desk, session: sessions.Session) -> AsyncGenerator[str]:
    """Nothing is told after the session has ended, or its key was revoked (S9)."""
    async with desk.feeds.follow(session.principal.tenant.id) as beats:
        while (beat := await beats.get()) is not None and await _still_good(desk, session):
            yield msgspec.json.encode(told(beat)).decode()


async def _still_good(desk: Desk, session: sessions.Session) -> bool:
    try:
        return await desk.db.run(lambda tx: sessions.is_good(tx, session.secret), read_only=True)
    except DatabaseUnavailable:
        # Nobody can say: a page that may still look connects again by itself.
        return False


def told(beat: Beat) -> dict[str, Any]:
    """A beat as scripts read it."""
    stats = beat.stats
    return {
        "now": stats.now,
        "queue": dict(stats.queue),
        "schedules": dict(stats.schedules),
        "last_hour": dict(stats.firings),
        "lateness_seconds": round(stats.lateness.total_seconds(), 3),
        "next_due_at": stats.next_due_at,
        "minutes": [
            {"at": each.at, "counts": dict(each.counts), "late_ms": each.late_ms}
            for each in beat.minutes
        ],
        "firings": [
            {
                "id": ids.to_text(ids.Kind.FIRING, each.id),
                "schedule_id": ids.to_text(ids.Kind.SCHEDULE, each.schedule_id),
                "name": beat.names.get(each.schedule_id, "a deleted schedule"),
                "status": each.status,
                "tone": tone(each.status),
                "reason": each.reason,
                "scheduled_for": each.scheduled_for,
                "finished_at": each.finished_at,
                "duration_ms": each.duration_ms,
                "code": each.result_code,
            }
            for each in beat.firings
        ],
    }
