"""Ends and changes of schedules lock the same rows, and never wait for each other in a circle.

The order is a page: docs/lock-order.md. `tests/db/lock_order.py` watches it in every test of this
folder; at the end of this file it is shown to notice what is wrong.

Each of the other tests stops the one half-way, by a row that somebody else has, lets the other run
into it, and lets both go: where they lock in different orders, PostgreSQL ends one of them after a
second. There are no second tries here, so that would be a `Conflict`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID

import pytest
from tests.db.firing_kit import fleet
from tests.db.lock_order import ORDER, taken, watched
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
from tests.deadlines import patience

from rota.queue import replay
from rota.queue.complete import settle
from rota.queue.dependents import Upstreams
from rota.queue.heartbeat import release, release_strays
from rota.schedules import bulk_pause, pause, update
from rota.schedules.bulk_pause import PauseRequest
from rota.schedules.replay import replay_many
from rota.service import ServiceDelayed, ServiceFailed

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
    async with asyncio.timeout(patience(20)), asyncio.TaskGroup() as group, db.transaction() as tx:
        await tx.fetch("SELECT FROM queue WHERE id = $1 FOR UPDATE", stopped_at)
        one = group.create_task(in_a_transaction(db, first))
        await until_waits(tx, one, 1)
        await until_waits(tx, group.create_task(in_a_transaction(db, second)), 2)


async def until_waits(tx: Tx, task: asyncio.Task[Any], count: int) -> None:
    """Until so many sessions wait for a lock, or the task is done and will not."""
    while not task.done() and count > await tx.fetch_value(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ):
        await tx.execute("SELECT pg_sleep(0.01), pg_stat_clear_snapshot()")


def pausing(office: Office, schedule: Schedule, how: str) -> Callable[[Tx], Awaitable[Any]]:
    if how == "one":
        return lambda tx: pause.pause(tx, office.tenant, schedule.id)
    return lambda tx: bulk_pause.pause_some(tx, PauseRequest(tenant_id=office.tenant.id))


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
        lambda tx: update.update(tx, office.tenant, schedule.id, {"priority": 3}),
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
    upstreams = Upstreams()

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
        await settle(tx, me, before, upstreams)
    ends = [ended(each) for each in await claimed()]
    assert len(ends) == 2

    await one_into_the_other(
        db,
        lambda tx: settle(tx, me, ends, upstreams),
        lambda tx: bulk_pause.pause_some(tx, PauseRequest(tenant_id=office.tenant.id)),
        stopped_at=ends[1].claim.id,
    )
    rows = await firing_rows(db)
    assert all(rows[each.claim.id]["status"] == "succeeded" for each in ends)


async def test_upstreams_without_dependents_are_forgotten(office: Office) -> None:
    db = office.db
    schedule = await office.create(name="first", key="first")
    upstreams = Upstreams()
    upstreams.add([schedule.id])
    async with db.transaction() as tx:
        await upstreams.lock_dependents(tx, [schedule.id])
    assert not upstreams._ids


async def test_a_bulk_replay_beside_an_edit_of_what_a_schedule_follows(office: Office) -> None:
    """Each has a lock of its tenant, one before the schedules' rows and one after them."""
    db = office.db
    schedule = await office.create(name="first", key="first", interval=None, on_demand=True)
    await office.enqueue(schedule)
    me = some_worker()
    [claim] = await take(db, me, lanes=("default",))
    async with db.transaction() as tx:
        await settle(tx, me, [ended(claim, "dead")])
    chosen, go = asyncio.Event(), asyncio.Event()

    async def replay_all(tx: Tx) -> None:
        dead = await replay.dead(
            tx, office.tenant.id, schedule_id=None, since=None, until=None, limit=10
        )
        chosen.set()
        await go.wait()
        await replay_many(tx, office.tenant, dead)

    async def edit(tx: Tx) -> None:
        changes = {"on_demand": None, "after": "second"}
        await update.update(tx, office.tenant, schedule.id, changes)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(in_a_transaction(db, replay_all))
        await chosen.wait()
        editing = group.create_task(in_a_transaction(db, edit))
        async with db.transaction() as tx:
            await until_waits(tx, editing, 1)
        go.set()
    [row] = await office.queue(schedule)
    assert row["replay_of"] == claim.id


LOCK_TIMERS = "SELECT FROM timers WHERE schedule_id = ANY ($1::uuid[]) ORDER BY 1 FOR UPDATE"
LOCK_QUEUE = "SELECT FROM queue WHERE schedule_id = ANY ($1::uuid[]) ORDER BY id FOR UPDATE"
SET_TIMERS = "UPDATE timers SET fired = 0 WHERE schedule_id = ANY ($1::uuid[])"
ONE, OTHER = UUID(int=1), UUID(int=2)


async def seen(db: Database, *statements: tuple[LiteralString, list[UUID]]) -> list[str]:
    """What the watch says of a transaction of the program that runs these."""
    with watched() as order:
        async with db.transaction() as tx:
            for statement, ids in statements:
                order.run(tx, statement, (ids,))
    return [each.partition(":")[0] for each in order.violations]


async def test_the_watch_notices_a_transaction_that_locks_out_of_order(db: Database) -> None:
    assert await seen(db, (LOCK_QUEUE, [ONE]), (LOCK_TIMERS, [ONE])) == ["locks timers after queue"]
    assert await seen(db, (LOCK_TIMERS, [ONE]), (LOCK_QUEUE, [ONE]), (SET_TIMERS, [OTHER])) == [
        "locks timers after queue"
    ]
    assert await seen(db, ("DELETE FROM queue", []), ("UPDATE schedules SET fired = 0", [])) == [
        "locks schedules after queue"
    ]


async def test_the_watch_lets_a_transaction_change_what_it_has_locked(db: Database) -> None:
    both = [ONE, OTHER]
    assert not await seen(db, (LOCK_TIMERS, both), (LOCK_QUEUE, both), (SET_TIMERS, [OTHER]))


async def test_the_watch_wants_an_order_where_several_rows_are_locked(db: Database) -> None:
    statement = "SELECT FROM timers WHERE schedule_id = ANY ($1::uuid[]) FOR UPDATE"
    assert await seen(db, (statement, [ONE])) == ["locks several rows of timers in no order"]


async def test_the_watch_sees_the_statements_that_the_program_runs(office: Office) -> None:
    """A pause, step by step: it would be noticed if one of these were not recognised."""
    schedule = await office.create()
    locked: list[str] = []
    with watched() as order:
        run = order.run

        def noting(tx: Tx, statement: str, args: tuple[object, ...]) -> None:
            locked.extend(sorted(taken(statement).waits, key=ORDER.index))
            run(tx, statement, args)

        order.run = noting
        async with office.db.transaction() as tx:
            await pause.pause(tx, office.tenant, schedule.id)
    assert [each for at, each in enumerate(locked) if each not in locked[:at]] == [
        "timers",
        "schedules",
        "queue",
    ]


_REVERSE: LiteralString = """
    UPDATE timers t
       SET scheduled_for = now() - x.n * interval '1 s', due_at = now() - x.n * interval '1 s'
      FROM (SELECT schedule_id, row_number() OVER (ORDER BY schedule_id) AS n FROM timers) AS x
     WHERE t.schedule_id = x.schedule_id
"""


async def test_a_batch_beside_a_pause_of_all(office: Office) -> None:
    """Firing locks the timers of a batch by id, in whatever order they are due."""
    db = office.db
    async with fleet(db) as engine:
        now = await engine.now()
        anchor_at = now - 1_800 * SECOND
        made = sorted([await engine.add(slot=now, anchor_at=anchor_at) for _ in range(20)])
        async with db.transaction() as tx:
            await tx.execute(_REVERSE)
        pause = PauseRequest(tenant_id=UUID("00000000-0000-0000-0000-00000000000a"))
        async with (
            asyncio.timeout(patience(20)),
            asyncio.TaskGroup() as group,
            db.transaction() as tx,
        ):
            await tx.fetch("SELECT FROM timers WHERE schedule_id = $1 FOR UPDATE", made[10])
            firing = group.create_task(engine.scheduler.run_once())
            await until_waits(tx, firing, 1)
            pausing = group.create_task(
                in_a_transaction(db, lambda tx: bulk_pause.pause_some(tx, pause))
            )
            await until_waits(tx, pausing, 2)
        assert firing.result().counts.fired == 20
        assert {await engine.status(each) for each in made} == {"paused"}


async def test_a_batch_that_cancels_beside_a_pause_of_all(office: Office) -> None:
    """Firing locks all timers of a batch before it locks what it cancels."""
    db = office.db
    async with fleet(db) as engine:
        slot = await engine.now() - SECOND
        replaced = await engine.add(slot=slot, overlap_policy="cancel_previous")
        others = [await engine.add(slot=slot, overlap_policy="allow") for _ in range(20)]
        live = await engine.live(replaced)
        pause = PauseRequest(tenant_id=UUID("00000000-0000-0000-0000-00000000000a"))
        async with (
            asyncio.timeout(patience(20)),
            asyncio.TaskGroup() as group,
            db.transaction() as tx,
        ):
            await tx.fetch("SELECT FROM queue WHERE id = $1 FOR UPDATE", live)
            firing = group.create_task(engine.scheduler.run_once())
            await until_waits(tx, firing, 1)
            pausing = group.create_task(
                in_a_transaction(db, lambda tx: bulk_pause.pause_some(tx, pause))
            )
            await until_waits(tx, pausing, 2)
        assert not engine.member.heard.all(ServiceDelayed)
        assert not engine.member.heard.all(ServiceFailed)
        assert firing.result().counts.fired == 21
        assert {await engine.status(each) for each in (replaced, *others)} == {"paused"}
