"""A million schedules: the pages of their lists, and of searches among them."""

from __future__ import annotations

from datetime import timedelta
from statistics import median
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from bench.api.bulk import BATCH, CLIENTS, batch
from bench.api.client import Talk, connect, decoded, request, send_all
from bench.api.items import RARE
from bench.frame.results import Figure, Goal, Row
from rota.api import cursors
from rota.clock import SystemClock

if TYPE_CHECKING:
    from bench.api.stand import Stand
    from bench.frame.measure import Session

TITLE = "Pages"
MANY = 1_000_000
FEW = 50_000
"""Where only few rounds are asked for, to see that all runs."""
MOST_MS = 50
PAGES = 20
TIMES = 5

_CLOCK = SystemClock()
_FILTERS: tuple[tuple[str, dict[str, str]], ...] = (
    ("all", {}),
    ("status=active", {"status": "active"}),
    ("status=paused", {"status": "paused"}),
    ("status=completed (none)", {"status": "completed"}),
    ("enabled=true", {"enabled": "true"}),
    ("enabled=false", {"enabled": "false"}),
    ("job_type, 1 of 4,000", {"job_type": "invoice.alert"}),
    ("job_type (none)", {"job_type": "no.such"}),
    ("tag, 1 of 20", {"tag": "team-3"}),
    ("tag, 1 of 1,000", {"tag": "vip"}),
    ("tag, 1 of 100,000", {"tag": "rare"}),
    ("tag (none)", {"tag": "no-such"}),
    ("q, in all", {"q": "customer"}),
    ("q, 1 of 10", {"q": "invoice"}),
    ("q, 1 of 100,000", {"q": RARE}),
    ("q, one key", {"q": "customer-77:list-77"}),
    ("q (none)", {"q": "nothing-like-it"}),
    ("q and status", {"q": "invoice", "status": "paused"}),
    ("name", {"name": "Report invoice 23"}),
    ("key", {"key": "customer-23:list-23"}),
)


async def rows(session: Session, stand: Stand) -> list[Row]:
    """How long each kind of page takes: the slowest of its pages, and the middle one."""
    total = MANY if session.rounds > 2 else FEW
    await stand.empty()
    rate = await _fill(session, stand, total)
    found = [rate]
    talk = await connect(stand)
    for title, wanted in _FILTERS:
        session.at(TITLE, title)
        found.append(await _pages(stand, talk, title, wanted))
        session.tell(found[-1])
    talk.close()
    found.append(await _log(stand))
    session.tell(found[-1])
    return found


async def _fill(session: Session, stand: Stand, total: int) -> Row:
    """Make so many, and wait until they can be searched as quickly as ever."""
    seconds = 0.0
    for start in range(0, total, BATCH * 10):
        session.at(TITLE, f"{start:,} of {total:,} made")
        starts = range(start, min(total, start + BATCH * 10), BATCH)
        requests = [batch(stand, at, "list") for at in starts]
        seconds += await send_all(stand, requests, clients=CLIENTS, status=201)
    since = _CLOCK.monotonic()
    while await stand.admin.fetchval("SELECT EXISTS (SELECT FROM wordless)"):
        done = await stand.admin.fetchval("SELECT count(*) FROM schedule_words")
        session.at(TITLE, f"words of {done:,} of {total:,} written")
        await _CLOCK.sleep(timedelta(seconds=1))
    words = _CLOCK.monotonic() - since
    await stand.tidy()
    row = Row(
        f"{total:,} schedules through bulk",
        "schedules per second",
        Figure("Rota", (total / seconds,)),
        note=f"While their words were being written at half a core's pace; the rest of them were "
        f"written {words:.0f} s after the last request.",
    )
    session.tell(row)
    return row


async def _pages(stand: Stand, talk: Talk, title: str, wanted: dict[str, str]) -> Row:
    """The first pages, and pages from deep down, each as often as it takes to be sure."""
    times: list[float] = []
    cursor: str | None = None
    for _ in range(PAGES):
        took, cursor = await _page(stand, talk, wanted, cursor)
        times.append(took)
        if cursor is None:
            break
    if not wanted:
        times += [await _deep(stand, talk, depth) for depth in (0.25, 0.5, 0.99)]
    return _row(f"Page: {title}", times)


async def _deep(stand: Stand, talk: Talk, depth: float) -> float:
    """A page from so far down, found by its id."""
    id_ = await stand.admin.fetchval(
        "SELECT id FROM schedules ORDER BY id DESC "
        f"OFFSET (SELECT count(*) * {depth} FROM schedules)::bigint LIMIT 1"
    )
    best, _ = await _page(stand, talk, {}, cursors.encode(id_))
    return best


async def _page(
    stand: Stand, talk: Talk, wanted: dict[str, str], cursor: str | None
) -> tuple[float, str | None]:
    """The median time of a page in milliseconds, and where the next one begins."""
    query = urlencode(wanted | ({} if cursor is None else {"cursor": cursor}))
    data = request(stand, "GET", f"/v1/schedules?{query}")
    took: list[float] = []
    body = b""
    for _ in range(TIMES):
        start = _CLOCK.monotonic()
        status, body = await talk.ask(data)
        took.append((_CLOCK.monotonic() - start) * 1000)
        assert status == 200, body[:500]
    return median(took), decoded(body)["next_cursor"]


async def _log(stand: Stand) -> Row:
    """The firings of one schedule and of all, with history behind them."""
    await stand.admin.execute(_HISTORY, stand.tenant_id)
    await stand.admin.execute("VACUUM ANALYZE firings")
    # Only now: a connection that says nothing for so long is hung up on.
    talk = await connect(stand)
    id_ = decoded((await talk.ask(request(stand, "GET", "/v1/schedules?limit=1")))[1])
    first = id_["items"][0]["id"]
    paths = (
        "/v1/firings",
        "/v1/firings?status=dead",
        f"/v1/firings?schedule_id={first}",
        f"/v1/schedules/{first}/firings",
        "/v1/dead",
        "/v1/schedules",
    )
    times: list[float] = []
    for path in paths:
        took: list[float] = []
        for _ in range(TIMES):
            start = _CLOCK.monotonic()
            status, body = await talk.ask(request(stand, "GET", path))
            took.append((_CLOCK.monotonic() - start) * 1000)
            assert status == 200, (path, body[:500])
        times.append(median(took))
    talk.close()
    return _row(f"Pages with history: {', '.join(path.partition('?')[0] for path in paths)}", times)


def _row(title: str, times: list[float]) -> Row:
    return Row(
        title,
        "ms",
        Figure("slowest page", (max(times),)),
        (Figure("middle page", (median(times),)),),
        Goal(MOST_MS),
        f"{len(times)} pages, each the median of {TIMES}.",
        better="less",
    )


# Twelve firings of each of the 40,000 newest schedules, over the last day.
_HISTORY = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, attempt,
                         triggered_by, started_at, finished_at, result_code)
    SELECT md5(s.id::text || n)::uuid, s.id, $1::uuid, 1, at, status, 1, 'schedule', at, at, 200
      FROM (SELECT id FROM schedules ORDER BY id DESC LIMIT 40000) AS s,
           generate_series(1, 12) AS n,
           LATERAL (SELECT now() - n * interval '2 hours' AS at,
                           CASE WHEN n = 7 THEN 'dead' ELSE 'succeeded' END AS status) AS x
"""
