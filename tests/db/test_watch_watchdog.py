"""The watchdog: it looks at the tables, and needs no word from the loops that it watches."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.db.queue_support import fire, make_schedule
from tests.db.schedules import Office
from tests.db.watch_kit import an_hour_ago, end, make_channel, notice, rows, run, watch

from rota.clock import SystemClock
from rota.events import Bus
from rota.tenants import service as tenants
from rota.watch import facts_sql
from rota.watch.heard import Heard
from rota.watch.watchdog import Watchdog

if TYPE_CHECKING:
    from rota.db import Database

URL = "https://hooks.example.com/T0/SECRET"


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def _open(db: Database) -> list[tuple[str, str]]:
    found = [(row["kind"], row["subject"]) for row in await rows(db, "alerts")]
    closed = [row["closed_at"] for row in await rows(db, "alerts")]
    return [each for each, at in zip(found, closed, strict=True) if at is None]


async def _events(db: Database) -> list[str]:
    return [row["event"] for row in await rows(db, "notifications")]


async def test_a_slot_that_nobody_fired_is_noticed_without_any_scheduler(
    db: Database, office: Office
) -> None:
    """MO8: expected, but no execution record. The most important alert of all."""
    schedule = await office.create(name="nightly")
    await make_channel(db, office.tenant.id, URL)
    now = await office.now()
    await office.set_timer(schedule, now - timedelta(seconds=20))
    await watch(db)
    assert "overdue" not in [kind for kind, _ in await _open(db)], "within a restart's time"
    await office.set_timer(schedule, now - timedelta(hours=2))
    await watch(db)
    await notice(db)
    assert ("overdue", "sch_") in [(kind, about[:4]) for kind, about in await _open(db)]
    (alert,) = [row for row in await rows(db, "alerts") if row["kind"] == "overdue"]
    assert "has not been fired for 2h" in alert["detail"]
    assert alert["schedule_id"] == schedule.id
    assert await _events(db) == ["overdue"]
    await watch(db)
    await notice(db)
    assert await _events(db) == ["overdue"], "told again"
    await office.set_timer(schedule, now + timedelta(hours=1))
    await watch(db)
    assert await _open(db) == []
    assert await _events(db) == ["overdue", "recovered"]


async def test_a_slot_that_no_worker_takes_is_noticed(db: Database) -> None:
    """MO8: such as in a lane that nobody serves. What was enqueued for its turn is not late."""
    late = await make_schedule(db)
    task = await make_schedule(db)
    soon = await make_schedule(db)
    await fire(db, late, lane="images", available_in=-timedelta(minutes=3))
    await fire(db, task, triggered_by="api", available_in=-timedelta(minutes=3))
    await fire(db, soon, available_in=-timedelta(minutes=1))
    await watch(db)
    (alert,) = await rows(db, "alerts")
    assert (alert["kind"], alert["schedule_id"]) == ("overdue", late.id)
    assert "waited for a worker for 3m" in alert["detail"]
    await run(db, "DELETE FROM queue")
    await watch(db)
    assert await _open(db) == []


async def test_paused_schedules_are_not_overdue(db: Database, office: Office) -> None:
    schedule = await office.create(name="nightly")
    await office.pause(schedule)
    await office.set_timer(schedule, await an_hour_ago(db))
    await watch(db)
    assert "overdue" not in [kind for kind, _ in await _open(db)]


async def test_shards_that_stand_still_are_one_alert_of_the_installation(
    db: Database, office: Office
) -> None:
    """MO1, MO9, F2: at 30 s; told on channels of the operator that ask for it."""
    async with db.transaction() as tx:
        operator = await tenants.default_tenant(tx)
    await make_channel(db, operator.id, URL, events=["installation", "recovered"])
    await make_channel(db, operator.id, URL, name="usual")
    schedules = [await office.create(name=f"s{number}") for number in range(8)]
    now = await office.now()
    for each in schedules:
        await office.set_timer(each, now - timedelta(seconds=35))
    await watch(db)
    await notice(db)
    assert await _open(db) == [("stalled", "shards")]
    assert await _events(db) == ["installation"]
    for each in schedules:
        await office.set_timer(each, now + timedelta(hours=1))
    await watch(db)
    assert await _open(db) == []
    assert await _events(db) == ["installation", "recovered"]


async def test_open_circuits_and_a_deep_queue_are_noticed(db: Database) -> None:
    """HX5, MO7."""
    schedule = await make_schedule(db)
    await run(
        db,
        """INSERT INTO circuits (host, failures, opened_at, open_until)
           VALUES ('down.example', 20, now(), now() + interval '1 minute'),
                  ('weak.example', 3, NULL, NULL)""",
    )
    await run(
        db,
        """INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                              state, triggered_by, lane)
           SELECT gen_random_uuid(), $1, $2, 1, now(), now() - interval '5 seconds', 'waiting',
                  'api', 'http' FROM generate_series(1, 501)""",
        schedule.id,
        schedule.tenant_id,
    )
    await watch(db)
    assert sorted(await _open(db)) == [("circuit", "down.example"), ("deep", "queue")]
    await run(db, "DELETE FROM queue WHERE id IN (SELECT id FROM queue LIMIT 300)")
    await run(db, "DELETE FROM circuits")
    await watch(db)
    assert await _open(db) == [("deep", "queue")], "half-way is not well again"
    await run(db, "DELETE FROM queue")
    await watch(db)
    assert await _open(db) == []


async def test_a_tenant_whose_firings_fail_and_a_schedule_that_takes_long(db: Database) -> None:
    """MO4: above a tenth. MO6: above nine tenths of its timeout, for those who ask."""
    schedule = await make_schedule(db)
    await make_channel(db, schedule.tenant_id, URL, events=["slow"])
    for _ in range(17):
        await end(db, schedule, "succeeded", ago=timedelta(minutes=30))
    for _ in range(3):
        await end(db, schedule)
    await end(db, schedule, "succeeded", took=timedelta(seconds=29))
    await notice(db)
    await watch(db)
    kinds = [kind for kind, _ in await _open(db)]
    assert sorted(kinds) == ["failing", "slow"], "and the dead one is over, by the success"


async def test_two_watchdogs_do_not_watch_at_once(db: Database) -> None:
    async with db.transaction() as tx:
        assert await tx.fetch_value(facts_sql.TRY_LOCK)
        assert await watch(db) is False
    assert await watch(db) is True


async def test_leases_that_change_hands_too_often(db: Database) -> None:
    """MO5: more than five times within an hour."""
    watchdog = Watchdog(db, Bus(), SystemClock())
    await watchdog.run_once()
    await run(db, "UPDATE leases SET fence = fence + 6 WHERE shard = 3")
    watchdog._times.seldom = float("-inf")  # pyright: ignore[reportPrivateUsage] - a minute later
    await watchdog.run_once()
    assert ("flapping", "leases") in await _open(db)


async def test_what_a_process_says_of_itself_ends_with_it(db: Database) -> None:
    """MF7, F13; F7: what came and went while there was no database is told afterwards."""
    async with db.transaction() as tx:
        operator = await tenants.default_tenant(tx)
    await make_channel(db, operator.id, URL, events=["installation", "recovered"])
    heard = Heard(db, uuid4(), Bus())
    heard.trouble("behind", "90 s behind")
    heard.trouble("away", "no answer in 3 s")
    heard.over("away")
    assert await heard.run_once() == 3
    assert await heard.run_once() == 0
    assert [kind for kind, _ in await _open(db)] == ["behind"]
    assert await _events(db) == ["installation", "installation", "recovered"]
    await watch(db)
    assert await _open(db) == [], "there is no such node any more"
