"""Single creates that share a transaction: each gets its own answer (AP1)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import SHARDS, Office

from rota.schedules.errors import DuplicateKey, InvalidSchedule, QuotaReached
from rota.schedules.gathering import Gatherer
from rota.schedules.saved import Saved

if TYPE_CHECKING:
    from rota.db import Database


def fields(key: str, **more: Any) -> dict[str, Any]:
    return {"key": key, "interval": "1h", "job_type": "a.b"} | more


async def test_each_of_many_at_once_gets_its_own_answer(db: Database) -> None:
    office = await Office.open(db)
    gatherer = Gatherer(db, shards=SHARDS)
    wishes = [fields(f"key-{number}") for number in range(40)]
    wishes[7] = fields("bad", interval="never")
    wishes[9] = fields("key-8")
    made = await asyncio.gather(
        *(gatherer.create(office.tenant, wish) for wish in wishes), return_exceptions=True
    )
    assert isinstance(made[7], InvalidSchedule)
    assert isinstance(made[9], DuplicateKey) or isinstance(made[8], DuplicateKey)
    saved = [each for each in made if isinstance(each, Saved)]
    assert len(saved) == 38
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM schedules") == 38
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 38


async def test_a_quota_with_room_for_some_lets_some_in(db: Database) -> None:
    """TN2: all that there is room for, and no more."""
    office = await Office.open(db)
    tenant = replace(office.tenant, max_schedules=3)
    gatherer = Gatherer(db, shards=SHARDS)
    made = await asyncio.gather(
        *(gatherer.create(tenant, fields(f"key-{number}")) for number in range(8)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, Saved) for each in made) == 3
    assert sum(isinstance(each, QuotaReached) for each in made) == 5


async def test_whoever_goes_away_does_not_take_others_along(db: Database) -> None:
    office = await Office.open(db)
    gatherer = Gatherer(db, shards=SHARDS)
    tasks = [
        asyncio.create_task(gatherer.create(office.tenant, fields(f"key-{number}")))
        for number in range(10)
    ]
    await asyncio.wait(tasks[:1])
    tasks[-1].cancel()
    made = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(each, Saved) for each in made[:-1])


async def test_a_database_that_is_gone_is_told_to_all(db: Database) -> None:
    office = await Office.open(db)
    gatherer = Gatherer(db, shards=SHARDS)
    await db.close()
    with pytest.raises(Exception, match=r"closed|away|ended"):
        await gatherer.create(office.tenant, fields("key"))
