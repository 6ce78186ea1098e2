"""Two databases in one process, each with its own engine: nothing of one reaches the other.

They are made as equal as they can be: the same ids and keys of tenants and schedules, at the same
version. Only the targets differ, and tell which database a call came from.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString
from uuid import UUID

import pytest
from tests.db.leases_kit import SHARDS, member
from tests.deadlines import patience
from tests.unit.workers.target import Target, serving

from rota import ids, timers
from rota.db import Cause, Database, Listener
from rota.db.locks import TENANTS, TIMERS
from rota.events import Bus, Recorder
from rota.firing import PassDone, Scheduler, Settings
from rota.leases import LeaseTaken
from rota.schedules.definition import Definition, encode
from rota.schedules.schedule import shard_of
from rota.schedules.schedule_cache import ScheduleCache
from rota.targets import OPEN
from rota.tenants import service as tenants
from rota.tenants.authenticate import authenticate
from rota.timers import Armed
from rota.workers.channels import CHANNELS
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import FiringFinished
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime

    from tests.conftest import Postgres
    from tests.db.leases_kit import Member

TENANT = UUID("00000000-0000-0000-0000-00000000000a")
SCHEDULES = [UUID(int=number << 64 | number) for number in range(1, 6)]
NEVER = timedelta(hours=1)

_TENANT: LiteralString = "INSERT INTO tenants (id, name) VALUES ($1, 'acme')"
_SCHEDULE: LiteralString = """
    INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at, definition)
    VALUES ($1, $2, $3, $3, 'active', $4, $5, $6)
"""


@dataclass
class Cell:
    """A database with its own scheduler, worker and listener."""

    name: str
    db: Database
    listener: Listener
    member: Member
    scheduler: Scheduler
    worked: Recorder
    fired: list[UUID] = field(default_factory=list[UUID])

    async def now(self) -> datetime:
        async with self.db.transaction() as tx:
            return await tx.fetch_value("SELECT clock_timestamp()")

    async def fill(self, target: Target) -> None:
        """The schedules, without timers."""
        now = await self.now()
        async with self.db.transaction() as tx:
            await tx.execute(_TENANT, TENANT)
            for id_ in SCHEDULES:
                url, key = f"{target.url}/ok/{self.name}", f"job-{id_.int & 0xFF}"
                made = Definition(name=key, key=key, interval="1h", target_url=url)
                shard = shard_of(id_, SHARDS)
                await tx.execute(_SCHEDULE, id_, TENANT, key, shard, now, encode(made))

    async def arm(self, schedules: list[UUID], slot: datetime) -> None:
        self.fired += [ids.firing_id(id_, slot) for id_ in schedules]
        async with self.db.transaction() as tx:
            await timers.arm(
                tx,
                [
                    Armed(
                        schedule_id=id_,
                        shard=shard_of(id_, SHARDS),
                        scheduled_for=slot,
                        due_at=slot,
                        version=1,
                    )
                    for id_ in schedules
                ],
            )

    async def finished(self) -> set[UUID]:
        async with self.db.transaction() as tx:
            rows = await tx.fetch("SELECT id FROM firings WHERE status = 'succeeded'")
        return {row["id"] for row in rows}

    async def until_finished(self, count: int) -> None:
        async with asyncio.timeout(patience(30)):
            while len(await self.finished()) < count:
                await self.worked.wait_for(FiringFinished)


@asynccontextmanager
async def cell(name: str, dsn: str) -> AsyncGenerator[Cell]:
    bus = Bus()
    cache = ScheduleCache()
    async with (
        await Database.open(dsn) as db,
        Listener(dsn, [TIMERS, *CHANNELS]) as listener,
        member(db, ttl=NEVER) as holder,
        HttpCaller(OPEN) as http,
    ):
        listener.pass_on(TENANTS, db)
        await holder.elector.run_once()
        # No sweeps, and polls far apart: a pass that finds a new timer has heard of it.
        scheduler = Scheduler(
            db,
            holder.elector,
            bus=holder.bus,
            news=listener.subscribe(TIMERS),
            settings=Settings(sweep_interval=NEVER, poll_interval=NEVER),
            cache=cache,
        )
        worker = Worker(
            db,
            id_=holder.node.id,
            callers={"http": http},
            session=holder.session,
            listener=listener,
            settings=WorkerSettings(poll_interval=timedelta(milliseconds=50)),
            bus=bus,
            cache=cache,
        )
        recorder = Recorder(bus)
        loop = asyncio.create_task(scheduler.service().run())
        try:
            async with worker:
                yield Cell(name, db, listener, holder, scheduler, recorder)
        finally:
            loop.cancel()
            await asyncio.gather(loop, return_exceptions=True)


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    async with serving() as it:
        yield it


@pytest.fixture
async def cells(postgres: Postgres, target: Target) -> AsyncGenerator[tuple[Cell, Cell]]:
    names = [await postgres.clone(), await postgres.clone()]
    one, other = (postgres.dsn_of(each) for each in names)
    async with cell("one", one) as first, cell("other", other) as second:
        await first.fill(target)
        await second.fill(target)
        yield first, second
    for each in names:
        await postgres.drop(each)


def called(target: Target, name: str) -> set[UUID]:
    """The firings whose calls came from that database."""
    texts = [
        each.headers["Rota-Firing-Id"] for each in target.received if each.path == f"/ok/{name}"
    ]
    return {ids.from_text(ids.Kind.FIRING, text) for text in texts}


async def test_each_fires_and_runs_its_own_at_the_same_time(
    cells: tuple[Cell, Cell], target: Target
) -> None:
    """Equal ids at equal versions: a cache of the process would call the wrong target."""
    one, other = cells
    slot = await one.now()
    async with asyncio.TaskGroup() as group:
        group.create_task(one.arm(SCHEDULES, slot))
        group.create_task(other.arm(SCHEDULES[:3], slot))
    await one.until_finished(5)
    await other.until_finished(3)
    assert called(target, "one") == await one.finished() == set(one.fired)
    assert called(target, "other") == await other.finished() == set(other.fired)
    assert len(target.received) == 8


async def test_what_is_due_in_one_neither_wakes_nor_concerns_the_other(
    cells: tuple[Cell, Cell], target: Target
) -> None:
    one, other = cells
    heard = other.listener.subscribe(TIMERS)
    await heard.wait(timedelta())
    await one.arm(SCHEDULES, await one.now())
    await one.until_finished(5)
    assert (await heard.wait(timedelta())).cause is Cause.POLLED
    assert not other.member.heard.all(PassDone)
    assert await other.finished() == set()
    assert called(target, "other") == set()


async def test_each_has_its_own_leases(cells: tuple[Cell, Cell]) -> None:
    """All shards of both, and losing those of one leaves the other's."""
    one, other = cells
    assert one.member.shards == other.member.shards == set(range(SHARDS))
    await one.member.elector.resign()
    assert one.member.shards == set()
    assert other.member.shards == set(range(SHARDS))
    assert len(other.member.heard.all(LeaseTaken)) == SHARDS


async def test_each_knows_its_own_keys(cells: tuple[Cell, Cell]) -> None:
    one, other = cells
    texts: list[str] = []
    for each in cells:
        async with each.db.transaction() as tx:
            tenant = await tenants.default_tenant(tx)
            texts.append((await tenants.create_key(tx, tenant, scopes=("read",))).text)
    assert await authenticate(one.db, texts[0]) is not None
    assert await authenticate(one.db, texts[1]) is None
    assert await authenticate(other.db, texts[1]) is not None
    assert await authenticate(other.db, texts[0]) is None


async def test_a_database_keeps_its_companions_to_itself(cells: tuple[Cell, Cell]) -> None:
    one, other = cells
    assert one.db.companion(Recorder, lambda: one.worked) is one.worked
    assert other.db.companion(Recorder, lambda: other.worked) is other.worked
    assert one.db.companion(Recorder, lambda: other.worked) is one.worked
