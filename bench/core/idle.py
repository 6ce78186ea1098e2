"""What it costs to have a million timers of which none is due."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from statistics import median
from time import process_time
from typing import TYPE_CHECKING

from bench.core import sql as stands_sql
from bench.core.stand import SAMPLE, Member, Stand, member, renewing
from bench.frame.results import Figure, Row
from rota.clock import SystemClock
from rota.db import Listener
from rota.firing import CHANNEL, Scheduler, Settings
from rota.firing.fire import read_due

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime

    from bench.frame.measure import Session

TITLE = "Idle"
MOST_RUNS = 5
LOOKS = 200

_CLOCK = SystemClock()
_WINDOW = timedelta(seconds=5)
_FAR = timedelta(days=1)
_PROCESSES = Path("/proc")
_TICKS = 100  # a second, in what Linux tells of a process


async def rows(session: Session, stand: Stand) -> list[Row]:
    """Processor time, statements, and how long it takes to find nothing."""
    await stand.arm(SAMPLE, await stand.now() + _FAR)
    runs = min(session.rounds, MOST_RUNS)
    async with member(stand.db) as holder:
        found = await _lookups(session, stand, holder, runs)
        found += await _loops(session, stand, holder, runs)
    for row in found:
        session.tell(row)
    return found


async def _lookups(session: Session, stand: Stand, holder: Member, runs: int) -> list[Row]:
    settings = Settings()
    looks: list[float] = []
    passes: list[float] = []
    for number in range(runs + 1):
        session.at(f"{TITLE}, look-ups", f"run {number} of {runs}" if number else "warm-up")
        await holder.elector.run_once()
        lows = dict.fromkeys(range(stand.shards), await stand.now() + settings.lead)
        looks.append(median([await _look(stand, lows, settings) for _ in range(LOOKS)]))
        scheduler = Scheduler(stand.db, holder.elector, settings=settings)
        await scheduler.run_once()
        passes.append(median([await _pass(scheduler) for _ in range(LOOKS)]))
    return [
        _row(
            "Empty look-up",
            "ms",
            looks[1:],
            f"One statement over all {stand.shards} shards, past their low-water marks, in a "
            f"transaction of its own: the median of {LOOKS} for each run.",
        ),
        _row(
            "Empty pass",
            "ms",
            passes[1:],
            "What a scheduler does each time it wakes up for nothing: the look-up, then the search "
            "for the next timer to wait for.",
        ),
    ]


async def _look(stand: Stand, lows: dict[int, datetime], settings: Settings) -> float:
    start = _CLOCK.monotonic()
    reading = await read_due(stand.db, lows, lead=settings.lead, limit=settings.batch)
    seconds = _CLOCK.monotonic() - start
    assert not reading.timers
    return seconds * 1000


async def _pass(scheduler: Scheduler) -> float:
    start = _CLOCK.monotonic()
    done = await scheduler.run_once()
    seconds = _CLOCK.monotonic() - start
    assert not done.counts.any
    return seconds * 1000


async def _loops(session: Session, stand: Stand, holder: Member, runs: int) -> list[Row]:
    ours: list[float] = []
    servers: list[float] = []
    said: list[float] = []
    async with _idling(stand, holder):
        for number in range(runs + 1):
            session.at(TITLE, f"run {number} of {runs}" if number else "warm-up")
            pids = [row["pid"] for row in await stand.admin.fetch(stands_sql.BACKENDS)]
            before = process_time(), _server_seconds(pids), stand.tape.count, _CLOCK.monotonic()
            await _CLOCK.sleep(_WINDOW)
            minutes = (_CLOCK.monotonic() - before[3]) / 60
            ours.append((process_time() - before[0]) / minutes)
            servers.append((_server_seconds(pids) - before[1]) / minutes)
            said.append((stand.tape.count - before[2]) / (minutes * 60))
    loops = f"Scheduler, elector and listener with {stand.timers:,} timers, none due"
    found = [
        _row("Idle, processor time of Rota", "CPU seconds per minute", ours[1:], f"{loops}."),
        _row(
            "Idle, statements",
            "per second",
            said[1:],
            f"{loops}: every round trip of the pool, among them BEGIN and COMMIT.",
        ),
    ]
    if any(servers):
        found.insert(
            1,
            _row(
                "Idle, processor time of PostgreSQL",
                "CPU seconds per minute",
                servers[1:],
                "The backends that serve these loops, in hundredths of a second as Linux counts.",
            ),
        )
    return found


@asynccontextmanager
async def _idling(stand: Stand, holder: Member) -> AsyncGenerator[None]:
    async with Listener(stand.db.dsn, [CHANNEL]) as news:
        scheduler = Scheduler(stand.db, holder.elector, news=news.subscribe(CHANNEL))
        async with renewing(holder, scheduler):
            yield


def _server_seconds(pids: list[int]) -> float:
    """Processor time that these processes have had; 0 where the system does not tell."""
    total = 0
    for pid in pids:
        try:
            told = (_PROCESSES / str(pid) / "stat").read_text("ascii")
        except OSError:
            continue
        # After the name, which may hold anything, in its parentheses.
        fields = told.rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS


def _row(title: str, unit: str, runs: list[float], note: str) -> Row:
    return Row(title, unit, Figure("Rota", tuple(runs)), note=note, better="less")
