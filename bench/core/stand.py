"""Where it is measured: databases full of timers on an embedded PostgreSQL that is gone after."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from bench.core import sql
from bench.core.wire import Tape, open_taped
from rota.db import Database, Session, driver, embedded, migrate
from rota.db.installation import read as read_installation
from rota.history import retention
from rota.leases import SCHEDULER, Elector, Node, NodeSession
from rota.schedules.schedule import shard_of
from rota.tenants.service import default_tenant

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from bench.frame.measure import Session as Bench
    from rota.db.driver import Connection
    from rota.firing import Scheduler

SAMPLE = 50_000
_LONG = timedelta(minutes=10)
_STEP = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A database with so many timers."""

    timers: int
    shards: int
    tenant_id: UUID
    db: Database
    """All that is said to it is on the tape."""
    tape: Tape
    bare: Connection
    """As the pool's connections are, but with nothing in between."""
    admin: Connection
    """For setting up; may take its time."""

    async def now(self) -> datetime:
        """The database's clock, in whole seconds."""
        return await self.admin.fetchval(sql.NOW)

    async def arm(
        self, count: int, first: datetime, *, step: timedelta = _STEP, steps: int = 10
    ) -> None:
        """Make so many timers of the sample due, and nothing else to do: no firing is left."""
        await self.empty_queue()
        await self.set_due(count, first, step=step, steps=steps)
        await self.admin.execute(sql.TIDY_TIMERS)

    async def set_due(
        self, count: int, first: datetime, *, step: timedelta = _STEP, steps: int = 10
    ) -> None:
        """Make so many timers of the sample due, one statement and no more."""
        await self.admin.execute(sql.ARM, count, first, step, steps)

    async def empty_queue(self) -> None:
        """No firing is live or recorded, and the server's statistics know it."""
        await self.admin.execute(sql.EMPTY_QUEUE)
        await self.admin.execute(sql.TIDY_QUEUE)

    async def queued(self) -> int:
        """How many firings are in the queue."""
        return await self.admin.fetchval("SELECT count(*) FROM queue")


@dataclass(frozen=True, slots=True)
class Member:
    """A node that may take leases."""

    node: Node
    session: NodeSession
    elector: Elector


@asynccontextmanager
async def member(db: Database) -> AsyncGenerator[Member]:
    """A node with its session made, and its share of the leases: all of them, being alone."""
    node = Node.start([SCHEDULER])
    async with NodeSession(db.dsn, node) as session:
        async with asyncio.timeout(30):
            await session.made.wait()
        elector = Elector(db, session, node)
        await elector.run_once()
        assert elector.held(), "expected leases, got none"
        try:
            yield Member(node, session, elector)
        finally:
            await elector.resign()


@asynccontextmanager
async def renewing(holder: Member, *loops: Scheduler) -> AsyncGenerator[None]:
    """The node's leases are renewed, and these loops run, for as long as the block lasts."""
    tasks = [asyncio.create_task(each.service().run()) for each in (holder.elector, *loops)]
    try:
        yield
    finally:
        for task in reversed(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def stands(*sizes: int, session: Bench) -> AsyncGenerator[list[Stand]]:
    """A database for each number of timers, loaded."""
    with tempfile.TemporaryDirectory(prefix="rota-bench-", ignore_cleanup_errors=True) as folder:
        async with AsyncExitStack() as stack:
            home = Path(folder) / "data"
            server = await embedded.start(home)
            stack.push_async_callback(embedded.remove, home)
            await stack.enter_async_context(server)
            made: list[Stand] = []
            for size in sizes:
                session.at("set-up", f"loading {size:,} timers")
                made.append(await _stand(stack, server.dsn, size))
            yield made


async def _stand(stack: AsyncExitStack, dsn: str, size: int) -> Stand:
    name = f"stand_{size}"
    first = await driver.connect(dsn, Session())
    await first.execute(f"CREATE DATABASE {name}")
    await first.close()
    dsn = dsn.replace("@/rota?", f"@/{name}?")
    tape = Tape()
    db = await stack.enter_async_context(await open_taped(dsn, tape))
    await migrate.apply(db)
    async with db.transaction() as tx:
        tenant = await default_tenant(tx)
        installation = await read_installation(tx)
        today = await tx.fetch_value("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date")
        await retention.ensure(tx, today)
    stand = Stand(
        timers=size,
        shards=installation.shards,
        tenant_id=tenant.id,
        db=db,
        tape=tape,
        bare=await _connection(stack, dsn, Session(by_index=True)),
        admin=await _connection(stack, dsn, Session(statement_timeout=_LONG)),
    )
    await _load(stand)
    return stand


async def _connection(stack: AsyncExitStack, dsn: str, session: Session) -> Connection:
    connection = await driver.connect(dsn, session)
    stack.push_async_callback(connection.close)
    return connection


async def _load(stand: Stand) -> None:
    admin = stand.admin
    await admin.execute("SET session_replication_role = replica")
    await admin.execute(sql.LOAD_SCHEDULES, stand.tenant_id, stand.timers, stand.shards)
    await admin.execute(sql.LOAD_TIMERS)
    # Utility statements take no parameters: a literal stands for the sample's size.
    await admin.execute(sql.SAMPLE.replace("$1", str(min(SAMPLE, stand.timers))))
    for statement in sql.SETTLE.split(";"):
        await admin.execute(statement)
    for row in await admin.fetch("SELECT id, shard FROM schedules LIMIT 100"):
        assert row["shard"] == shard_of(row["id"], stand.shards)
