"""Plans that were made for empty tables, kept, and used when the tables are full."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.queue_support import VISIBILITY, ended, make_schedule, some_worker

from rota.db import Database
from rota.firing import fire as firing
from rota.leases.sql import declare_gone, gone
from rota.queue import heartbeat
from rota.queue.claim import claim
from rota.queue.complete import settle
from rota.queue.enqueue import EnqueueRequest, enqueue
from rota.queue.heartbeat import extend
from rota.queue.overlap import MOST_LIVE
from rota.queue.rescue import holders, is_queue_empty, rescue
from rota.queue.unblock import free_held, free_stranded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule

ROWS = 3_000
ENOUGH = 8
"""After five uses the server decides whether to keep a plan for all that follow."""

_TABLES = ("queue", "timers", "schedules")
_ANALYZE = ("VACUUM ANALYZE queue", "VACUUM ANALYZE timers", "VACUUM ANALYZE schedules")

_FILL_QUEUE = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, attempt,
                       state, triggered_by, lane)
    SELECT gen_random_uuid(), $1, $2, 1, now() + n * interval '1 us', now(), 0, 'waiting',
           'schedule', 'http'
      FROM generate_series(1, $3) AS n
"""
_FILL_SCHEDULES = """
    INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at, definition)
    SELECT gen_random_uuid(), $1, 'k' || n, 'k' || n, 'active', 0, now(), '{}'
      FROM generate_series(1, $2) AS n
"""
_FILL_TIMERS = """
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version, fired)
    SELECT id, 0, now() + interval '1 day', now() + interval '1 day', 1, 0
      FROM schedules WHERE key LIKE 'k%'
"""
_SCANNED = """
    SELECT relname AS name, seq_tup_read AS rows
      FROM pg_stat_xact_user_tables WHERE relname = ANY ($1::text[]) AND seq_tup_read > 0
"""


@pytest.fixture
async def alone(dsn: str) -> AsyncGenerator[Database]:
    """One session, so that a plan that it keeps is the one that is used later."""
    async with await Database.open(dsn, pool_size=1, application_name="rota tests") as db:
        for each in _ANALYZE:
            # Outside of a transaction: the tables are empty, and now the server knows it.
            await db.fetch_alone(each)
        yield db


class _Scans:
    """Rows of the tables that were read by scanning them, from here on.

    What earlier transactions of the session read may still be in the server's counts.
    """

    def __init__(self, tx: Tx, before: Mapping[str, int]) -> None:
        self._tx = tx
        self._before = before

    @classmethod
    async def begin(cls, tx: Tx) -> _Scans:
        return cls(tx, await cls._count(tx))

    async def end(self) -> dict[str, int]:
        found = await self._count(self._tx)
        more = {name: rows - self._before.get(name, 0) for name, rows in found.items()}
        return {name: rows for name, rows in more.items() if rows > 0}

    @staticmethod
    async def _count(tx: Tx) -> dict[str, int]:
        return {row["name"]: row["rows"] for row in await tx.fetch(_SCANNED, list(_TABLES))}


async def _fill(db: Database, schedule: Schedule) -> None:
    async with db.transaction() as tx:
        await tx.execute(_FILL_QUEUE, schedule.id, schedule.tenant_id, ROWS)
        await tx.execute(_FILL_SCHEDULES, schedule.tenant_id, ROWS)
        await tx.execute(_FILL_TIMERS)


class _Worker:
    """What a worker says in turn, each time in a transaction of its own."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.id: UUID = some_worker()
        self.claims: list[Claim] = []
        self.scanned: dict[str, int] = {}

    async def pass_(self) -> None:
        await self._say(self._claim)
        await self._say(self._extend)
        await self._say(self._rescue)
        await self._say(self._settle)

    async def _say(self, work: Callable[[Tx], Awaitable[object]]) -> None:
        async with self._db.transaction() as tx:
            scans = await _Scans.begin(tx)
            await work(tx)
            self.scanned |= await scans.end()

    async def _claim(self, tx: Tx) -> None:
        self.claims = await claim(
            tx, ["http"], self.id, limit=50, lead=timedelta(), visibility=VISIBILITY
        )

    async def _extend(self, tx: Tx) -> None:
        await extend(tx, self.id, self.claims, VISIBILITY)

    async def _rescue(self, tx: Tx) -> None:
        workers = await holders(tx)
        await declare_gone(tx, workers, silent_for=VISIBILITY)
        await rescue(tx, gone=await gone(tx, workers, for_=VISIBILITY, confirmed_for=VISIBILITY))
        await free_stranded(tx)
        await free_held(tx)

    async def _settle(self, tx: Tx) -> None:
        if self.claims:
            await settle(tx, self.id, [ended(each) for each in self.claims])


async def test_a_worker_never_scans_a_queue_that_was_empty_when_its_plans_were_made(
    alone: Database,
) -> None:
    schedule = await make_schedule(alone, overlap_policy="allow")
    worker = _Worker(alone)
    for _ in range(ENOUGH):
        async with alone.transaction() as tx:
            await tx.execute(_FILL_QUEUE, schedule.id, schedule.tenant_id, 1)
        await worker.pass_()
        assert len(worker.claims) == 1
    await _fill(alone, schedule)
    worker.scanned = {}
    await worker.pass_()
    assert len(worker.claims) == 50
    assert worker.scanned == {}


async def test_a_scheduler_never_scans_timers_that_were_few_when_its_plans_were_made(
    dsn: str, alone: Database
) -> None:
    """Its statements are transactions by themselves: its sessions have the setting."""
    schedule = await make_schedule(alone)
    async with alone.transaction() as tx:
        low = await tx.fetch_value("SELECT now()")

    async def look() -> dict[str, int]:
        async with scheduling.transaction(read_only=True) as tx:
            scans = await _Scans.begin(tx)
            await tx.fetch(firing._DUE, [0], [low], timedelta(days=2), 10, MOST_LIVE)  # pyright: ignore[reportPrivateUsage]
            return await scans.end()

    async with await Database.open(dsn, pool_size=1, by_index=True) as scheduling:
        for _ in range(ENOUGH):
            await look()
        await _fill(alone, schedule)
        assert await look() == {}


async def test_enqueueing_never_scans_schedules_that_were_few_when_its_plan_was_made(
    alone: Database,
) -> None:
    task = await make_schedule(
        alone, cron_expr=None, target_url=None, job_type="who", overlap_policy="allow"
    )
    order = EnqueueRequest(task=task.key, payloads=[None], tenant_id=task.tenant_id)

    async def ask() -> dict[str, int]:
        async with alone.transaction() as tx:
            # As in a session of the user's own.
            await tx.execute("SET LOCAL enable_seqscan = on")
            scans = await _Scans.begin(tx)
            await enqueue(tx, order)
            return await scans.end()

    for _ in range(ENOUGH):
        await ask()
    await _fill(alone, task)
    assert await ask() == {}
    async with alone.reading() as tx:
        assert not await is_queue_empty(tx)


async def test_planner_switches_are_a_transaction_s_and_never_a_session_s(alone: Database) -> None:
    async def switches(tx: Tx) -> tuple[str, str]:
        scans = await tx.fetch_value("SHOW enable_seqscan")
        return scans, await tx.fetch_value("SHOW jit")

    async with alone.transaction() as tx:
        assert await switches(tx) == ("off", "off")
    async with alone.transaction(read_only=True, by_index=True) as tx:
        assert await switches(tx) == ("off", "off")
    async with alone.transaction(read_only=True) as tx:
        assert await switches(tx) == ("on", "off")
    async with alone.reading() as tx:
        assert await switches(tx) == ("on", "off")


async def test_claims_are_settled_by_their_ids_and_never_through_the_index_of_running_ones(
    db: Database,
) -> None:
    """Under a pinned snapshot that index is full of dead entries."""
    async with db.transaction() as tx:
        await tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.execute(
            "PREPARE keep_claims (uuid, uuid[], smallint[], interval) AS " + heartbeat.EXTEND
        )
        rows = await tx.fetch("EXPLAIN EXECUTE keep_claims (NULL, NULL, NULL, NULL)")
    plan = "\n".join(row[0] for row in rows)
    assert "queue_pkey" in plan
    assert "queue_claimed" not in plan
