"""Nodes for the tests of leases and firing: as many as a test likes, in one process."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString

from tests.deadlines import patience

from rota.clock import Clock, SystemClock
from rota.events import Bus, Recorder
from rota.leases import Elector, Node, NodeSession

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database

SHARDS = 64

HOLDERS: LiteralString = "SELECT shard, holder, fence FROM leases ORDER BY shard"


@dataclass
class Member:
    """One node of a fleet, with all that it says."""

    node: Node
    session: NodeSession
    elector: Elector
    bus: Bus = field(default_factory=Bus)

    def __post_init__(self) -> None:
        self.heard = Recorder(self.bus)

    @property
    def shards(self) -> set[int]:
        return {lease.shard for lease in self.elector.held()}


@asynccontextmanager
async def member(
    db: Database,
    *,
    clock: Clock | None = None,
    ttl: timedelta = timedelta(seconds=15),
    renew_interval: timedelta = timedelta(),
    grace: timedelta = timedelta(seconds=1),
) -> AsyncGenerator[Member]:
    """A node that is there, with its session made. It renews in every pass."""
    bus = Bus()
    node = Node.start(["scheduler"])
    async with NodeSession(db.dsn, node, bus=bus) as session:
        async with asyncio.timeout(patience(30)):
            await session.made.wait()
        elector = Elector(
            db,
            session,
            node,
            bus=bus,
            clock=clock or SystemClock(),
            ttl=ttl,
            renew_interval=renew_interval,
            look_interval=timedelta(milliseconds=50),
            margin=min(timedelta(seconds=2), ttl / 4),
            grace=grace,
        )
        yield Member(node, session, elector, bus)


async def fences(db: Database) -> dict[int, int]:
    """The fence of every shard, as stored."""
    async with db.transaction() as tx:
        return {row["shard"]: row["fence"] for row in await tx.fetch(HOLDERS)}


async def write(db: Database, statement: LiteralString, *args: object) -> int:
    """One statement in a transaction of its own."""
    async with db.transaction() as tx:
        return await tx.execute(statement, *args)
