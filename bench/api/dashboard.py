"""The dashboard's pages among a million schedules, each as a browser asks for it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

import httpx

from bench.api.client import Talk, connect
from bench.api.items import RARE
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock

if TYPE_CHECKING:
    from bench.api.stand import Stand
    from bench.frame.measure import Session

TITLE = "Dashboard"
MOST_MS: Final = 200
TIMES: Final = 15

_CLOCK = SystemClock()
_PAGES: tuple[tuple[str, str], ...] = (
    ("schedules", "/schedules"),
    ("schedules, a word of 1 in 10", "/schedules?q=invoice"),
    ("schedules, a word of 1 in 100,000", f"/schedules?q={RARE}"),
    ("schedules, a word of none", "/schedules?q=nothing-like-it"),
    ("schedules, a tag of 1 in 20", "/schedules?tag=team-3"),
    ("schedules, a tag of 1 in 100,000", "/schedules?tag=rare"),
    ("schedules, paused", "/schedules?status=paused"),
    ("overview", "/"),
    ("dead letters", "/dead"),
)


async def rows(session: Session, stand: Stand) -> list[Row]:
    """How long each page takes with the schedules that there are: the slowest time, the middle."""
    cookie = await _signed_in(stand)
    talk = await connect(stand)
    found: list[Row] = []
    for title, path in _PAGES:
        session.at(TITLE, title)
        found.append(await _page(talk, cookie, title, path))
        session.tell(found[-1])
    talk.close()
    return found


async def _page(talk: Talk, cookie: str, title: str, path: str) -> Row:
    data = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n".encode()
    took: list[float] = []
    # The first look fills what is remembered between looks; it is told in the note.
    for _ in range(TIMES + 1):
        start = _CLOCK.monotonic()
        status, body = await talk.ask(data)
        took.append((_CLOCK.monotonic() - start) * 1000)
        assert status == 200, (path, body[:500])
    return Row(
        f"Dashboard: {title}",
        "ms",
        Figure("slowest", (max(took[1:]),)),
        (Figure("middle", (median(took[1:]),)),),
        Goal(MOST_MS),
        f"{TIMES} times; the very first took {took[0]:.0f} ms.",
        better="less",
    )


async def _signed_in(stand: Stand) -> str:
    """A session's cookie, got with the key as a person gets it."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{stand.port}") as http:
        door = await http.get("/sign-in")
        csrf = door.text.partition('name="csrf" value="')[2][:64]
        answer = await http.post("/sign-in", data={"key": stand.key, "csrf": csrf})
    assert answer.status_code == 303, answer.text[:500]
    return answer.headers["set-cookie"].partition(";")[0]
