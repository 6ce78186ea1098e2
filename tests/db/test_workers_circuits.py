"""Workers and a host that fails: the circuit opens, waits, is tried, and closes; all for real."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.db.hosts_support import (
    MILLISECOND,
    calling,
    fire_many,
    knows_open,
    require_calls,
    target,
    until,
    working,
)
from tests.db.queue_support import SECOND, attempt_rows, database_now, fire, queue_rows
from tests.unit.workers.made import held as made_held

from rota.queue import circuits
from rota.queue.circuits import Called, Rules
from rota.workers.events import FiringFinished
from rota.workers.hosts.circuit_cache import Probe
from rota.workers.hosts.events import CircuitClosed, CircuitOpened, FiringPostponed
from rota.workers.hosts.limits import Limits

if TYPE_CHECKING:
    from rota.db import Database


async def test_a_host_that_fails_is_left_alone_and_tried_by_one_until_it_answers(
    db: Database,
) -> None:
    """HX5: opens after so many failures, no attempt is used meanwhile, one probe closes it, and the
    backlog flows; hosts that answer notice nothing."""
    async with target() as sick, target(well=True) as healthy, working(db) as (_, recorder):
        failing = await calling(db, sick, max_attempts=3)
        fine = await calling(db, healthy)
        await fire_many(db, failing, 5)
        opened = await recorder.wait_for(CircuitOpened)
        assert (opened.host, opened.failures) == (sick.host, 5)
        calls = 5
        await require_calls(db, sick, calls, until_at=opened.until)
        # Twenty more are turned away; the healthy host goes on.
        backlog = await fire_many(db, failing, 20, available_in=10 * MILLISECOND)
        await fire_many(db, fine, 10)
        await until(lambda: len(recorder.all(FiringPostponed)) >= 20)
        await until(lambda: len(recorder.all(FiringFinished)) == 10)
        assert healthy.arrived == 10
        await require_calls(db, sick, calls, until_at=opened.until)
        rows = await queue_rows(db)
        assert {rows[id_]["attempt"] for id_ in backlog if rows[id_]["state"] == "waiting"} == {0}
        # One probe fails: open again, for longer.
        again = await recorder.wait_for(CircuitOpened, where=lambda event: event != opened)
        await require_calls(db, sick, calls + 1, until_at=again.until)
        assert again.until - opened.until > 2 * SECOND
        sick.well = True
        closed = await recorder.wait_for(CircuitClosed)
        assert closed.host == sick.host
        await until(lambda: len(recorder.all(FiringFinished)) == 35)
    assert {event.status for event in recorder.all(FiringFinished)} == {"succeeded"}
    assert await queue_rows(db) == {}
    async with db.transaction() as tx:
        assert await circuits.read(tx) == {}
    # Every attempt that was recorded was a call, and every call an attempt.
    assert len(await attempt_rows(db)) == sick.arrived + healthy.arrived


async def test_three_workers_count_together_and_send_one_probe(db: Database) -> None:
    async with (
        target() as sick,
        working(db) as (first, one),
        working(db) as (second, two),
        working(db) as (third, three),
    ):
        workers, recorders = (first, second, third), (one, two, three)
        schedule = await calling(db, sick, max_attempts=30)
        await fire_many(db, schedule, 5)

        def openings() -> list[CircuitOpened]:
            return [event for each in recorders for event in each.all(CircuitOpened)]

        await until(openings)
        await require_calls(db, sick, 5, until_at=openings()[0].until)
        await until(lambda: all(knows_open(each, sick) for each in workers))
        await fire_many(db, schedule, 60)
        await until(lambda: len(openings()) >= 2)
        # Sixty-five wait for it at three workers: one of them was allowed to try.
        reopened = sorted(each.until for each in openings())[1]
        await require_calls(db, sick, 6, until_at=reopened)
        sick.well = True
        await until(lambda: any(each.all(CircuitClosed) for each in recorders))
        await until(lambda: sum(len(each.all(FiringFinished)) for each in recorders) == 65)
    assert sum(len(each.all(CircuitClosed)) for each in recorders) == 1
    # All that failed: those that opened it, and one probe each time it opened again.
    assert sick.arrived == 65 + 4 + len(openings())


async def test_a_worker_that_starts_while_a_circuit_is_open_leaves_the_host_alone(
    db: Database,
) -> None:
    async with target() as sick:
        schedule = await calling(db, sick)
        slow = Limits(circuit=Rules(failures=5, interval=30 * SECOND))
        async with working(db, limits=slow) as (_, recorder):
            await fire_many(db, schedule, 5)
            await recorder.wait_for(CircuitOpened)
        await fire_many(db, schedule, 10)
        async with working(db, limits=slow) as (worker, recorder):
            await until(lambda: len(recorder.all(FiringPostponed)) >= 10)
            await until(lambda: worker.held == 0)
            # Until somebody says that the host is well again.
            async with db.transaction() as tx:
                assert await circuits.reset(tx, sick.host)
            sick.well = True
            fresh = await fire(db, schedule, available_in=500 * MILLISECOND)
            await recorder.wait_for(FiringFinished, where=lambda event: event.firing_id == fresh)
    assert sick.arrived == 6


async def test_a_client_error_is_an_answer_and_opens_nothing(db: Database) -> None:
    async with target(code=404) as sick, working(db) as (_, recorder):
        await fire_many(db, await calling(db, sick), 12)
        await until(lambda: len(recorder.all(FiringFinished)) == 12)
        async with db.transaction() as tx:
            assert await circuits.read(tx) == {}
    assert recorder.all(CircuitOpened) == []
    assert sick.arrived == 12


async def test_a_host_that_asks_for_time_gets_it(db: Database) -> None:
    """429 and Retry-After: open for as long as it says, though the interval is shorter."""
    async with target(code=429, retry_after="7") as sick, working(db) as (_, recorder):
        await fire_many(db, await calling(db, sick), 5)
        opened = await recorder.wait_for(CircuitOpened)
        assert opened.until - await database_now(db) > 5 * SECOND


async def test_what_is_turned_away_until_its_retry_window_is_over_is_dead(db: Database) -> None:
    """RT5: nothing is postponed for ever."""
    slow = Limits(circuit=Rules(failures=5, interval=SECOND))
    async with target() as sick, working(db, limits=slow) as (_, recorder):
        failing = await calling(db, sick, max_attempts=1)
        await fire_many(db, failing, 5)
        await recorder.wait_for(CircuitOpened)
        short = await calling(db, sick, retry_window=SECOND, tenant_id=failing.tenant_id)
        waiting = await fire_many(db, short, 5)
        ends = {
            each.firing_id: each
            for each in [
                await recorder.wait_for(
                    FiringFinished, where=lambda event, id_=id_: event.firing_id == id_
                )
                for id_ in waiting
            ]
        }
    assert {end.status for end in ends.values()} == {"dead"}
    # One or two of them may have been the probe; the others were never sent.
    unsent = [end for end in ends.values() if end.reason and "circuit" in end.reason]
    assert len(unsent) >= 2
    assert all("retry window" in (end.reason or "") for end in unsent)


async def test_a_probe_that_is_let_go_of_lets_the_next_one_try(db: Database) -> None:
    """A granted probe whose claim is taken back must not keep others from trying for an hour."""
    async with target() as sick:
        slow = Limits(circuit=Rules(failures=5, interval=SECOND))
        # One attempt each: nothing is left that the worker itself would try the host with.
        schedule = await calling(db, sick, timeout_seconds=3600, max_attempts=1)
        async with working(db, limits=slow) as (worker, recorder):
            await fire_many(db, schedule, 5, available_in=MILLISECOND)
            await recorder.wait_for(CircuitOpened)
            known = worker._circuits
            async with db.transaction() as tx:
                await tx.execute("UPDATE circuits SET open_until = now()")
                called = Called(sick.host, schedule.tenant_id)
                asked = await circuits.ask_probe(tx, {called: 3600 * SECOND})
            assert asked[called].granted
            inflight = worker._inflight
            probe = made_held(host=sick.host, tenant_id=schedule.tenant_id)
            probe.probe = Probe(known, called, worker._shared.time)
            inflight.add(probe)
            inflight.remove(probe)
            await known.refresh()
            assert known.circuits[called].probe_until is None
