"""Starting at the instant, and not before."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

from tests.deadlines import patience
from tests.unit.workers.made import held

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.workers.delay_queue import DelayQueue
from rota.workers.inflight import Inflight

if TYPE_CHECKING:
    from rota.workers.inflight import InflightClaim

MILLISECOND = timedelta(milliseconds=1)


class Bench:
    """A delay queue, and what has become ready: batch by batch, and whether any was early."""

    def __init__(self) -> None:
        self.time = DatabaseClock(SystemClock())
        self.inflight = Inflight(concurrency=1_000, prefetch=0)
        self.delay_queue = DelayQueue(self.time, self.inflight)
        self.early = False

    def add(self, *claims: InflightClaim) -> None:
        for each in claims:
            self.inflight.add(each)
            self.delay_queue.add(each)

    async def batch(self) -> list[InflightClaim]:
        """What the next wake-up makes ready."""
        wake = self.inflight.start_wake
        await asyncio.wait_for(wake.wait(), patience(5))
        wake.clear()
        now = self.time.now()
        batch: list[InflightClaim] = []
        while (each := self.inflight.next_due()) is not None:
            batch.append(each)
        self.early |= any(each.claim.available_at > now for each in batch)
        return batch


async def test_one_instant_is_one_wake_up_and_never_early() -> None:
    bench = Bench()
    first = bench.time.now() + 400 * MILLISECOND
    second = first + 25 * MILLISECOND
    bench.add(*(held(first, id=uuid4()) for _ in range(500)))
    bench.add(*(held(second, id=uuid4()) for _ in range(3)))
    assert len(bench.delay_queue) == 503
    assert len(bench.delay_queue._entries) == 2
    assert [len(await bench.batch()), len(await bench.batch())] == [500, 3]
    assert not bench.early
    assert len(bench.delay_queue) == 0


async def test_what_is_due_already_is_ready_at_once() -> None:
    bench = Bench()
    bench.add(held(bench.time.now() - MILLISECOND))
    assert len(await bench.batch()) == 1


async def test_what_was_removed_never_becomes_ready() -> None:
    bench = Bench()
    soon = bench.time.now() + 20 * MILLISECOND
    stays, goes = held(soon, id=uuid4()), held(soon, id=uuid4())
    alone = held(soon + MILLISECOND, id=uuid4())
    bench.add(stays, goes, alone)
    bench.delay_queue.remove(goes)
    bench.delay_queue.remove(alone)
    bench.delay_queue.remove(alone)
    assert await bench.batch() == [stays]
    assert bench.delay_queue.clear() == []


async def test_a_clock_set_forward_releases_what_is_due_now() -> None:
    bench = Bench()
    clock = SystemClock()
    bench.add(held(bench.time.now() + timedelta(hours=1)))
    now = clock.monotonic()
    bench.time.note(clock.now() + timedelta(hours=2), asked=now, answered=now)
    bench.delay_queue.rearm()
    assert len(await bench.batch()) == 1
    assert not bench.early
