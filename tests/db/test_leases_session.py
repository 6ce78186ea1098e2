"""A node's session: the sign of life that a crash takes away at once."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.db.leases_kit import SHARDS, member
from tests.db.queue_support import fire, make_schedule, take
from tests.deadlines import Strain, patience

from rota.clock import SystemClock
from rota.events import Bus, Recorder
from rota.leases import LeaseTaken, Node, NodeSession, SessionLost, SessionMade
from rota.leases.node import LOCK_CLASS
from rota.leases.sql import declare_gone

if TYPE_CHECKING:
    from rota.db import Database

_LOCKS = """
    SELECT count(*) FROM pg_locks
     WHERE locktype = 'advisory' AND granted AND objsubid = 2
       AND classid = $1::bigint::oid AND objid = $2::bigint::oid
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""

_END_SESSIONS = """
    SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'rota node'
"""

_SCHEDULER = """if True:
    import asyncio, sys
    from datetime import timedelta
    from rota.db import Database
    from rota.events import Bus, Recorder
    from rota.leases import Elector, LeaseTaken, Node, NodeSession
    async def main():
        db = await Database.open(sys.argv[1])
        node, bus = Node.start(["scheduler"]), Bus()
        heard = Recorder(bus)
        async with NodeSession(db.dsn, node) as session:
            running = asyncio.create_task(Elector(db, session, node, bus=bus).service().run())
            await heard.wait_for(LeaseTaken)
            print("taken", flush=True)
            await running
    asyncio.run(main())
"""


async def locks(db: Database, node: Node) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value(_LOCKS, LOCK_CLASS, node.lock_key)


async def rows(db: Database, node: Node) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT count(*) FROM nodes WHERE id = $1", node.id)


async def test_a_node_has_a_row_and_a_lock_while_it_is_there(dsn: str, db: Database) -> None:
    node = Node.start(["worker"])
    async with NodeSession(dsn, node) as session:
        await session.made.wait()
        assert session.is_held
        assert await locks(db, node) == 1
        assert await rows(db, node) == 1
    assert not session.is_held
    assert await rows(db, node) == 0
    for _ in range(100):
        if await locks(db, node) == 0:
            break
    assert await locks(db, node) == 0


async def test_a_node_that_leaves_with_claims_is_seen_to_be_gone(dsn: str, db: Database) -> None:
    """Somebody has them a moment later, and not when they run out."""
    node = Node.start(["worker"])
    async with NodeSession(dsn, node) as session:
        await session.made.wait()
        await fire(db, await make_schedule(db))
        assert len(await take(db, node.id)) == 1
        async with db.transaction() as tx:
            assert await declare_gone(tx, [node.id], silent_for=timedelta(minutes=1)) == 0
    async with db.transaction() as tx, asyncio.timeout(patience(10)):
        while not await declare_gone(tx, [node.id], silent_for=timedelta(minutes=1)):
            pass


async def test_a_session_that_is_lost_is_made_again(dsn: str, db: Database) -> None:
    bus = Bus()
    heard = Recorder(bus)
    node = Node.start(["worker"])
    async with NodeSession(dsn, node, bus=bus) as session:
        for times in (1, 2, 3):
            await session.made.wait()
            async with db.transaction() as tx:
                assert await tx.fetch_value(_END_SESSIONS) == 1
            await heard.wait_for(
                SessionLost, where=lambda _, n=times: len(heard.all(SessionLost)) >= n
            )
        await session.made.wait()
        assert await locks(db, node) == 1
        assert len(heard.all(SessionMade)) == 4


async def test_a_new_session_has_the_lock_while_the_server_still_sees_the_old_one(
    dsn: str, db: Database
) -> None:
    """The old one may be a dead connection that nobody has noticed yet: no gap in between."""
    node = Node.start(["worker"])
    async with NodeSession(dsn, node) as old, NodeSession(dsn, node) as new:
        async with asyncio.timeout(patience(10)):
            await old.made.wait()
            await new.made.wait()
        assert await locks(db, node) == 2


async def test_without_a_database_a_session_says_so_and_tries_on() -> None:
    bus = Bus()
    heard = Recorder(bus)
    nowhere = "postgresql://rota:secret@/rota?host=%2Fno%2Fsuch%2Ffolder"
    async with NodeSession(nowhere, Node.start(["worker"]), bus=bus) as session:
        await heard.wait_for(SessionLost, where=lambda _: len(heard.all(SessionLost)) > 1)
        assert not session.is_held
        assert "secret" not in repr(heard.all(SessionLost))


async def test_a_workers_session_says_that_it_is_there(dsn: str, db: Database) -> None:
    node = Node.start(["worker"])
    async with NodeSession(dsn, node, idle_interval=timedelta(milliseconds=10)) as session:
        await session.made.wait()
        async with db.transaction() as tx:
            first = await tx.fetch_value("SELECT seen_at FROM nodes WHERE id = $1", node.id)
        later = first
        for _ in range(1000):
            async with db.transaction() as tx:
                later = await tx.fetch_value("SELECT seen_at FROM nodes WHERE id = $1", node.id)
            if later > first:
                break
        assert later > first


async def test_a_killed_scheduler_is_replaced_within_two_seconds(dsn: str, db: Database) -> None:
    """F1, F16: kill -9, noticed by the session it takes along and not by the end of its leases."""
    child = await asyncio.to_thread(_start, dsn)
    try:
        async with member(db) as survivor:
            running = asyncio.create_task(survivor.elector.service().run())
            # Wait until the two have parted the shards, so that both are at work.
            await survivor.heard.wait_for(
                LeaseTaken, where=lambda _: len(survivor.heard.all(LeaseTaken)) == SHARDS // 2
            )
            clock = SystemClock()
            strain, killed_at = Strain(), clock.monotonic()
            os.kill(child.pid, signal.SIGKILL)
            await survivor.heard.wait_for(
                LeaseTaken, where=lambda _: len(survivor.heard.all(LeaseTaken)) == SHARDS
            )
            took = clock.monotonic() - killed_at
            running.cancel()
            assert survivor.shards == set(range(SHARDS))
            assert took < 2 + strain.seconds
    finally:
        child.kill()
        child.communicate()


def _start(dsn: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", _SCHEDULER, dsn], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "taken\n"
    return child
