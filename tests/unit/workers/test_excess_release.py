"""What a worker holds and will not come to is for others."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, cast
from uuid import uuid4

from tests.unit.workers.made import SLOT, held

from rota.clock import ManualClock
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.workers.excess_release import PATIENCE, ExcessRelease
from rota.workers.inflight import Inflight
from rota.workers.prefetch import Prefetch
from rota.workers.settings import WorkerSettings
from rota.workers.shared import Shared

SECOND = timedelta(seconds=1)

if TYPE_CHECKING:
    from rota.db import Database


def holding(
    count: int, *, waited: timedelta
) -> tuple[ExcessRelease, Inflight, Prefetch, ManualClock]:
    clock = ManualClock(SLOT + count * SECOND + waited)
    inflight = Inflight(concurrency=2, prefetch=3)
    for n in range(count):
        each = held(SLOT + n * SECOND, id=uuid4(), host=None)
        inflight.add(each)
        inflight.line_up([each])
    prefetch = Prefetch(prefetch=3, lead=SECOND)
    shared = Shared(
        db=cast("Database", None),
        worker=uuid4(),
        settings=WorkerSettings(concurrency=2, prefetch=3, lead=SECOND),
        inflight=inflight,
        time=DatabaseClock(clock),
        clock=clock,
        bus=Bus(),
    )
    return ExcessRelease(shared, prefetch), inflight, prefetch, clock


def test_the_last_in_line_are_let_go_of_when_little_gets_done() -> None:
    excess, inflight, _, _ = holding(30, waited=2 * PATIENCE)
    gone = excess._let_go()
    assert len(gone) == 25
    assert min(each.available_at for each in gone) == SLOT + 5 * SECOND
    assert len(inflight) == 5
    begun = 0
    while (each := inflight.next_due()) is not None:
        begun += 1
        inflight.ended(each)
    assert begun == 5
    assert excess._let_go() == []


def test_who_gets_much_done_keeps_what_it_has() -> None:
    excess, inflight, prefetch, clock = holding(30, waited=2 * PATIENCE)
    for at in (0.1, 0.2):
        prefetch.record(10, clock.monotonic() + at)
    assert excess._let_go() == []
    assert len(inflight) == 30


def test_a_herd_has_its_moment() -> None:
    excess, inflight, _, _ = holding(30, waited=timedelta(seconds=-30))
    assert excess._let_go() == []
    assert len(inflight) == 30
