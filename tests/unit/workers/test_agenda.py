"""Starting at the instant, and not before."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.unit.workers.made import held

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.workers.agenda import Agenda

if TYPE_CHECKING:
    from rota.workers.held import Held

MILLISECOND = timedelta(milliseconds=1)


class Due:
    """Remembers what was handed over, and when by the database's clock."""

    def __init__(self) -> None:
        self.time = DatabaseClock(SystemClock())
        self.batches: list[list[Held]] = []
        self.early = False
        self.rung = asyncio.Event()

    def __call__(self, batch: list[Held]) -> None:
        now = self.time.now()
        self.early |= any(each.claim.available_at > now for each in batch)
        self.batches.append(batch)
        self.rung.set()


async def test_one_instant_is_one_wake_up_and_never_early() -> None:
    due = Due()
    agenda = Agenda(due.time, due)
    first = due.time.now() + 400 * MILLISECOND
    second = first + 25 * MILLISECOND
    claims = [held(first, id=None) for _ in range(500)] + [held(second) for _ in range(3)]
    for each in claims:
        agenda.add(each)
    assert len(agenda) == 503
    assert len(agenda._entries) == 2
    async with asyncio.timeout(5):
        while len(due.batches) < 2:
            due.rung.clear()
            await due.rung.wait()
    assert [len(batch) for batch in due.batches] == [500, 3]
    assert not due.early
    assert len(agenda) == 0


async def test_what_is_due_already_is_handed_over_at_once() -> None:
    due = Due()
    Agenda(due.time, due).add(held(due.time.now() - MILLISECOND))
    assert len(due.batches) == 1


async def test_what_was_removed_never_rings() -> None:
    due = Due()
    agenda = Agenda(due.time, due)
    soon = due.time.now() + 20 * MILLISECOND
    stays, goes = held(soon), held(soon)
    alone = held(soon + MILLISECOND)
    for each in (stays, goes, alone):
        agenda.add(each)
    agenda.remove(goes)
    agenda.remove(alone)
    agenda.remove(alone)
    async with asyncio.timeout(5):
        await due.rung.wait()
    assert due.batches == [[stays]]
    assert agenda.clear() == []


async def test_a_clock_set_forward_rings_what_is_due_now() -> None:
    due = Due()
    clock = SystemClock()
    agenda = Agenda(due.time, due)
    agenda.add(held(due.time.now() + timedelta(hours=1)))
    now = clock.monotonic()
    due.time.note(clock.now() + timedelta(hours=2), asked=now, answered=now)
    agenda.rearm()
    async with asyncio.timeout(5):
        await due.rung.wait()
    assert not due.early
