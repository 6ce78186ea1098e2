"""Schedules created by the thousand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.api import bare
from bench.api.client import request, send_all
from bench.api.items import item
from bench.frame.results import Figure, Goal, Row

if TYPE_CHECKING:
    from bench.api.stand import Stand
    from bench.frame.measure import Session

TITLE = "Bulk creates"
BATCH = 10_000
BATCHES = 10
CLIENTS = 3
COPY = "bare COPY"


async def rows(session: Session, stand: Stand) -> list[Row]:
    """Rota and COPY, in turns."""
    ours: list[float] = []
    copied: list[float] = []
    total = BATCH * BATCHES
    for number in range(session.rounds + 1):
        session.at_round(TITLE, number)
        await stand.empty()
        requests = [batch(stand, at, "api") for at in range(0, total, BATCH)]
        ours.append(total / await send_all(stand, requests, clients=CLIENTS, status=201))
        made = [bare.rows(stand, range(at, at + BATCH), "copied") for at in range(0, total, BATCH)]
        copied.append(total / await bare.copy(stand, made, clients=CLIENTS))
    row = Row(
        TITLE,
        "schedules per second",
        Figure("Rota", tuple(ours[1:])),
        (Figure(COPY, tuple(copied[1:])),),
        Goal(50_000),
        f"{BATCHES} requests of {BATCH:,} schedules from {CLIENTS} connections; COPY from as many, "
        "with its rows made before the clock starts.",
    )
    session.tell(row)
    return [row]


def batch(stand: Stand, start: int, series: str) -> bytes:
    """The request that makes the items from this number on."""
    items = [item(number, series) for number in range(start, start + BATCH)]
    return request(stand, "POST", "/v1/schedules/bulk", items)
