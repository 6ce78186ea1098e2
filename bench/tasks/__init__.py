"""Tasks: enqueued, drained, and started at their instants, beside the queues that people use."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from bench.frame.discover import Benchmark
from bench.frame.results import Figure, Goal, Row
from bench.tasks import bare
from bench.tasks.contest import BATCHED, PEERS, PYTHON, ROTA, Place, places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.frame.measure import Session

PARTS = float(os.environ.get("BENCH_TASKS_SCALE", "1"))
"""Of the counts and seconds below: less, to see that all runs."""
SINGLES = 2_000
MANY = 50_000
DRAINED = 100_000
SECONDS = 15
RATES = ((200, 5.0), (1_000, None))
HERDS = ((10_000, None), (50_000, 400.0))
MOST_RUNS = 3

BARE = "bare SQL, one connection"
AHEAD_OF_BATCHED = 1.2
AHEAD_OF_PYTHON = 3.0

_METHOD = (
    (
        "PostgreSQL with Rota's own settings, commits durable, a database for each run; Redis "
        "without persistence. Every contestant is one worker process (Celery: one with two "
        "children) whose task notes when it is started and does nothing else. Each has the "
        "settings that its documentation gives for throughput: graphile-worker a local queue of "
        "500, batched completion and a poll of 100 ms, and once more its defaults; pgqueuer "
        "batches of 100; BullMQ 100 at once; Huey four threads; Celery prefork with two children; "
        "Procrastinate 50 at once and a poll of 100 ms; APScheduler 3 twenty threads. Rota has "
        "its defaults: 100 at once, of an `async def`."
    ),
    (
        "Drained is what was entered before the worker is started; the slow are given fewer tasks "
        "at the same rate. The time of all others ends with the start of the last task; Rota's "
        "when the last is recorded, with a history of each firing that none of the others keeps. "
        "Lateness is from a task's instant to its start."
    ),
    (
        "The bare SQL is the two statements of a Rota worker, claim and record, a thousand rows "
        "each, said again and again on one connection."
    ),
)


def run(session: Session) -> list[Row]:
    return asyncio.run(_run(session))


async def _run(session: Session) -> list[Row]:
    rows: list[Row] = []
    runs = min(session.rounds, MOST_RUNS)
    async with places() as place:
        contest = _Contest(session, place, runs)
        rows += await contest.rates("Enqueued one by one", "one", _scaled(SINGLES))
        rows += await contest.rates("Enqueued in bulk", "many", _scaled(MANY))
        rows += await contest.rates("Drained by one worker process", "drain", _scaled(DRAINED))
        for rate, goal in RATES:
            title = f"Lateness at {rate:,} starts per second"
            rows += await contest.lateness(title, rate * max(2, _scaled(SECONDS)), rate, goal)
        for count, goal in HERDS:
            title = f"Herd of {count:,} due at one instant"
            rows += await contest.lateness(title, _scaled(count), 0, goal)
    return rows


def _scaled(count: int) -> int:
    return max(1, int(count * PARTS))


class _Contest:
    """Lets all do the same, in turns, and makes rows of it."""

    def __init__(self, session: Session, place: Place, runs: int) -> None:
        self._session = session
        self._place = place
        self._runs = runs

    async def rates(self, title: str, work: str, count: int) -> list[Row]:
        """How many a second."""
        found: dict[str, list[float]] = {}
        cannot: dict[str, str] = {}
        for number in range(1, self._runs + 1):
            for peer in (ROTA, *PEERS):
                asked = min(count, peer.most)
                self._at(title, number, peer.name)
                said = await self._place.run(peer, work, asked)
                if isinstance(said, str):
                    cannot[peer.name] = said
                else:
                    found.setdefault(peer.name, []).append(asked / said["seconds"])
            if work == "drain":
                self._at(title, number, BARE)
                where = await self._place.fresh(ROTA)
                found.setdefault(BARE, []).append(count / await bare.drain(where, count))
        goals = self._goals(found) if work == "drain" else [None]
        rows = [
            self._row(
                title, found, unit="per second", note=f"{count:,} tasks.", cannot=cannot, goal=goal
            )
            for goal in goals
        ]
        return rows[:1] if len(goals) == 1 else [rows[0], *_only_goals(rows[1:])]

    async def lateness(self, title: str, count: int, rate: int, goal: float | None) -> list[Row]:
        """The 99th percentile, and the median."""
        tails: dict[str, list[float]] = {}
        middles: dict[str, list[float]] = {}
        cannot: dict[str, str] = {}
        for number in range(1, self._runs + 1):
            for peer in (ROTA, *PEERS):
                if peer.name in cannot:
                    continue
                if rate > peer.rate or (not rate and count > 60 * peer.rate):
                    cannot[peer.name] = "too slow for it"
                    continue
                self._at(title, number, peer.name)
                said = await self._place.run(peer, "late", count, rate)
                if isinstance(said, str):
                    cannot[peer.name] = said
                else:
                    tails.setdefault(peer.name, []).append(said["p99"])
                    middles.setdefault(peer.name, []).append(said["p50"])
        note = f"{count:,} tasks, entered before the first is due."
        wanted = None if goal is None else Goal(goal)
        return [
            self._row(f"{title}, p99", tails, unit="ms", note=note, cannot=cannot, goal=wanted),
            self._row(f"{title}, p50", middles, unit="ms"),
        ]

    def _at(self, title: str, number: int, name: str) -> None:
        self._session.at(title, f"run {number} of {self._runs} · {name}")

    def _goals(self, found: dict[str, list[float]]) -> Sequence[Goal | None]:
        goals: list[Goal | None] = []
        if BATCHED.name in found:
            goals.append(Goal(AHEAD_OF_BATCHED, BATCHED.name))
        rivals = [name for name in PYTHON if name in found]
        best = max(rivals, key=lambda name: max(found[name]), default=None)
        if best is not None:
            goals.append(Goal(AHEAD_OF_PYTHON, best))
        return goals or [None]

    def _row(
        self,
        title: str,
        found: dict[str, list[float]],
        *,
        unit: str,
        note: str = "",
        cannot: dict[str, str] | None = None,
        goal: Goal | None = None,
    ) -> Row:
        figures = {
            name: Figure(name, tuple(runs))
            for name, runs in found.items()
            if len(runs) == self._runs
        }
        absent = "; ".join(f"{name}: {why}" for name, why in (cannot or {}).items())
        ours = figures.pop(ROTA.name)
        row = Row(
            title,
            unit,
            ours,
            tuple(figures.values()),
            goal,
            f"{note} Not here: {absent}." if absent else note,
            better="less" if unit == "ms" else "more",
        )
        self._session.tell(row)
        return row


def _only_goals(rows: Sequence[Row]) -> list[Row]:
    """The same figures once more, beside the one peer that another goal names."""
    return [
        Row(
            f"{row.title}, beside the best in Python",
            row.unit,
            row.ours,
            tuple(peer for peer in row.peers if row.goal and peer.name == row.goal.peer),
            row.goal,
        )
        for row in rows
    ]


BENCHMARK = Benchmark(
    "Tasks",
    ("celery", "redis", "apscheduler", "procrastinate", "pgqueuer", "huey"),
    _METHOD,
    run,
)
