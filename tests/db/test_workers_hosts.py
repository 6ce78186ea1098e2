"""Workers and hosts that are slow, or want to be called less often; all of it for real."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString

from tests.db.hosts_support import MILLISECOND, calling, fire_many, target, until, working
from tests.db.queue_support import SECOND, attempt_rows, queue_rows
from tests.deadlines import Strain

from rota.queue.circuits import Rules
from rota.workers.events import FiringFinished, FiringStarted
from rota.workers.hosts.events import FiringPostponed
from rota.workers.hosts.limits import Limits
from rota.workers.settings import WorkerSettings

if TYPE_CHECKING:
    from rota.db import Database


async def test_no_host_is_called_more_often_than_its_rate_whoever_calls(db: Database) -> None:
    """S18, F5: twenty tenants and three workers aim at one host at the same instant."""
    rate, count = 20, 80
    limits = Limits(rate=rate, circuit=Rules())
    async with target(well=True) as sick, target(well=True) as other:
        for n in range(20):
            schedule = await calling(db, sick)
            await fire_many(db, schedule, count // 20, available_in=500 * MILLISECOND)
            if n == 0:
                await fire_many(db, await calling(db, other), 5)
        async with (
            working(db, limits=limits) as (_, one),
            working(db, limits=limits) as (_, two),
            working(db, limits=limits) as (_, three),
        ):
            strain, every = Strain(), (one, two, three)
            await until(lambda: sum(len(each.all(FiringFinished)) for each in every) == count + 5)
            postponed = [event for each in every for event in each.all(FiringPostponed)]
            strained = strain.seconds
    assert sick.arrived == count
    # In any stretch of time no more than the rate allows, and one; a worker that had to wait for a
    # core sends what has become due at once.
    times = sorted(sick.times)
    for first in range(count):
        for last in range(first + 1, count):
            stretch = times[last] - times[first] + 0.05 + strained
            assert last - first <= stretch * rate + 1
    assert times[-1] - times[0] < 2.5 * count / rate + strained
    assert {event.reason for event in postponed} <= {"rate"}
    assert {row["attempt"] for row in await attempt_rows(db)} == {1}


_THOUSAND: LiteralString = """
    WITH t AS (
        INSERT INTO tenants (id, name)
        SELECT gen_random_uuid(), 'tenant ' || n FROM generate_series(1, 1000) AS n
     RETURNING id
    ), s AS (
        INSERT INTO schedules (id, tenant_id, key, name, status, version, shard, anchor_at,
                               definition, created_at, updated_at)
        SELECT gen_random_uuid(), t.id, 'k', 'k', 'active', 1, 0, m.anchor_at, m.definition,
               m.created_at, m.updated_at
          FROM t, schedules m
         WHERE m.id = $1
     RETURNING id, tenant_id
    )
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane, host)
    SELECT gen_random_uuid(), s.id, s.tenant_id, 1, now(), now() + interval '1 second', 'waiting',
           'schedule', 'http', $2
      FROM s
"""


async def test_a_thousand_tenants_are_no_weapon(db: Database) -> None:
    """S18: all of them aim at one host at the same instant; it sees its rate, and loses nothing."""
    limits = Limits(rate=200)
    async with target(well=True) as sick:
        model = await calling(db, sick)
        async with db.transaction() as tx:
            await tx.execute(_THOUSAND, model.id, sick.host)
        async with working(db, limits=limits) as _, working(db, limits=limits) as _:
            strain = Strain()
            await until(lambda: sick.arrived >= 1000, seconds=40)
            strained = strain.seconds
    times = sorted(sick.times)
    assert len(times) == 1000
    busiest = max(sum(1 for each in times if at <= each < at + 1) for at in times[::10])
    # It is measured where they arrive.
    assert busiest <= (1.1 + strained) * limits.rate, busiest


async def test_a_database_that_goes_away_loses_no_claim_that_waits_for_its_host(
    db: Database,
) -> None:
    """F9: with some asking for a place, some on their way back, and a circuit to be counted."""
    limits = Limits(rate=20, circuit=Rules(failures=3, interval=SECOND))
    async with target(well=True) as fine, target() as sick:
        ids = await fire_many(db, await calling(db, fine), 60)
        ids |= await fire_many(db, await calling(db, sick, max_attempts=9), 5)
        async with working(db, limits=limits) as (_, recorder):
            for number in range(3):
                await until(lambda least=15 * number: fine.arrived > least)
                async with db.transaction() as tx:
                    await tx.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
            sick.well = True
            await until(
                lambda: ids <= {event.firing_id for event in recorder.all(FiringFinished)},
                seconds=40,
            )
    assert {event.status for event in recorder.all(FiringFinished)} == {"succeeded"}
    assert await queue_rows(db) == {}


async def test_a_slow_host_has_its_hands_and_the_others_have_theirs(db: Database) -> None:
    """F8: no more at once than allowed, and what waits for it is not in the others' way."""
    limits = Limits(concurrency=3)
    settings = WorkerSettings(concurrency=10, prefetch=10, poll_interval=20 * MILLISECOND)
    async with target(well=True, wait=timedelta(hours=1)) as slow, target(well=True) as quick:
        await fire_many(db, await calling(db, slow), 30, available_in=-SECOND)
        async with working(db, limits=limits, settings=settings) as (worker, recorder):
            await until(lambda: slow.now == 3)
            quick_ids = await fire_many(db, await calling(db, quick), 10)
            await until(
                lambda: quick_ids <= {event.firing_id for event in recorder.all(FiringFinished)}
            )
            assert slow.most == 3
            postponed = recorder.all(FiringPostponed)
            started = {event.firing_id for event in recorder.all(FiringStarted)}
            await worker.stop(grace=timedelta())
    assert {event.reason for event in postponed} <= {"concurrency"}
    assert quick_ids <= started
    assert {row["attempt"] for row in (await queue_rows(db)).values()} <= {0, 1}


async def test_a_slow_host_is_not_in_the_way_of_its_own_tenant_either(db: Database) -> None:
    """F8, S5: its backlog would fill the worker; what it will not come to goes back for a while."""
    limits = Limits(concurrency=2)
    settings = WorkerSettings(concurrency=10, prefetch=10, poll_interval=20 * MILLISECOND)
    async with target(well=True, wait=timedelta(hours=1)) as slow, target(well=True) as quick:
        first = await calling(db, slow)
        second = await calling(db, quick, tenant_id=first.tenant_id)
        await fire_many(db, first, 40, available_in=-SECOND)
        async with working(db, limits=limits, settings=settings) as (worker, recorder):
            await until(lambda: slow.now == 2 and worker.held >= 20)
            ids = await fire_many(db, second, 5)
            await until(lambda: ids <= {event.firing_id for event in recorder.all(FiringFinished)})
            postponed = recorder.all(FiringPostponed)
            await worker.stop(grace=timedelta())
    assert {event.reason for event in postponed} == {"concurrency"}
    assert slow.most == 2
    waiting = [row for row in (await queue_rows(db)).values() if row["state"] == "waiting"]
    assert {row["attempt"] for row in waiting} == {0}
