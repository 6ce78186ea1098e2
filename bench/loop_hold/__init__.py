"""How long requests hold the event loop: every route, with the worst that it permits."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.frame.discover import Benchmark
from bench.frame.results import Figure, Goal, Row
from bench.loop_hold import probe
from bench.loop_hold.measure import CASES, holds_of
from rota.db import Database, embedded, migrate

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.loop_hold.measure import Held

GOAL_MS: Final = 20
SHOWN: Final = 30

_METHOD = (
    (
        "API and dashboard on an embedded PostgreSQL, called over ASGI on the loop that is "
        "measured. For each route of the API, each page and each form, the requests that cost most "
        "of those it permits, on a database that holds the largest things a tenant may have: "
        "payloads of 256 kB, captures of 1 MB, calendars of 10,000 dates, 10,000 schedules."
    ),
    (
        "A hold is the CPU time of the loop's thread between two looks at its sockets: the longest "
        "of the request. A request that holds the loop for more than half the goal is repeated, up "
        "to as many times as there are rounds, and the shortest counts: what the code holds comes "
        "again, what a busy machine or its hypervisor takes does not."
    ),
)


def run(session: Session) -> list[Row]:
    """Those that held it longest, and one row for all the others."""
    watched = probe.Probe()
    found = probe.run(_run(session, watched), watched)
    found.sort(key=lambda each: each.seconds, reverse=True)
    rows = [_row(f"{each.case.route} {each.case.title}".strip(), each) for each in found[:SHOWN]]
    rest = found[SHOWN:]
    rows.append(_row(f"The longest of the other {len(rest)} requests", rest[0]))
    for row in rows:
        session.tell(row)
    return rows


async def _run(session: Session, watched: probe.Probe) -> list[Held]:
    with tempfile.TemporaryDirectory(prefix="rota-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "data"
        server = await embedded.start(home)
        try:
            async with await Database.open(server.dsn) as db:
                await migrate.apply(db)
            count = iter(range(1, len(CASES) + 1))
            return await holds_of(
                server.dsn,
                watched,
                enough=GOAL_MS / 2000,
                rounds=session.rounds,
                told=lambda _: session.at("requests", f"{next(count)} of {len(CASES)}"),
            )
        finally:
            await server.stop()
            await asyncio.shield(embedded.remove(home))


def _row(title: str, held: Held) -> Row:
    milliseconds = held.seconds * 1000
    return Row(title, "ms", Figure("Rota", (milliseconds,)), goal=Goal(GOAL_MS), better="less")


BENCHMARK = Benchmark("The event loop held", (), _METHOD, run)
