"""The one loop: passes, waits, failures."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from tests.deadlines import patience

from rota.clock import ManualClock
from rota.errors import DatabaseUnavailable
from rota.events import Bus, Recorder
from rota.service import Service, ServiceDelayed, ServiceFailed, ServiceRecovered

START = datetime(2026, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


class Work:
    """Passes that go as the list says, and well after that."""

    def __init__(self, *results: Exception | None) -> None:
        self.results = list(results)
        self.passes = 0

    async def run_once(self) -> None:
        self.passes += 1
        result = self.results.pop(0) if self.results else None
        if result is not None:
            raise result


async def test_it_passes_waits_and_passes_again() -> None:
    clock, work = ManualClock(START), Work()
    service = Service("work", work.run_once, wait=SECOND, bus=Bus(), clock=clock)
    service.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=2.5))
    assert work.passes == 3
    await service.stop()


async def test_a_database_that_is_away_delays_it_and_its_return_is_told() -> None:
    clock, bus = ManualClock(START), Bus()
    recorder = Recorder(bus)
    away = DatabaseUnavailable("no session")
    work = Work(away, away, None)
    service = Service("work", work.run_once, wait=SECOND, bus=bus, clock=clock)
    service.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=3))
    assert [event.failures for event in recorder.all(ServiceDelayed)] == [1, 2]
    assert [event.failures for event in recorder.all(ServiceRecovered)] == [2]
    assert work.passes > 3
    await service.stop()


async def test_a_fault_is_told_and_does_not_end_it() -> None:
    clock, bus = ManualClock(START), Bus()
    recorder = Recorder(bus)
    work = Work(KeyError("oops"))
    service = Service("work", work.run_once, wait=SECOND, bus=bus, clock=clock)
    service.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=2))
    assert [type(event.error) for event in recorder.all(ServiceFailed)] == [KeyError]
    assert work.passes >= 2
    await service.stop()


async def test_stopping_lets_a_pass_end_and_cuts_a_wait_short() -> None:
    clock = ManualClock(START)
    inside, go_on = asyncio.Event(), asyncio.Event()
    ended: list[bool] = []

    async def run_once() -> None:
        inside.set()
        await go_on.wait()
        ended.append(True)

    service = Service("work", run_once, wait=SECOND, bus=Bus(), clock=clock)
    service.start()
    await inside.wait()
    stopping = asyncio.create_task(service.stop())
    await clock.advance(timedelta())
    assert not stopping.done()
    go_on.set()
    await stopping
    assert ended == [True]


async def test_stopping_while_it_backs_off_does_not_wait_for_the_next_pass() -> None:
    clock = ManualClock(START)
    work = Work(*[DatabaseUnavailable("no session")] * 50)
    service = Service("work", work.run_once, wait=SECOND, bus=Bus(), clock=clock)
    service.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(milliseconds=1))
    async with asyncio.timeout(patience(5)):
        await service.stop()
