"""Creating schedules, one and many."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import SHARDS, TASK, Office, heard

from rota.schedules import create
from rota.schedules.errors import DuplicateKey, InvalidSchedule, QuotaReached
from rota.schedules.schedule import NewSchedule, shard_of
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from rota.db import Database, Tx

_COUNTS = "SELECT (SELECT count(*) FROM schedules), (SELECT count(*) FROM timers)"


async def counts(db: Database) -> tuple[int, int]:
    async with db.transaction() as tx:
        row = await tx.fetch_row(_COUNTS)
    assert row is not None
    return row[0], row[1]


async def test_a_schedule_is_stored_with_its_timer(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(tags=["a", "b"], description="d")
    timer = await office.timer(made)
    assert timer is not None
    assert made.status == "active"
    assert made.version == timer["version"] == 1
    assert made.shard == timer["shard"] == shard_of(made.id, SHARDS)
    assert timer["scheduled_for"] == made.anchor_at + timedelta(hours=1) == timer["due_at"]
    assert (await office.standing(made)).schedule == made
    async with db.transaction() as tx:
        row = await tx.fetch_row("SELECT tags, job_type, name FROM schedules")
    assert row is not None
    assert list(row) == [["a", "b"], "images.resize", "resize"]


async def test_jitter_makes_it_due_a_little_later_and_always_as_much(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(jitter_seconds=60)
    timer = await office.timer(made)
    assert timer is not None
    spread = timer["due_at"] - timer["scheduled_for"]
    assert timedelta(0) <= spread <= timedelta(seconds=60)
    edited = await office.update(made, priority=1)
    timer = await office.timer(edited.schedule)
    assert timer is not None
    assert timer["due_at"] - timer["scheduled_for"] == spread


async def test_a_schedule_that_is_not_enabled_begins_paused(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(enabled=False)
    timer = await office.timer(made)
    assert timer is not None
    assert (made.status, timer["parked"]) == ("paused", True)
    assert (await office.standing(made)).next_fire_at is None


async def test_a_key_that_is_in_use_is_refused_and_changes_nothing(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(key="nightly")
    with pytest.raises(DuplicateKey, match="nightly"):
        await office.create(key="nightly", name="other")
    assert await counts(db) == (1, 1)
    assert (await office.standing(made)).schedule == made


async def test_the_tenants_minimum_interval_is_kept(db: Database) -> None:
    office = await Office.open(db, min_interval=timedelta(minutes=5))
    with pytest.raises(InvalidSchedule, match="at least 5 minutes between firings"):
        await office.create(interval="4m")
    await office.create(interval="5m")


async def test_a_tenant_may_not_have_more_schedules_than_its_quota(db: Database) -> None:
    office = await Office.open(db)
    office = replace(office, tenant=replace(office.tenant, max_schedules=2))
    results = await asyncio.gather(
        *(office.create(key=str(n)) for n in range(5)), return_exceptions=True
    )
    assert sum(isinstance(each, QuotaReached) for each in results) == 3
    assert await counts(db) == (2, 2)


@pytest.mark.parametrize(("interval", "wakes"), [("2s", True), ("1h", False)])
async def test_what_is_due_soon_wakes_the_holder_of_its_shard(
    db: Database, interval: str, wakes: bool
) -> None:
    office = await Office.open(db)
    async with heard(db, "rota_timers") as payloads:
        made = await office.create(interval=interval)
    assert (str(made.shard) in payloads) == wakes


async def test_many_that_are_due_soon_wake_each_shard_once(db: Database) -> None:
    office = await Office.open(db)
    async with heard(db, "rota_timers") as payloads:
        await create.create_many(db, office.tenant, items(500, interval="3s"), shards=SHARDS)
    assert len(payloads) <= SHARDS


def items(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{**TASK, "name": f"n{n}", **more} for n in range(count)]


async def test_ten_thousand_are_created_at_once(db: Database) -> None:
    office = await Office.open(db)
    saved = await create.create_many(db, office.tenant, items(10_000), shards=SHARDS)
    assert [each.schedule.name for each in saved] == [f"n{n}" for n in range(10_000)]
    assert await counts(db) == (10_000, 10_000)
    # Spread over all shards, none with much more than its share.
    async with db.transaction() as tx:
        rows = await tx.fetch("SELECT count(*) FROM timers GROUP BY shard")
    assert len(rows) == SHARDS
    assert max(row[0] for row in rows) < 250


async def test_one_bad_item_of_ten_thousand_changes_nothing(db: Database) -> None:
    office = await Office.open(db)
    many = items(10_000)
    many[7_777] = {**many[7_777], "interval": "never", "priority": 99}
    with pytest.raises(InvalidSchedule) as caught:
        await create.create_many(db, office.tenant, many, shards=SHARDS)
    assert {each.field for each in caught.value.problems} == {
        "items[7777].interval",
        "items[7777].priority",
    }
    assert await counts(db) == (0, 0)


async def test_one_key_in_use_among_many_changes_nothing(db: Database) -> None:
    office = await Office.open(db)
    await office.create(name="n50")
    with pytest.raises(DuplicateKey) as caught:
        await create.create_many(db, office.tenant, items(100), shards=SHARDS)
    assert caught.value.keys == ("n50::every:3600000",)
    assert await counts(db) == (1, 1)


async def test_twins_among_many_are_refused(db: Database) -> None:
    office = await Office.open(db)
    with pytest.raises(DuplicateKey, match="twin"):
        await create.create_many(db, office.tenant, items(2, key="twin"), shards=SHARDS)
    assert await counts(db) == (0, 0)


async def test_more_than_ten_thousand_are_refused(db: Database) -> None:
    office = await Office.open(db)
    with pytest.raises(InvalidSchedule, match="at most 10000, got 10001"):
        await create.create_many(db, office.tenant, items(10_001), shards=SHARDS)


async def test_partly_good_items_are_made_as_far_as_they_are_good(db: Database) -> None:
    office = await Office.open(db)
    await office.create(name="n1")
    many = items(4)
    many[2] = {**many[2], "interval": "never"}
    many.append(many[0])
    batch = await create.parse_many(db, office.tenant, many, slicer=TimeSlicer())
    async with db.transaction() as tx:
        results = await create.store_each(tx, office.tenant, batch, shards=SHARDS)
    kinds = [type(each) for each in results]
    assert kinds == [NewSchedule, DuplicateKey, InvalidSchedule, NewSchedule, DuplicateKey]
    assert await counts(db) == (3, 3)


async def test_none_at_all_is_nothing_to_do(db: Database) -> None:
    office = await Office.open(db)
    assert await create.create_many(db, office.tenant, [], shards=SHARDS) == []


async def test_a_payload_of_any_json_comes_back_as_it_was(db: Database) -> None:
    office = await Office.open(db)
    payload: dict[str, Any] = {"a": [1, 2.5, None, True, "ü \\u0000 \" '"], "b": {"c": {}}}
    made = await office.create(payload=payload)
    assert (await office.standing(made)).schedule.definition.payload == payload


async def test_what_fails_in_the_same_transaction_takes_the_schedule_along(db: Database) -> None:
    office = await Office.open(db)

    async def create_and_fail(tx: Tx) -> None:
        await create.create(tx, office.tenant, TASK, shards=SHARDS)
        raise RuntimeError("the caller failed")

    with pytest.raises(RuntimeError, match="the caller failed"):
        await db.run(create_and_fail)
    assert await counts(db) == (0, 0)
