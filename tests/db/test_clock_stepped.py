"""A database whose clock goes forward or back is told of, by whoever goes by it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.firing_kit import fleet
from tests.db.queue_support import fire, make_schedule, some_worker
from tests.unit.workers.target import serving

from rota.clock import SystemClock
from rota.db.server_clock import ClockStepped
from rota.events import Bus, Recorder
from rota.firing import Scheduler
from rota.targets import OPEN
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import FiringFinished
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from rota.db import Database

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


class Moved(SystemClock):
    """A clock that somebody moves: to it, the database's seems to move the other way."""

    moved = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.moved


@pytest.mark.parametrize("step", [-HOUR, HOUR])
async def test_a_scheduler_tells_of_it_once(db: Database, step: timedelta) -> None:
    """TZ10, F4."""
    clock = Moved()
    async with fleet(db) as engine:
        bus = Bus()
        heard = Recorder(bus)
        scheduler = Scheduler(db, engine.member.elector, bus=bus, clock=clock)
        await scheduler.run_once()
        assert heard.all(ClockStepped) == []
        clock.moved = -step.total_seconds()
        await scheduler.run_once()
        await scheduler.run_once()
    (told,) = heard.all(ClockStepped)
    assert told.seen_by == "scheduler"
    assert abs(told.by - step) < 60 * SECOND


async def test_a_worker_tells_of_it(db: Database) -> None:
    """TZ10, F4."""
    clock, bus = Moved(), Bus()
    heard = Recorder(bus)
    settings = WorkerSettings(poll_interval=timedelta(milliseconds=50))
    async with HttpCaller(OPEN) as http, serving() as target:
        worker = Worker(
            db, id_=some_worker(), callers={"http": http}, settings=settings, bus=bus, clock=clock
        )
        async with worker:
            # Once it has claimed something, it has asked for the time.
            await fire(db, await make_schedule(db, target_url=f"{target.url}/ok"))
            await heard.wait_for(FiringFinished)
            clock.moved = HOUR.total_seconds()
            told = await heard.wait_for(ClockStepped)
    assert told.seen_by == "worker"
    assert abs(told.by + HOUR) < 60 * SECOND
