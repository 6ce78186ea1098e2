"""Schedules created one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.api import bare
from bench.api.client import request, send_all
from bench.api.items import item
from bench.api.stand import CLIENTS
from bench.frame.results import Figure, Goal, Row

if TYPE_CHECKING:
    from bench.api.stand import Stand
    from bench.frame.measure import Session

TITLE = "Single creates"
COUNT = 4_000
SEPARATE = "bare INSERTs"
TOGETHER = "bare INSERT of both in one statement"


async def rows(session: Session, stand: Stand) -> list[Row]:
    """Rota and the bare statements, in turns."""
    ours: list[float] = []
    separate: list[float] = []
    together: list[float] = []
    for number in range(session.rounds + 1):
        session.at_round(TITLE, number)
        await stand.empty()
        numbers = range(COUNT)
        requests = [request(stand, "POST", "/v1/schedules", item(n, "api")) for n in numbers]
        ours.append(COUNT / await send_all(stand, requests, clients=CLIENTS, status=201))
        made = bare.rows(stand, numbers, "separate")
        seconds = await bare.insert_each(stand, made, clients=CLIENTS, together=False)
        separate.append(COUNT / seconds)
        made = bare.rows(stand, numbers, "together")
        seconds = await bare.insert_each(stand, made, clients=CLIENTS, together=True)
        together.append(COUNT / seconds)
    row = Row(
        TITLE,
        "schedules per second",
        Figure("Rota", tuple(ours[1:])),
        (Figure(SEPARATE, tuple(separate[1:])), Figure(TOGETHER, tuple(together[1:]))),
        Goal(0.6, SEPARATE),
        f"{COUNT:,} requests from {CLIENTS} connections, each schedule durable before its answer.",
    )
    session.tell(row)
    return [row]
