"""What a worker holds and will not come to is for others."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from tests.unit.workers.made import SLOT, held

from rota.clock import ManualClock
from rota.db.server_clock import DatabaseClock
from rota.workers.appetite import Appetite
from rota.workers.holdings import Holdings
from rota.workers.surplus import PATIENCE, Surplus

SECOND = timedelta(seconds=1)

if TYPE_CHECKING:
    from rota.db import Database


def holding(count: int, *, waited: timedelta) -> tuple[Surplus, Holdings, Appetite, ManualClock]:
    clock = ManualClock(SLOT + count * SECOND + waited)
    holdings = Holdings(concurrency=2, prefetch=3)
    for n in range(count):
        each = held(SLOT + n * SECOND, id=uuid4(), host=None)
        holdings.add(each)
        holdings.line_up([each])
    appetite = Appetite(prefetch=3, lead=SECOND)
    surplus = Surplus(
        cast("Database", None),
        uuid4(),
        concurrency=2,
        holdings=holdings,
        appetite=appetite,
        rows=asyncio.Lock(),
        time=DatabaseClock(clock),
        clock=clock,
    )
    return surplus, holdings, appetite, clock


def test_the_last_in_line_are_let_go_of_when_little_gets_done() -> None:
    surplus, holdings, _, _ = holding(30, waited=2 * PATIENCE)
    gone = surplus._let_go()
    assert len(gone) == 25
    assert min(each.available_at for each in gone) == SLOT + 5 * SECOND
    assert len(holdings) == 5
    begun = 0
    while (each := holdings.next_due()) is not None:
        begun += 1
        holdings.ended(each)
    assert begun == 5
    assert surplus._let_go() == []


def test_who_gets_much_done_keeps_what_it_has() -> None:
    surplus, holdings, appetite, clock = holding(30, waited=2 * PATIENCE)
    for at in (0.1, 0.2):
        appetite.did(10, clock.monotonic() + at)
    assert surplus._let_go() == []
    assert len(holdings) == 30


def test_a_herd_has_its_moment() -> None:
    surplus, holdings, _, _ = holding(30, waited=timedelta(seconds=-30))
    assert surplus._let_go() == []
    assert len(holdings) == 30
