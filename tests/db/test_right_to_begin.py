"""Two workers, one of which loses the database while it lives: nothing is begun by both."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.queue_support import SECOND, attempt_rows, fire, firing_rows, make_schedule
from tests.db.test_worker import QUICK
from tests.failures.wire import Wire, wire
from tests.unit.workers.target import Target, serving

from rota.db import Database
from rota.events import Bus, Recorder
from rota.leases import Node, NodeSession, SessionLost, SessionMade
from rota.leases import sql as leases_sql
from rota.queue import rescue
from rota.targets import OPEN
from rota.workers import rescuer
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import FiringFinished, FiringRescued
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

PACE = replace(QUICK, lead=90 * SECOND, rescue_grace=timedelta())
SILENT_FOR = 4 * SECOND


@dataclass
class Member:
    """A worker with a session of its own, and all that it says."""

    worker: Worker
    session: NodeSession
    heard: Recorder


@asynccontextmanager
async def working(dsn: str) -> AsyncGenerator[Member]:
    bus = Bus()
    heard = Recorder(bus)
    node = Node.start(["worker"])
    db = await Database.open(dsn)
    try:
        async with NodeSession(dsn, node, bus=bus) as session, HttpCaller(OPEN) as http:
            worker = Worker(
                db, id_=node.id, callers={"http": http}, session=session, settings=PACE, bus=bus
            )
            await heard.wait_for(SessionMade)
            async with worker:
                yield Member(worker, session, heard)
    finally:
        await db.close()


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    async with serving() as it:
        yield it


@pytest.fixture
async def line(dsn: str) -> AsyncGenerator[Wire]:
    async with wire(dsn) as it:
        yield it


@pytest.fixture(autouse=True)
def _sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (rescue, rescuer):
        monkeypatch.setattr(module, "SILENT_FOR", SILENT_FOR)
    monkeypatch.setattr(leases_sql, "RESTART_GRACE", timedelta())


async def holds(member: Member, count: int) -> None:
    """Until the worker holds so many claims."""
    async with asyncio.timeout(60):
        while member.worker.held != count:
            await asyncio.wait_for(asyncio.shield(member.session.confirmation()), 60)


async def test_a_worker_begins_nothing_that_was_given_to_another_when_it_lost_its_session(
    dsn: str, db: Database, target: Target, line: Wire
) -> None:
    """Its connections are reset, and it cannot connect again until the other has finished."""
    schedule = await make_schedule(db, target_url=f"{target.url}/ok")
    async with working(line.dsn) as cut:
        id_ = await fire(db, schedule, available_in=8 * SECOND)
        await holds(cut, 1)
        await line.reset()
        await cut.heard.wait_for(SessionLost)
        async with working(dsn) as other:
            rescued = await other.heard.wait_for(FiringRescued)
            assert (rescued.firing_id, rescued.worker) == (id_, cut.worker.id)
            finished = await other.heard.wait_for(FiringFinished)
            assert (finished.status, finished.attempt) == ("succeeded", 1)
            line.mend()
            await holds(cut, 0)
    assert [each.headers["Rota-Attempt"] for each in target.received] == ["1"]
    assert [each["outcome"] for each in await attempt_rows(db)] == ["succeeded"]


async def test_at_most_once_is_begun_by_its_own_worker_or_by_nobody(
    dsn: str, db: Database, target: Target, line: Wire
) -> None:
    schedule = await make_schedule(db, target_url=f"{target.url}/ok", delivery="at_most_once")
    async with working(line.dsn) as cut:
        id_ = await fire(db, schedule, available_in=60 * SECOND)
        await holds(cut, 1)
        await line.reset()
        async with working(dsn) as other:
            rescued = await other.heard.wait_for(FiringRescued)
            assert (rescued.firing_id, rescued.state) == (id_, "dead")
            line.mend()
            await holds(cut, 0)
    assert target.received == []
    row = (await firing_rows(db))[id_]
    assert (row["reason"], row["attempt"]) == (rescue.MAY_NOT_HAVE_BEEN_SENT, 0)


async def test_a_worker_that_has_its_session_again_in_time_begins_what_it_had_claimed(
    dsn: str, db: Database, target: Target, line: Wire
) -> None:
    """Claimed again, so that nobody else can have it; no attempt is used."""
    schedule = await make_schedule(db, target_url=f"{target.url}/ok", delivery="at_most_once")
    async with working(line.dsn) as cut:
        await fire(db, schedule, available_in=8 * SECOND)
        await holds(cut, 1)
        await line.reset()
        await cut.heard.wait_for(SessionLost)
        line.mend()
        finished = await cut.heard.wait_for(FiringFinished)
    assert (finished.status, finished.attempt) == ("succeeded", 1)
    assert len(target.received) == 1


async def test_a_worker_behind_a_black_hole_begins_nothing(
    dsn: str, db: Database, target: Target, line: Wire
) -> None:
    """Nobody has hung up: its session is there, as far as the server can see."""
    schedule = await make_schedule(db, target_url=f"{target.url}/ok")
    async with working(line.dsn) as cut:
        id_ = await fire(db, schedule, available_in=8 * SECOND)
        await holds(cut, 1)
        line.cut()
        async with working(dsn) as other:
            rescued = await other.heard.wait_for(FiringRescued)
            assert (rescued.firing_id, rescued.attempt) == (id_, 1)
            assert not cut.session.is_confirmed
            finished = await other.heard.wait_for(FiringFinished)
            assert (finished.status, finished.attempt) == ("succeeded", 1)
            line.mend()
            await holds(cut, 0)
    assert line.held_back > 0
    assert len(target.received) == 1
