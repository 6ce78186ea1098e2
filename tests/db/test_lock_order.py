"""Ends and changes of schedules lock the same rows, and never wait for each other in a circle.

Each test stops the one half-way, by a row that somebody else has, lets the other run into it, and
lets both go: where they lock in different orders, PostgreSQL ends one of them after a second. There
are no second tries here, so that would be a `Conflict`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from tests.db.queue_support import (
    SECOND,
    database_now,
    ended,
    fire,
    firing_rows,
    make_schedule,
    queue_rows,
    some_worker,
    take,
)
from tests.db.schedules import Office

from rota.queue.chains import Chains
from rota.queue.extend import release, release_strays
from rota.queue.finish import settle
from rota.schedules import service, together
from rota.schedules.together import Wish

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rota.db import Database, Tx
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule

_RUN = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, attempt,
                       priority, state, triggered_by, lane)
    SELECT x.id, $2, $3, 1, clock_timestamp(), clock_timestamp(), 0, 5, 'waiting', x.triggered_by,
           'http'
      FROM unnest($1::uuid[], $4::text[]) AS x(id, triggered_by)
"""
ROWS = 20


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def held(db: Database, schedule: Schedule, triggered_by: Sequence[str]) -> list[Claim]:
    """Claims of a schedule in the order of their ids; on disk they are the other way round."""
    found = [UUID(int=at + 1) for at in range(len(triggered_by))]
    async with db.transaction() as tx:
        await tx.execute(
            _RUN, found[::-1], schedule.id, schedule.tenant_id, list(triggered_by)[::-1]
        )
    claims = await take(db, some_worker())
    return sorted(claims, key=lambda each: each.id)


async def worker_of(db: Database) -> UUID:
    return next(iter((await queue_rows(db)).values()))["worker"]


async def in_a_transaction(db: Database, step: Callable[[Tx], Awaitable[Any]]) -> None:
    async with db.transaction() as tx:
        await step(tx)


async def one_into_the_other(
    db: Database,
    first: Callable[[Tx], Awaitable[Any]],
    second: Callable[[Tx], Awaitable[Any]],
    *,
    stopped_at: UUID,
) -> None:
    """Run the first until it waits for this row, then the second until it waits or is done; then
    let both go."""
    async with asyncio.timeout(20), asyncio.TaskGroup() as group, db.transaction() as tx:
        await tx.fetch("SELECT FROM queue WHERE id = $1 FOR UPDATE", stopped_at)
        one = group.create_task(in_a_transaction(db, first))
        await until_waits(tx, one, 1)
        await until_waits(tx, group.create_task(in_a_transaction(db, second)), 2)


async def until_waits(tx: Tx, task: asyncio.Task[None], count: int) -> None:
    """Until so many sessions wait for a lock, or the task is done and will not."""
    while not task.done() and count > await tx.fetch_value(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ):
        await tx.execute("SELECT pg_sleep(0.01), pg_stat_clear_snapshot()")


def pausing(office: Office, schedule: Schedule, how: str) -> Callable[[Tx], Awaitable[Any]]:
    if how == "one":
        return lambda tx: service.pause(tx, office.tenant, schedule.id)
    return lambda tx: together.pause_some(tx, Wish(tenant_id=office.tenant.id))


async def on_demand(office: Office) -> Schedule:
    return await office.create(interval=None, on_demand=True, overlap_policy="allow")


@pytest.mark.parametrize("how", ["one", "all"])
async def test_a_pause_beside_the_ends_of_what_was_enqueued(office: Office, how: str) -> None:
    """The rows of plain ends are locked as they are found, on disk or in the index."""
    db, schedule = office.db, await on_demand(office)
    claims = await held(db, schedule, ["enqueue"] * ROWS)
    me = await worker_of(db)
    await one_into_the_other(
        db,
        lambda tx: settle(tx, me, [ended(each) for each in claims]),
        pausing(office, schedule, how),
        stopped_at=claims[ROWS // 2].id,
    )
    assert len(await firing_rows(db)) == ROWS


@pytest.mark.parametrize("how", ["one", "all"])
async def test_a_pause_beside_ends_of_both_kinds(office: Office, how: str) -> None:
    """Recorded by two statements, of which each has an order of its own."""
    db, schedule = office.db, await on_demand(office)
    claims = await held(db, schedule, ["api", "enqueue"] * (ROWS // 2))
    me = await worker_of(db)
    await one_into_the_other(
        db,
        lambda tx: settle(tx, me, [ended(each) for each in claims]),
        pausing(office, schedule, how),
        stopped_at=claims[ROWS // 2 + 1].id,
    )
    assert len(await firing_rows(db)) == ROWS


@pytest.mark.parametrize("how", ["release", "release_strays"])
async def test_an_edit_beside_a_worker_that_gives_back(office: Office, how: str) -> None:
    """As it does when it stops, and when it has more than it will come to."""
    db, schedule = office.db, await on_demand(office)
    claims = await held(db, schedule, ["api"] * ROWS)
    me = await worker_of(db)

    async def give_back(tx: Tx) -> None:
        if how == "release":
            await release(tx, me, claims)
        else:
            await release_strays(tx, me, known=[])

    await one_into_the_other(
        db,
        give_back,
        lambda tx: service.update(tx, office.tenant, schedule.id, {"priority": 3}),
        stopped_at=claims[ROWS // 2].id,
    )
    rows = await queue_rows(db)
    assert {(row["state"], row["attempt"], row["version"]) for row in rows.values()} == {
        ("waiting", 0, 2)
    }


async def test_a_pause_of_all_beside_an_end_that_is_followed(office: Office) -> None:
    """What follows is locked before what ends, once it is known that something does."""
    db = office.db
    first = await office.create(name="first", key="first")
    await office.create(name="second", key="second", interval=None, after="first")
    elsewhere = await make_schedule(db)
    chains = Chains()

    async def claimed() -> list[Claim]:
        await office.enqueue(first)
        # Behind it in the order of ids.
        await fire(db, elsewhere, await database_now(db) + SECOND)
        claims = await take(db, me, lanes=("default", "http"))
        mine = [each for each in claims if each.schedule_id in {first.id, elsewhere.id}]
        return sorted(mine, key=lambda each: each.schedule_id != first.id)

    me = some_worker()
    before = [ended(each) for each in await claimed()]
    async with db.transaction() as tx:
        await settle(tx, me, before, chains)
    ends = [ended(each) for each in await claimed()]
    assert len(ends) == 2

    await one_into_the_other(
        db,
        lambda tx: settle(tx, me, ends, chains),
        lambda tx: together.pause_some(tx, Wish(tenant_id=office.tenant.id)),
        stopped_at=ends[1].claim.id,
    )
    rows = await firing_rows(db)
    assert all(rows[each.claim.id]["status"] == "succeeded" for each in ends)


async def test_chains_that_are_no_more_are_forgotten(office: Office) -> None:
    db = office.db
    schedule = await office.create(name="first", key="first")
    chains = Chains()
    chains.saw([schedule.id])
    async with db.transaction() as tx:
        await chains.lock(tx, [schedule.id])
    assert not chains._followed
