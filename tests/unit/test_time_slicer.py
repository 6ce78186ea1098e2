"""Long computations on the loop: in slices, tenants in turn, and never too many."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest

from rota.clock import ManualClock
from rota.time_slicer import MAX_WAITING, SLICE, TimeSlicer, TooManyAtOnce, run_at_once

if TYPE_CHECKING:
    from rota.time_slicer import Steps

START = datetime(2026, 1, 1, tzinfo=UTC)


class Ticking(ManualClock):
    """Every look at it takes half a slice: a computation has two steps in each."""

    def __init__(self) -> None:
        super().__init__(START)
        self._seconds = 0.0

    def monotonic(self) -> float:
        self._seconds += SLICE.total_seconds() / 2
        return self._seconds


def steps(name: str, count: int, done: list[str]) -> Steps[str]:
    for _ in range(count):
        done.append(name)
        yield
    return name


async def test_what_is_short_is_done_at_once() -> None:
    done: list[str] = []
    slicer = TimeSlicer(Ticking())
    assert await slicer.run(uuid4(), steps("a", 1, done)) == "a"


async def test_others_run_between_the_slices_of_a_long_one() -> None:
    slicer, done = TimeSlicer(Ticking()), list[str]()
    long = asyncio.create_task(slicer.run(uuid4(), steps("long", 50, done)))
    turns = 0
    while not long.done():
        await ManualClock(START).sleep(START - START)
        turns += 1
    assert turns >= 20
    assert await long == "long"


async def test_tenants_take_turns_whoever_came_first() -> None:
    slicer, done = TimeSlicer(Ticking()), list[str]()
    many, one = uuid4(), uuid4()
    first = [asyncio.create_task(slicer.run(many, steps("m", 20, done))) for _ in range(5)]
    await ManualClock(START).sleep(START - START)
    last = asyncio.create_task(slicer.run(one, steps("o", 20, done)))
    await last
    # The one has had as many slices as the five together, so most of these still wait.
    assert sum(each.done() for each in first) <= 2
    await asyncio.gather(*first)
    assert done.count("m") == 100


async def test_an_error_is_told_to_whoever_asked_and_to_nobody_else() -> None:
    def wrong() -> Steps[None]:
        for _ in range(20):
            yield
        raise LookupError("gone")

    slicer, done = TimeSlicer(Ticking()), list[str]()
    tenant = uuid4()
    bad = asyncio.create_task(slicer.run(tenant, wrong()))
    good = asyncio.create_task(slicer.run(tenant, steps("good", 20, done)))
    with pytest.raises(LookupError, match="gone"):
        await bad
    assert await good == "good"


async def test_whoever_hangs_up_is_computed_for_no_longer() -> None:
    slicer, done = TimeSlicer(Ticking()), list[str]()
    tenant = uuid4()
    gone = asyncio.create_task(slicer.run(tenant, steps("gone", 1_000, done)))
    stays = asyncio.create_task(slicer.run(tenant, steps("stays", 10, done)))
    await ManualClock(START).sleep(START - START)
    gone.cancel()
    assert await stays == "stays"
    assert done.count("gone") < 100


async def test_a_tenant_with_too_many_is_told_to_wait_and_others_are_not() -> None:
    slicer, done = TimeSlicer(Ticking()), list[str]()
    flood, quiet = uuid4(), UUID(int=7)
    waiting = [
        asyncio.create_task(slicer.run(flood, steps("f", 10, done))) for _ in range(MAX_WAITING)
    ]
    await ManualClock(START).sleep(START - START)
    with pytest.raises(TooManyAtOnce) as refused:
        await slicer.run(flood, steps("one more", 10, done))
    assert refused.value.retry_after == 1
    assert await slicer.run(quiet, steps("q", 10, done)) == "q"
    await asyncio.gather(*waiting)


def test_without_a_loop_it_runs_in_one_go() -> None:
    assert run_at_once(steps("a", 3, [])) == "a"
