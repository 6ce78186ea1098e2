"""How long after its instant a firing starts, with scheduler and worker in one process."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from statistics import quantiles
from typing import TYPE_CHECKING

from bench.core.stand import Stand, member, renewing
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.db import Listener
from rota.firing import CHANNEL, Scheduler, Settings
from rota.schedules.definition import HTTP_LANE
from rota.workers.caller import Begin, Reply, always
from rota.workers.channels import CHANNELS
from rota.workers.delivery.request import request_of
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from bench.frame.measure import Session
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.delivery.request import Request

SECONDS = 20
#: How many start in a second, and the goal for the 99th percentile in ms.
RATES = ((200, 10.0), (1_000, 25.0))
MOST_RUNS = 3

_CLOCK = SystemClock()
_BEGIN_IN = timedelta(seconds=6)
_AHEAD = Settings().lead
_FAR = timedelta(days=1)
_PATIENCE = timedelta(seconds=60)
_MILLISECOND = timedelta(milliseconds=1)
_NOTE = (
    f"{SECONDS} seconds, evenly spaced, from timers among {{timers:,}} stored; scheduler and "
    "worker in one process, with their default settings. Every firing is another schedule's, whose "
    "definition has to be read first. Targets do nothing: the request is made "
    "and shown as for HTTP and answered on the spot. A start is the moment at which it would be "
    "sent, by the machine's clock, which is the server's too."
)


async def rows(session: Session, stand: Stand) -> list[Row]:
    """Median and 99th percentile at each rate."""
    found: list[Row] = []
    runs = min(session.rounds, MOST_RUNS)
    for rate, goal in RATES:
        middles: list[float] = []
        tails: list[float] = []
        for number in range(1, runs + 1):
            session.at(f"Lateness at {rate:,} per second", f"run {number} of {runs}")
            percentiles = quantiles(await _lateness(stand, rate), n=100)
            middles.append(percentiles[49])
            tails.append(percentiles[98])
        note = _NOTE.format(timers=stand.timers)
        found += [
            _row(f"Lateness at {rate:,} starts per second, p99", tails, note, Goal(goal)),
            _row(f"Lateness at {rate:,} starts per second, p50", middles),
        ]
        for row in found[-2:]:
            session.tell(row)
    return found


def _row(title: str, runs: list[float], note: str = "", goal: Goal | None = None) -> Row:
    return Row(title, "ms", Figure("Rota", tuple(runs)), goal=goal, note=note, better="less")


async def _lateness(stand: Stand, rate: int) -> list[float]:
    """Milliseconds from its slot to its start, of each firing."""
    count = rate * SECONDS
    target = _Target(count)
    # Once for the tidying and the pages to be read: what follows must not take until the first.
    await stand.arm(count, await stand.now() + _FAR)
    async with _serving(stand, target):
        first = await stand.now() + _BEGIN_IN
        await stand.set_due(count, first, step=timedelta(seconds=1) / rate, steps=count)
        assert await stand.now() < first - _AHEAD, "the timers were set too late to be in time"
        async with asyncio.timeout((_BEGIN_IN + _PATIENCE).total_seconds() + SECONDS):
            await target.all_started.wait()
    firings = len({firing_id for firing_id, _ in target.started})
    assert firings == len(target.started) == count, f"{firings} firings, {count} timers"
    late = [lateness / _MILLISECOND for _, lateness in target.started]
    assert min(late) >= 0, "a firing started before its instant"
    return late


@asynccontextmanager
async def _serving(stand: Stand, target: _Target) -> AsyncGenerator[None]:
    """Scheduler and worker as a server has them, for as long as the block lasts."""
    db = stand.db
    async with member(db) as holder, Listener(db.dsn, [CHANNEL, *CHANNELS]) as news:
        scheduler = Scheduler(db, holder.elector, news=news.subscribe(CHANNEL))
        callers = {HTTP_LANE: target}
        async with (
            Worker(db, id_=holder.node.id, callers=callers, listener=news),
            renewing(holder, scheduler),
        ):
            yield


class _Target:
    """A caller that sends nothing and notes when it would have."""

    def __init__(self, expected: int) -> None:
        self._expected = expected
        self.started: list[tuple[UUID, timedelta]] = []
        self.all_started = asyncio.Event()

    def prepare(self, claim: Claim, schedule: Schedule) -> _Call:
        return _Call(self, claim, request_of(claim, schedule))

    def start(self, claim: Claim) -> None:
        self.started.append((claim.id, _CLOCK.now() - claim.scheduled_for))
        if len(self.started) >= self._expected:
            self.all_started.set()


@dataclass(frozen=True, slots=True)
class _Call:
    target: _Target
    claim: Claim
    request: Request

    @property
    def shown(self) -> str:
        return self.request.shown

    async def send(self, begin: Begin = always) -> Reply:
        assert begin()
        self.target.start(self.claim)
        return Reply(code=200, headers=(("Content-Type", "text/plain"),), body=b"ok")
