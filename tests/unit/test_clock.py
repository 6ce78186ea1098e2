"""The two clocks."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import pytest

from rota.clock import Clock, ManualClock, SystemClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


async def _start(*tasks: asyncio.Task[None]) -> None:
    """Let each task run up to its first wait."""
    await asyncio.wait(tasks, timeout=0)


def _sleeper(clock: ManualClock, seconds: float, woken: list[float]) -> asyncio.Task[None]:
    async def sleep() -> None:
        await clock.sleep(timedelta(seconds=seconds))
        woken.append(clock.monotonic())

    return asyncio.create_task(sleep())


async def test_the_system_clock_is_aware_and_in_utc_and_goes_on() -> None:
    clock: Clock = SystemClock()
    before_at, before = clock.now(), clock.monotonic()
    await clock.sleep(timedelta(milliseconds=2))
    assert clock.now().tzinfo is UTC
    assert clock.now() >= before_at
    assert clock.monotonic() > before


async def test_the_system_clock_does_not_wait_for_the_past() -> None:
    await SystemClock().sleep(-SECOND)


def test_a_manual_clock_stands_still(clock: ManualClock) -> None:
    assert clock.now() == clock.now() == START
    assert clock.monotonic() == 0


def test_a_manual_clock_starts_at_an_aware_instant_and_tells_utc() -> None:
    madrid = timezone(timedelta(hours=1))
    assert ManualClock(START.astimezone(madrid)).now().tzinfo is UTC
    with pytest.raises(ValueError, match="expected an aware start instant"):
        ManualClock(datetime(2026, 1, 1))  # noqa: DTZ001


async def test_advancing_moves_both_times(clock: ManualClock) -> None:
    await clock.advance(90 * SECOND)
    assert clock.now() == START + 90 * SECOND
    assert clock.monotonic() == 90


async def test_time_never_goes_back(clock: ManualClock) -> None:
    with pytest.raises(ValueError, match="expected a forward step"):
        await clock.advance(-SECOND)
    assert clock.now() == START


async def test_sleepers_wake_in_order_each_at_its_own_instant(clock: ManualClock) -> None:
    woken: list[float] = []
    tasks = [_sleeper(clock, seconds, woken) for seconds in (3, 1, 2, 1)]
    await _start(*tasks)
    await clock.advance(10 * SECOND)
    assert woken == [1, 1, 2, 3]
    assert clock.monotonic() == 10


async def test_sleepers_of_one_instant_wake_in_the_order_they_lay_down(clock: ManualClock) -> None:
    order: list[str] = []

    async def sleep(name: str) -> None:
        await clock.sleep(SECOND)
        order.append(name)

    tasks = [asyncio.create_task(sleep(name)) for name in "abc"]
    await _start(*tasks)
    await clock.advance(SECOND)
    assert order == ["a", "b", "c"]


async def test_a_sleeper_not_yet_due_sleeps_on(clock: ManualClock) -> None:
    woken: list[float] = []
    task = _sleeper(clock, 2, woken)
    await _start(task)
    await clock.advance(1.999 * SECOND)
    assert woken == []
    await clock.advance(0.001 * SECOND)
    assert woken == [2]


async def test_a_cancelled_sleeper_is_passed_over(clock: ManualClock) -> None:
    woken: list[float] = []
    cancelled, kept = _sleeper(clock, 1, woken), _sleeper(clock, 2, woken)
    await _start(cancelled, kept)
    cancelled.cancel()
    await clock.advance(5 * SECOND)
    assert cancelled.cancelled()
    assert woken == [2]


async def test_a_sleeper_that_sleeps_again_wakes_again_within_one_step(clock: ManualClock) -> None:
    ticks: list[float] = []

    async def tick() -> None:
        while True:
            await clock.sleep(SECOND)
            ticks.append(clock.monotonic())

    task = asyncio.create_task(tick())
    await _start(task)
    await clock.advance(3.5 * SECOND)
    assert ticks == [1, 2, 3]
    task.cancel()


async def test_no_interval_means_no_waiting(clock: ManualClock) -> None:
    await clock.sleep(timedelta())
    await clock.sleep(-SECOND)
    assert clock.now() == START
