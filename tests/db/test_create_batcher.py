"""Single creates that share a transaction: each gets its own answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from tests.db.schedules import SHARDS, Office
from tests.failures.wire import wire

from rota.db import Database, Tx
from rota.schedules.create import Saved
from rota.schedules.create_batcher import CreateBatcher
from rota.schedules.errors import DuplicateKey, InvalidSchedule, QuotaReached


def fields(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "interval": "1h", "job_type": "a.b"} | more


async def test_each_of_many_at_once_gets_its_own_answer(db: Database) -> None:
    office = await Office.open(db)
    batcher = CreateBatcher(db, shards=SHARDS)
    items = [fields(f"key-{number}") for number in range(40)]
    items[7] = fields("bad", interval="never")
    items[9] = fields("key-8")
    made = await asyncio.gather(
        *(batcher.create(office.tenant, item) for item in items), return_exceptions=True
    )
    assert isinstance(made[7], InvalidSchedule)
    assert isinstance(made[9], DuplicateKey) or isinstance(made[8], DuplicateKey)
    saved = [each for each in made if isinstance(each, Saved)]
    assert len(saved) == 38
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM schedules") == 38
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 38


async def test_a_quota_with_room_for_some_lets_some_in(db: Database) -> None:
    """All that there is room for, and no more."""
    office = await Office.open(db)
    tenant = replace(office.tenant, max_schedules=3)
    batcher = CreateBatcher(db, shards=SHARDS)
    made = await asyncio.gather(
        *(batcher.create(tenant, fields(f"key-{number}")) for number in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, Saved) for each in made) == 3
    assert sum(isinstance(each, QuotaReached) for each in made) == 5


async def test_whoever_goes_away_does_not_take_others_along(db: Database) -> None:
    office = await Office.open(db)
    batcher = CreateBatcher(db, shards=SHARDS)
    tasks = [
        asyncio.create_task(batcher.create(office.tenant, fields(f"key-{number}")))
        for number in range(10)
    ]
    await asyncio.wait(tasks[:1])
    tasks[-1].cancel()
    made = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, Saved) for each in made[:-1])


async def test_a_database_that_is_gone_is_told_to_all(db: Database) -> None:
    office = await Office.open(db)
    batcher = CreateBatcher(db, shards=SHARDS)
    await db.close()
    with pytest.raises(Exception, match=r"closed|away|ended"):
        await batcher.create(office.tenant, fields("key"))


async def test_next_to_others_a_transaction_begins_when_as_many_wait_as_are_written(
    db: Database,
) -> None:
    """One alone begins at once; then 1, 2, and no fourth transaction. The rest share the next."""
    office = await Office.open(db)
    batcher = CreateBatcher(db, shards=SHARDS)
    tasks: list[asyncio.Task[Saved]] = []

    async def waiting(more: int) -> int:
        """After so many more creates, how many transactions wait for the lock."""
        for _ in range(more):
            item = fields(f"key-{len(tasks)}", job_type=None, target_url="https://example.com/x")
            tasks.append(asyncio.create_task(batcher.create(office.tenant, item)))
        count = -1
        while count != (count := await _count_waiting(tx)):
            await tx.execute("SELECT pg_sleep(0.2), pg_stat_clear_snapshot()")
        return count

    async with db.transaction() as tx:
        await tx.execute("LOCK TABLE schedules IN ACCESS EXCLUSIVE MODE")
        assert [await waiting(more) for more in (1, 1, 1, 1, 30)] == [1, 2, 2, 3, 3]
    made = await asyncio.gather(*tasks)
    assert len({each.schedule.id for each in made}) == 34
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(DISTINCT xmin::text) FROM schedules") == 4


async def _count_waiting(tx: Tx) -> int:
    return await tx.fetch_value(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )


@pytest.mark.parametrize(("target", "trips"), [("target_url", 3), ("job_type", 4)])
async def test_a_transaction_of_many_creates_is_three_round_trips(
    dsn: str, target: str, trips: int
) -> None:
    """It begins, makes all of them with their timers and audit rows, and commits.

    One more looks for the queues of tasks that were named without one.
    """
    async with wire(dsn) as line, await Database.open(line.dsn, pool_size=1) as db:
        office = await Office.open(db)
        batcher = CreateBatcher(db, shards=SHARDS)
        goal = {"job_type": None, target: "https://example.com/x" if trips == 3 else "a.b"}

        async def create(series: str) -> int:
            before = line.round_trips
            made = [fields(f"{series}-{n}") | goal for n in range(8)]
            await asyncio.gather(*(batcher.create(office.tenant, each) for each in made))
            return line.round_trips - before

        # The first prepares the statements; now and then the database's clock is asked as well.
        assert min([await create(series) for series in ("a", "b", "c", "d")]) == trips
