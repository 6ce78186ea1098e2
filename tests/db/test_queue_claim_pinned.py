"""Claims while a transaction left open elsewhere keeps dead rows from being vacuumed."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, cast
from uuid import UUID, uuid4

import pytest
from tests.db.queue_support import (
    SECOND,
    VISIBILITY,
    database_now,
    ended,
    leave_dead,
    pinned,
    queue_rows,
    some_worker,
)
from tests.deadlines import patience

from rota.queue.claim import CLAIM, Claim, Standing, claim, look_arguments, sweep
from rota.queue.complete import settle
from rota.queue.heartbeat import release
from rota.queue.low_watermarks import NOBODY, LowWatermarks

if TYPE_CHECKING:
    from typing import LiteralString

    from rota.db import Database, Tx

LANES = ["http", "mail"]
_TENANT = "INSERT INTO tenants (id, name) VALUES ($1, $1::uuid::text)"
_ENTER = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
                       state, triggered_by, lane)
    SELECT gen_random_uuid(), gen_random_uuid(), $1, 1, a.at, a.at, $2, 'waiting', 'schedule', $3
      FROM generate_series(1, $4) AS n
     CROSS JOIN LATERAL (SELECT clock_timestamp() + $5 + n * interval '1 us') AS a(at)
"""


async def enter(
    db: Database,
    tenant: UUID,
    count: int,
    *,
    after: timedelta = timedelta(),
    priority: int = 5,
    lane: str = "http",
) -> None:
    async with db.transaction() as tx:
        await tx.execute(_ENTER, tenant, priority, lane, count, after)


async def make_tenant(db: Database) -> UUID:
    id_ = uuid4()
    async with db.transaction() as tx:
        await tx.execute(_TENANT, id_)
    return id_


async def take_as(db: Database, standing: Standing, worker: UUID, *, limit: int) -> list[Claim]:
    async with db.transaction() as tx:
        return await claim(
            tx,
            LANES,
            worker,
            limit=limit,
            lead=2 * SECOND,
            visibility=VISIBILITY,
            standing=standing,
        )


async def sweep_as(db: Database, standing: Standing) -> bool:
    async with db.reading() as tx:
        return await sweep(tx, LANES, lead=2 * SECOND, standing=standing)


def literal(value: object) -> str:
    if isinstance(value, list):
        members = ",".join(f'"{each}"' for each in cast("list[object]", value))
        return f"'{{{members}}}'"
    return f"'{value}'"


async def buffers(tx: Tx, standing: Standing) -> int:
    """How many pages a claim of ten touches, by a plan for any parameters."""
    look = standing.marks.look(LANES, None, NOBODY)
    arguments = (*look_arguments(look), "2 s", uuid4(), "30 s", 10)
    async with tx.savepoint():
        await tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.execute("PREPARE hot AS " + CLAIM)
        text = ", ".join(map(literal, arguments))
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE hot (" + text + ")"
        [row] = await tx.fetch(cast("LiteralString", explain))
        await tx.execute("DEALLOCATE hot")
    plan = json.loads(row[0])[0]["Plan"]
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]


async def test_a_claim_touches_few_pages_however_many_rows_are_dead(db: Database, dsn: str) -> None:
    tenant, quiet = await make_tenant(db), await make_tenant(db)
    touched: list[int] = []
    unmarked: list[int] = []
    async with pinned(dsn):
        standing, worker = Standing(), some_worker()
        for dead in (10_000, 60_000):
            await leave_dead(db, quiet, 1_000, after=timedelta(minutes=-5))
            await leave_dead(db, tenant, dead, after=timedelta(minutes=-5))
            await enter(db, tenant, 20)
            for _ in range(2):
                # The first look walks over the dead, and the next ones know better.
                assert len(await take_as(db, standing, worker, limit=5)) == 5
            assert standing.marks.in_use
            async with db.transaction() as tx:
                touched.append(await buffers(tx, standing))
            async with db.transaction() as tx:
                unmarked.append(await buffers(tx, Standing()))
    assert unmarked[0] > 200
    assert unmarked[1] > 3 * unmarked[0]
    # Ten rows are found, locked and written, in the table and its indexes.
    assert max(touched) < 400


async def test_marks_are_used_only_while_rows_are_dead(db: Database, dsn: str) -> None:
    tenant, standing, worker = await make_tenant(db), Standing(), some_worker()
    await enter(db, tenant, 30)
    async with pinned(dsn):
        assert len(await take_as(db, standing, worker, limit=5)) == 5
        assert not standing.marks.in_use
        await leave_dead(db, tenant, 20_000, after=timedelta(minutes=-5))
        await enter(db, tenant, 30)
        await take_as(db, standing, worker, limit=5)
        assert standing.marks.in_use
    await db.fetch_alone("VACUUM queue")
    async with asyncio.timeout(patience(10)):
        while standing.marks.in_use:
            await take_as(db, standing, worker, limit=1)
            if standing.marks.sweep_is_due:
                await sweep_as(db, standing)


async def test_what_enters_below_a_mark_is_found_within_the_bound(db: Database, dsn: str) -> None:
    tenant, standing, worker = await make_tenant(db), Standing(), some_worker()
    async with pinned(dsn):
        await leave_dead(db, tenant, 20_000, after=timedelta(minutes=-5))
        await enter(db, tenant, 5, after=SECOND)
        assert len(await take_as(db, standing, worker, limit=5)) == 5
        assert standing.marks.in_use
        # A new priority and a new tenant are found at once; what is below the mark is not.
        other = await make_tenant(db)
        await enter(db, tenant, 1, after=timedelta(minutes=-10))
        await enter(db, tenant, 1, after=timedelta(minutes=-10), priority=9)
        await enter(db, other, 1, after=timedelta(minutes=-10), lane="mail")
        got = await take_as(db, standing, worker, limit=5)
        assert {(each.tenant_id, each.priority) for each in got} == {(tenant, 9), (other, 5)}
        standing.marks.suspect()
        async with asyncio.timeout(patience(10)):
            while not got or got[-1].tenant_id != tenant or got[-1].priority == 9:
                if standing.marks.sweep_is_due:
                    await sweep_as(db, standing)
                got = await take_as(db, standing, worker, limit=5)
    assert await queue_waiting(db) == 0


async def queue_waiting(db: Database) -> int:
    now = await database_now(db)
    rows = (await queue_rows(db)).values()
    return sum(row["state"] != "running" and row["available_at"] <= now for row in rows)


class _Worker:
    """One that looks past its marks from the first look on, and sweeps when it is time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.id = some_worker()
        self.standing = Standing(marks=LowWatermarks(max_walk=-1))
        self.held: list[Claim] = []

    async def claim(self, limit: int) -> None:
        self.held += await take_as(self._db, self.standing, self.id, limit=limit)
        if self.standing.marks.sweep_is_due:
            await sweep_as(self._db, self.standing)

    async def release(self, random: Random) -> None:
        back = [each for each in self.held if random.random() < 0.5]
        async with self._db.transaction() as tx:
            await release(tx, self.id, back)
        self.held = [each for each in self.held if each not in back]
        self.standing.marks.suspect()

    async def settle(self, random: Random, now: datetime) -> set[UUID]:
        """Some succeed, and the others are tried again, at once or from a while ago."""
        held, self.held = self.held, []
        settlements = [
            ended(each)
            if random.random() < 0.7
            else ended(each, None, retry_at=now - random.randint(0, 90) * SECOND)
            for each in held
        ]
        async with self._db.transaction() as tx:
            settled = await settle(tx, self.id, settlements)
        assert settled.accepted == {each.id for each in held}
        return {each.claim.id for each in settlements if each.status == "succeeded"}


@pytest.mark.parametrize("seed", range(4))
async def test_two_workers_with_marks_claim_all_that_is_due_and_nothing_twice(
    db: Database, seed: int
) -> None:
    """Rows enter, are claimed, given back and tried again at random, also far below the marks."""
    random = Random(seed)
    tenants = [await make_tenant(db) for _ in range(3)]
    workers = [_Worker(db) for _ in range(2)]
    done: set[UUID] = set()
    entered = 0
    for _ in range(60):
        worker = random.choice(workers)
        what = random.random()
        if what < 0.4:
            count = random.randint(1, 8)
            entered += count
            await enter(
                db,
                random.choice(tenants),
                count,
                after=timedelta(seconds=random.uniform(-300, 1)),
                priority=random.choice((1, 5, 6)),
                lane=random.choice(LANES),
            )
        elif what < 0.8:
            await worker.claim(random.randint(1, 12))
        elif what < 0.9:
            await worker.release(random)
        else:
            done |= await worker.settle(random, await database_now(db))
        ids = [each.id for one in workers for each in one.held]
        assert len(ids) == len(set(ids))
        assert not done & set(ids)
    async with asyncio.timeout(patience(15)):
        while len(done) < entered:
            for worker in workers:
                await worker.claim(100)
                done |= await worker.settle(random, await database_now(db))
    assert await queue_rows(db) == {}
