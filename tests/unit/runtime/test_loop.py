"""The one loop: passes, waits, failures."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from rota.clock import ManualClock
from rota.errors import DatabaseUnavailable
from rota.events import Bus, Recorder
from rota.runtime.loop import Loop, LoopDelayed, LoopFailed, LoopRecovered, every

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
    loop = Loop("work", work.run_once, wait=every(SECOND, clock), bus=Bus(), clock=clock)
    loop.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=2.5))
    assert work.passes == 3
    await loop.stop()


async def test_a_database_that_is_away_delays_it_and_its_return_is_told() -> None:
    clock, bus = ManualClock(START), Bus()
    recorder = Recorder(bus)
    away = DatabaseUnavailable("no session")
    work = Work(away, away, None)
    loop = Loop("work", work.run_once, wait=every(SECOND, clock), bus=bus, clock=clock)
    loop.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=3))
    assert [event.failures for event in recorder.all(LoopDelayed)] == [1, 2]
    assert [event.failures for event in recorder.all(LoopRecovered)] == [2]
    assert work.passes > 3
    await loop.stop()


async def test_a_fault_is_told_and_does_not_end_it() -> None:
    clock, bus = ManualClock(START), Bus()
    recorder = Recorder(bus)
    work = Work(KeyError("oops"))
    loop = Loop("work", work.run_once, wait=every(SECOND, clock), bus=bus, clock=clock)
    loop.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(seconds=2))
    assert [type(event.error) for event in recorder.all(LoopFailed)] == [KeyError]
    assert work.passes >= 2
    await loop.stop()


async def test_stopping_lets_a_pass_end_and_cuts_a_wait_short() -> None:
    clock = ManualClock(START)
    inside, go_on = asyncio.Event(), asyncio.Event()
    ended: list[bool] = []

    async def run_once() -> None:
        inside.set()
        await go_on.wait()
        ended.append(True)

    loop = Loop("work", run_once, wait=every(SECOND, clock), bus=Bus(), clock=clock)
    loop.start()
    await inside.wait()
    stopping = asyncio.create_task(loop.stop())
    await clock.advance(timedelta())
    assert not stopping.done()
    go_on.set()
    await stopping
    assert ended == [True]


async def test_stopping_while_it_backs_off_does_not_wait_for_the_next_pass() -> None:
    clock = ManualClock(START)
    work = Work(*[DatabaseUnavailable("no session")] * 50)
    loop = Loop("work", work.run_once, wait=every(SECOND, clock), bus=Bus(), clock=clock)
    loop.start()
    await clock.advance(timedelta())
    await clock.advance(timedelta(milliseconds=1))
    async with asyncio.timeout(5):
        await loop.stop()
