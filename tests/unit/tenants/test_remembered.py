"""A short memory: asked once for many, for a second, and for longer while the database is away."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from rota.clock import ManualClock
from rota.errors import DatabaseUnavailable
from rota.tenants.secrets import remembered
from rota.tenants.secrets.remembered import Remembered

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Source:
    """Knows some values, and counts how often it is asked."""

    def __init__(self, **values: int) -> None:
        self.values = values
        self.asked: list[tuple[str, ...]] = []
        self.was_asked = asyncio.Event()
        self.is_away = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def read(self, keys: Sequence[str]) -> Mapping[str, int]:
        self.asked.append(tuple(keys))
        self.was_asked.set()
        await self.may_answer.wait()
        if self.is_away:
            raise DatabaseUnavailable("away")
        return {key: self.values[key] for key in keys if key in self.values}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(datetime(2026, 1, 1, tzinfo=UTC))


async def test_it_asks_once_in_a_second(clock: ManualClock) -> None:
    source = Source(a=1)
    memory = Remembered(source.read, clock=clock)
    assert await memory.of(["a", "b"]) == {"a": 1}
    assert await memory.of(["a", "b"]) == {"a": 1}
    assert source.asked == [("a", "b")]
    source.values["a"] = 2
    await clock.advance(timedelta(seconds=1))
    assert await memory.of(["a"]) == {"a": 2}


async def test_what_is_remembered_is_given_without_a_wait(clock: ManualClock) -> None:
    memory = Remembered(Source(a=1).read, clock=clock)
    await memory.of(["a"])
    step = memory.of(["a"]).__await__()
    with pytest.raises(StopIteration) as ended:
        next(iter(step))
    assert ended.value.value == {"a": 1}


async def test_a_herd_asks_once_and_those_who_come_meanwhile_once_more(clock: ManualClock) -> None:
    source = Source(a=1, b=2, c=3)
    source.may_answer.clear()
    memory = Remembered(source.read, clock=clock)
    first = [asyncio.create_task(memory.of([key])) for key in "ab" * 50]
    await source.was_asked.wait()
    late = [asyncio.create_task(memory.of([key])) for key in "bc" * 50]
    source.may_answer.set()
    assert (await asyncio.gather(*first))[:2] == [{"a": 1}, {"b": 2}]
    assert (await asyncio.gather(*late))[:2] == [{"b": 2}, {"c": 3}]
    assert len(source.asked) == 2
    assert set(source.asked[0]) == {"a", "b"}


async def test_one_who_leaves_takes_nobodys_answer_away(clock: ManualClock) -> None:
    source = Source(a=1)
    source.may_answer.clear()
    memory = Remembered(source.read, clock=clock)
    leaves, stays = (asyncio.create_task(memory.of(["a"])) for _ in range(2))
    await source.was_asked.wait()
    leaves.cancel()
    source.may_answer.set()
    assert await stays == {"a": 1}


async def test_while_the_database_is_away_what_was_known_holds_for_a_minute(
    clock: ManualClock,
) -> None:
    source = Source(a=1)
    memory = Remembered(source.read, clock=clock)
    await memory.of(["a"])
    source.is_away = True
    await clock.advance(timedelta(seconds=30))
    assert await memory.of(["a"]) == {"a": 1}
    with pytest.raises(DatabaseUnavailable):
        await memory.of(["b"])
    await clock.advance(timedelta(seconds=31))
    with pytest.raises(DatabaseUnavailable):
        await memory.of(["a"])


async def test_it_remembers_only_so_many(clock: ManualClock) -> None:
    source = Source(a=1, b=2, c=3)
    memory = Remembered(source.read, clock=clock, most=2)
    for key in "abc":
        await memory.of([key])
    await memory.of(["c"])
    await memory.of(["a"])
    assert source.asked == [("a",), ("b",), ("c",), ("a",)]


async def test_a_database_that_hangs_delays_nobody_who_has_something_to_go_by(
    clock: ManualClock,
) -> None:
    source = Source(a=1)
    memory = Remembered(source.read, clock=clock)
    await memory.of(["a"])
    source.may_answer.clear()
    await clock.advance(timedelta(seconds=30))
    async with asyncio.timeout(60):
        assert await memory.of(["a"]) == {"a": 1}
    # And the next does not wait at all: the answer is late already.
    await clock.advance(timedelta(seconds=1))
    async with asyncio.timeout(60):
        assert await memory.of(["a"]) == {"a": 1}
    source.may_answer.set()


async def test_who_has_nothing_to_go_by_waits_for_a_while_and_no_longer(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remembered, "READ_TIMEOUT", timedelta(milliseconds=10))
    source = Source(a=1)
    source.may_answer.clear()
    memory = Remembered(source.read, clock=clock)
    with pytest.raises(DatabaseUnavailable):
        await memory.of(["a"])


async def test_what_will_be_needed_is_known_at_the_instant(clock: ManualClock) -> None:
    """It was asked for ahead, and is kept fresh until then."""
    source = Source(a=1)
    memory = Remembered(source.read, clock=clock)
    memory.warm(["a"])
    await source.was_asked.wait()
    for value in range(2, 6):
        await clock.advance(timedelta(milliseconds=500))
        assert memory.known("a") is not None
        source.values["a"] = value
    await clock.advance(timedelta(seconds=1))
    assert memory.known("a") == 5


async def test_what_is_not_needed_any_more_is_not_asked_for(clock: ManualClock) -> None:
    source = Source(a=1)
    memory = Remembered(source.read, clock=clock)
    memory.warm(["a"])
    await source.was_asked.wait()
    for _ in range(20):
        await clock.advance(remembered.WARM_FOR / 10)
    asked = len(source.asked)
    await clock.advance(timedelta(minutes=1))
    assert len(source.asked) == asked > 2
