"""Claims from outside: one tenant's, one lane's, never ahead of time."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.db.queue_support import fire, make_schedule, queue_rows, take

from rota.api.polls import Polls
from rota.clock import SystemClock
from rota.config import Config
from rota.db import Listener
from rota.db.locks import QUEUE
from rota.events import Bus, Recorder
from rota.queue.external_claims import claimed, next_in, pull
from rota.runtime.pulling import start_pull
from rota.workers.events import FiringRescued

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from rota.db import Database
    from rota.queue.external_claims import Pulled
    from rota.schedules.schedule import Schedule

MINUTE = timedelta(minutes=1)
SECOND = timedelta(seconds=1)
LANE = "images"
ME = uuid4()


@pytest.fixture
async def schedule(db: Database) -> Schedule:
    return await make_schedule(db, target_url=None, job_type="x", queue=LANE)


async def pulled(db: Database, tenant_id: UUID, **more: Any) -> list[Pulled]:
    async with db.transaction() as tx:
        usual: dict[str, Any] = {"limit": 10, "visibility": MINUTE}
        return await pull(tx, tenant_id, LANE, ME, **(usual | more))


async def test_a_pulled_row_is_as_claimed_as_any(db: Database, schedule: Schedule) -> None:
    id_ = await fire(db, schedule, lane=LANE, available_in=-SECOND)
    (one,) = await pulled(db, schedule.tenant_id, name="alice")
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["worker"], row["attempt"]) == ("running", ME, 1)
    assert (row["pulled_by"], row["pulled_at"]) == ("alice", one.at)
    assert row["began_at"] == one.claim.began_at
    assert abs(row["claimed_until"] - one.at - MINUTE) < MINUTE / 4
    async with db.transaction() as tx:
        held = await claimed(tx, id_)
    assert held is not None
    assert (held.started_at, held.by, held.worker) == (one.at, "alice", ME)


async def test_only_what_is_due_and_free_of_this_tenant_and_lane_is_pulled(
    db: Database, schedule: Schedule
) -> None:
    other = await make_schedule(db, target_url=None, job_type="x", queue=LANE)
    now = (await db.run(_now)) - MINUTE
    due = await fire(db, schedule, now, lane=LANE)
    retry = await fire(db, schedule, now + SECOND, lane=LANE, state="retrying", attempt=1)
    await fire(db, schedule, now + 2 * SECOND, lane=LANE, state="blocked")
    await fire(db, schedule, now + 3 * SECOND, lane="other")
    await fire(db, schedule, now + 4 * SECOND, lane=LANE, available_in=MINUTE)
    await fire(db, other, now, lane=LANE)
    found = await pulled(db, schedule.tenant_id)
    assert [(each.claim.id, each.claim.attempt) for each in found] == [(due, 1), (retry, 2)]
    assert await pulled(db, schedule.tenant_id) == []
    assert await pulled(db, uuid4()) == []


async def test_by_priority_then_the_oldest_up_to_the_limit(
    db: Database, schedule: Schedule
) -> None:
    now = await db.run(_now) - MINUTE
    made = [
        await fire(db, schedule, now + at * SECOND, lane=LANE, priority=priority, available_in=age)
        for at, (priority, age) in enumerate(
            [(0, -9 * SECOND), (9, -SECOND), (5, -SECOND), (9, -2 * SECOND), (5, -3 * SECOND)]
        )
    ]
    order = [made[at] for at in (3, 1, 4, 2, 0)]
    first = await pulled(db, schedule.tenant_id, limit=3)
    rest = await pulled(db, schedule.tenant_id, limit=3)
    assert [each.claim.id for each in first + rest] == order


async def test_what_another_transaction_is_about_to_take_is_passed_over(
    db: Database, schedule: Schedule
) -> None:
    now = await db.run(_now) - MINUTE
    ids = [await fire(db, schedule, now + at * SECOND, lane=LANE) for at in range(2)]
    async with db.transaction() as tx:
        first = await pull(tx, schedule.tenant_id, LANE, uuid4(), limit=1, visibility=MINUTE)
        second = await pulled(db, schedule.tenant_id)
    assert {each.claim.id for each in (*first, *second)} == set(ids)
    assert len(second) == 1


async def test_the_cap_counts_what_rotas_own_workers_hold(db: Database, schedule: Schedule) -> None:
    """Over all workers of the tenant."""
    now = await db.run(_now) - MINUTE
    for at in range(4):
        await fire(db, schedule, now + at * SECOND, lane=LANE)
        await fire(db, schedule, now + (at + 10) * SECOND, lane="http")
    async with db.transaction() as tx:
        await tx.execute("UPDATE tenants SET max_concurrency = 3")
    assert len(await take(db, uuid4(), limit=2)) == 2
    assert len(await pulled(db, schedule.tenant_id)) == 1
    assert await pulled(db, schedule.tenant_id) == []
    assert await take(db, uuid4(), limit=2) == []


async def test_it_is_known_when_the_next_is_due(db: Database, schedule: Schedule) -> None:
    async with db.transaction() as tx:
        assert await next_in(tx, schedule.tenant_id, LANE) is None
    now = await db.run(_now)
    await fire(db, schedule, now, lane=LANE, available_in=MINUTE, priority=9)
    await fire(db, schedule, now + SECOND, lane=LANE, available_in=MINUTE / 2, priority=1)
    async with db.transaction() as tx:
        later = await next_in(tx, schedule.tenant_id, LANE)
    assert later is not None
    assert timedelta() < later <= MINUTE / 2


async def test_without_a_worker_of_rotas_own_the_api_rescues_and_passes_news_on(
    db: Database, schedule: Schedule, tmp_path: Path
) -> None:
    await fire(db, schedule, lane=LANE, available_in=-SECOND)
    await pulled(db, schedule.tenant_id, visibility=timedelta())
    bus, polls, clock = Bus(), Polls(), SystemClock()
    recorder = Recorder(bus)
    config = Config(data_dir=tmp_path, roles=("api",))
    async with Listener(db.dsn, [QUEUE]) as news, AsyncExitStack() as stack:
        start_pull(stack, db, polls, config, news=news, bus=bus, clock=clock)
        with polls.waiting(schedule.tenant_id, LANE) as bell:
            await bell.wait()  # the connection stands: there may have been news before
            bell.clear()
            async with db.transaction() as tx:
                await tx.execute("SELECT pg_notify($1, $2)", QUEUE, LANE)
            await bell.wait()
        rescued = await recorder.wait_for(FiringRescued)
    assert (rescued.worker, rescued.state) == (ME, "waiting")


async def _now(tx: Any) -> Any:
    return await tx.fetch_value("SELECT clock_timestamp()")
