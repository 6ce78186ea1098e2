"""The store of timers: the same statements for one schedule and for many."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.schedules import Office

from rota import timers
from rota.timers import Armed

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Row

HOUR = timedelta(hours=1)


@pytest.fixture(params=[1, 3])
async def armed(request: pytest.FixtureRequest, db: Database) -> list[UUID]:
    """So many schedules with timers, and one beside them."""
    office = await Office.open(db)
    made = [await office.create(key=f"job-{n}", name=f"job-{n}") for n in range(request.param)]
    await office.create(key="other", name="other")
    return [each.id for each in made]


async def rows(db: Database) -> dict[UUID, Row]:
    async with db.transaction() as tx:
        found = await tx.fetch("SELECT *, due_at = 'infinity' AS suspended FROM timers")
    return {row["schedule_id"]: row for row in found}


async def test_locks_those_that_there_are(db: Database, armed: list[UUID]) -> None:
    async with db.transaction() as tx:
        await timers.disarm(tx, armed[:1])
        locked = await timers.lock(tx, armed)
    assert set(locked) == set(armed[1:])
    stored = await rows(db)
    assert {id_: each.scheduled_for for id_, each in locked.items()} == {
        id_: stored[id_]["scheduled_for"] for id_ in armed[1:]
    }


async def test_bumps_the_revision_and_nothing_else(db: Database, armed: list[UUID]) -> None:
    before = await rows(db)
    async with db.transaction() as tx:
        assert await timers.bump(tx, armed) == len(armed)
    after = await rows(db)
    for id_, row in after.items():
        expected = dict(before[id_].items())
        expected["touched"] += id_ in armed
        assert dict(row.items()) == expected


async def test_suspends_until_armed_again(db: Database, armed: list[UUID]) -> None:
    before = await rows(db)
    async with db.transaction() as tx:
        assert await timers.suspend(tx, armed) == len(armed)
    suspended = await rows(db)
    assert {id_ for id_, row in suspended.items() if row["suspended"]} == set(armed)
    async with db.transaction() as tx:
        locked = await timers.lock(tx, armed)
        await timers.arm(
            tx,
            [
                Armed(
                    schedule_id=id_,
                    shard=before[id_]["shard"],
                    scheduled_for=timer.scheduled_for,
                    due_at=timer.scheduled_for + HOUR,
                    version=timer.version,
                    fired=timer.fired,
                )
                for id_, timer in locked.items()
            ],
        )
    after = await rows(db)
    for id_ in armed:
        assert after[id_]["due_at"] == before[id_]["scheduled_for"] + HOUR
        assert after[id_]["touched"] == before[id_]["touched"] + 2


async def test_takes_firings_back_from_the_count(db: Database, armed: list[UUID]) -> None:
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 5")
        await timers.unfire(tx, {id_: 2 + 5 * at for at, id_ in enumerate(armed)})
        await timers.unfire(tx, {})
    fired = {id_: row["fired"] for id_, row in (await rows(db)).items()}
    assert [fired.pop(id_) for id_ in armed] == [3, 0, 0][: len(armed)]
    assert set(fired.values()) == {5}


async def test_a_new_version_leaves_the_slot(db: Database, armed: list[UUID]) -> None:
    before = await rows(db)
    async with db.transaction() as tx:
        await timers.reversion(tx, {id_: 7 + at for at, id_ in enumerate(armed)})
    after = await rows(db)
    assert [after[id_]["version"] for id_ in armed] == [7, 8, 9][: len(armed)]
    assert {id_: row["due_at"] for id_, row in after.items()} == {
        id_: row["due_at"] for id_, row in before.items()
    }


async def test_disarms(db: Database, armed: list[UUID]) -> None:
    async with db.transaction() as tx:
        assert await timers.disarm(tx, armed) == len(armed)
        assert await timers.disarm(tx, armed) == 0
    assert len(await rows(db)) == 1
