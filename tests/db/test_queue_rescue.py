"""Taking claims from workers that are gone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.queue_support import (
    SECOND,
    attempt_rows,
    database_now,
    ended,
    fire,
    firing_rows,
    make_schedule,
    queue_rows,
    register_node,
    some_worker,
    take,
    until_waiting,
)

from rota.clock import ManualClock
from rota.db import Database, Session, driver
from rota.errors import TemporaryError
from rota.events import Bus, Recorder
from rota.leases import Node, NodeSession, SessionMade
from rota.leases import sql as leases_sql
from rota.leases.session import CONFIRMED_FOR
from rota.leases.sql import gone
from rota.queue.complete import settle
from rota.queue.rescue import (
    GONE_FOR,
    LAST_ATTEMPT,
    MAY_NOT_HAVE_BEEN_SENT,
    SILENT_FOR,
    rescue,
)
from rota.queue.withdraw import cancel
from rota.workers import rescuer as rescuing
from rota.workers.events import FiringRescued
from rota.workers.rescuer import Rescuer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db.driver import Connection

EXPIRED = timedelta(seconds=-1)


@pytest.fixture(autouse=True)
def _server_long_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own server may have been started a moment ago."""
    monkeypatch.setattr(leases_sql, "RESTART_GRACE", timedelta())


async def test_a_claim_that_has_run_out_waits_again_with_its_attempt_counted(
    db: Database,
) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    lost = some_worker()
    await take(db, lost, visibility=EXPIRED)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx)
    assert (rescued.id, rescued.worker) == (id_, lost)
    assert (rescued.attempt, rescued.state) == (1, "waiting")
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["worker"]) == ("lost", lost)
    (again,) = await take(db, some_worker())
    assert again.attempt == 2


async def test_a_claim_that_has_not_run_out_is_left_alone(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule)
    await take(db, some_worker())
    async with db.transaction() as tx:
        assert await rescue(tx) == []


async def test_the_rescued_workers_late_finish_is_refused(db: Database) -> None:
    """The worker that comes back: by then somebody else may have it, or nobody."""
    schedule = await make_schedule(db)
    await fire(db, schedule)
    zombie = some_worker()
    (each,) = await take(db, zombie, visibility=EXPIRED)
    async with db.transaction() as tx:
        await rescue(tx)
    async with db.transaction() as tx:
        # Its own row in `attempts` says that it was lost, not that it was recorded.
        assert (await settle(tx, zombie, [ended(each)])).accepted == frozenset()
    (again,) = await take(db, some_worker())
    async with db.transaction() as tx:
        assert (await settle(tx, zombie, [ended(each)])).accepted == frozenset()
    assert again.attempt == 2
    assert await firing_rows(db) == {}


async def test_what_may_have_begun_and_is_for_at_most_once_is_dead(db: Database) -> None:
    schedule = await make_schedule(db, delivery="at_most_once", overlap_policy="queue")
    now = await database_now(db)
    id_ = await fire(db, schedule, now)
    following = await fire(db, schedule, now + SECOND, state="blocked")
    await take(db, some_worker(), visibility=EXPIRED)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx)
    assert rescued.state == "dead"
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"], row["attempt"]) == ("dead", MAY_NOT_HAVE_BEEN_SENT, 1)
    assert (await queue_rows(db))[following]["state"] == "waiting"


async def test_what_its_worker_cannot_have_begun_is_put_back_without_using_an_attempt(
    db: Database,
) -> None:
    """It was claimed ahead, and its worker's right to begin had ended before its instant."""
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule, available_in=-10 * SECOND)
    gone = some_worker()
    await take(db, gone)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx, gone={gone: await database_now(db) - 11 * SECOND})
    assert (rescued.id, rescued.state) == (id_, "waiting")
    assert await attempt_rows(db) == []
    assert (await queue_rows(db))[id_]["began_at"] is None
    (again,) = await take(db, some_worker())
    assert again.attempt == 1


async def test_what_its_worker_may_have_begun_is_put_back_with_the_attempt_counted(
    db: Database,
) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule, available_in=-10 * SECOND)
    gone = some_worker()
    await take(db, gone)
    async with db.transaction() as tx:
        await rescue(tx, gone={gone: await database_now(db) - 9 * SECOND})
    (attempt,) = await attempt_rows(db)
    assert (attempt["attempt"], attempt["outcome"]) == (1, "lost")
    (again,) = await take(db, some_worker())
    assert again.attempt == 2


async def test_a_retry_that_its_worker_cannot_have_begun_waits_for_the_same_attempt(
    db: Database,
) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule, attempt=1, available_in=60 * SECOND)
    gone = some_worker()
    await take(db, gone, lead=90 * SECOND)
    async with db.transaction() as tx:
        await rescue(tx, gone={gone: await database_now(db)})
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["attempt"]) == ("retrying", 1)


async def test_at_most_once_is_never_put_back_and_ends_when_its_worker_has_been_silent(
    db: Database,
) -> None:
    """A worker that only lost its session for a moment still records how it ended."""
    schedule = await make_schedule(db, delivery="at_most_once")
    id_ = await fire(db, schedule, available_in=60 * SECOND)
    gone = some_worker()
    await take(db, gone, lead=90 * SECOND)
    now = await database_now(db)
    async with db.transaction() as tx:
        assert await rescue(tx, gone={gone: now - SILENT_FOR / 2}) == []
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx, gone={gone: now - SILENT_FOR})
    assert rescued.state == "dead"
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("dead", MAY_NOT_HAVE_BEEN_SENT)
    assert (row["attempt"], row["started_at"]) == (0, None)
    assert await attempt_rows(db) == []


async def test_a_firing_that_takes_every_worker_with_it_ends(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule, attempt=LAST_ATTEMPT - 1)
    await take(db, some_worker(), visibility=EXPIRED)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx)
    assert rescued.state == "dead"


async def test_what_somebody_wanted_ended_is_ended_by_the_rescue(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    await take(db, some_worker(), visibility=EXPIRED)
    async with db.transaction() as tx:
        await cancel(tx, [id_], "replaced")
        (rescued,) = await rescue(tx)
    assert rescued.state == "cancelled"
    assert (await firing_rows(db))[id_]["reason"] == "replaced"


async def test_each_claim_is_rescued_once_by_many_rescuers(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    for n in range(50):
        await fire(db, schedule, now + n * SECOND)
    await take(db, some_worker(), visibility=EXPIRED)

    async def rescuer() -> int:
        async with db.transaction() as tx:
            return len(await rescue(tx))

    assert sum(await asyncio.gather(*(rescuer() for _ in range(6)))) == 50
    assert len(await attempt_rows(db)) == 50


@asynccontextmanager
async def node_session(dsn: str, lock_key: int) -> AsyncGenerator[Connection]:
    """A session that holds a node's lock."""
    connection = await driver.connect(dsn, Session(application_name="rota node"))
    try:
        await connection.execute("SELECT pg_advisory_lock_shared(1919906913, $1)", lock_key)
        yield connection
    finally:
        connection.terminate()


_END = """
    SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
     WHERE application_name = 'rota node' AND datname = current_database()
"""

_PASS = "UPDATE nodes SET gone_since = gone_since - $2::interval WHERE id = $1"


async def passes(db: Database, node: UUID, interval: timedelta) -> None:
    """As if the node had been gone for so much longer."""
    async with db.transaction() as tx:
        await tx.execute(_PASS, node, interval)


async def ends_sessions(db: Database) -> None:
    async with db.transaction() as tx:
        assert await tx.fetch_value(_END) == 1


async def test_a_worker_whose_session_has_gone_is_rescued_two_seconds_later(
    dsn: str, db: Database
) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    orphans = {await fire(db, schedule, now + n * SECOND) for n in range(3)}
    orphan, unknown = some_worker(), some_worker()
    await take(db, orphan)
    await fire(db, schedule, now - SECOND)
    await take(db, unknown)
    bus = Bus()
    recorder, rescuer = Recorder(bus), Rescuer(db, bus)
    async with node_session(dsn, 77):
        async with db.transaction() as tx:
            await register_node(tx, orphan, 77)
        await passes(db, orphan, GONE_FOR)
        assert await rescuer.run_once() == 0
        await ends_sessions(db)
    assert await rescuer.run_once() == 0
    await passes(db, orphan, GONE_FOR)
    assert await rescuer.run_once() == 3
    assert {event.firing_id for event in recorder.all(FiringRescued)} == orphans
    assert {event.worker for event in recorder.all(FiringRescued)} == {orphan}


async def test_after_a_restart_of_the_server_a_missing_session_does_not_count(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fire(db, await make_schedule(db))
    orphan, rescuer = some_worker(), Rescuer(db, Bus())
    await take(db, orphan)
    async with db.transaction() as tx:
        await register_node(tx, orphan, 78)
    monkeypatch.setattr(leases_sql, "RESTART_GRACE", timedelta(days=365))
    assert await rescuer.run_once() == 0
    await passes(db, orphan, GONE_FOR)
    assert await rescuer.run_once() == 0
    monkeypatch.setattr(leases_sql, "RESTART_GRACE", timedelta())
    assert await rescuer.run_once() == 0
    await passes(db, orphan, GONE_FOR)
    assert await rescuer.run_once() == 1


async def test_a_worker_that_got_a_new_session_in_time_keeps_its_claims(
    dsn: str, db: Database
) -> None:
    """After a restart of the server nobody has a session for a moment."""
    await fire(db, await make_schedule(db))
    node, rescuer, bus = Node.start(["worker"]), Rescuer(db, Bus()), Bus()
    heard = Recorder(bus)
    async with NodeSession(dsn, node, bus=bus) as session:
        await heard.wait_for(SessionMade)
        await take(db, node.id)
        async with db.transaction() as tx:
            # As seen by a rescuer while the session was being made again.
            await tx.execute("UPDATE nodes SET gone_since = now() WHERE id = $1", node.id)
        epoch = session.epoch
        while session.epoch == epoch:
            session.want()
            await session.confirmation()
        await passes(db, node.id, GONE_FOR)
        assert await rescuer.run_once() == 0
    await passes(db, node.id, GONE_FOR)
    while not await rescuer.run_once():
        await passes(db, node.id, GONE_FOR)


async def test_a_worker_that_does_not_confirm_its_session_is_gone_though_the_session_is_there(
    dsn: str, db: Database
) -> None:
    """Frozen, or behind a black hole: after the time of a lease, not of a claim."""
    await fire(db, await make_schedule(db))
    frozen, rescuer = some_worker(), Rescuer(db, Bus())
    await take(db, frozen)
    async with node_session(dsn, 79):
        async with db.transaction() as tx:
            await register_node(tx, frozen, 79)
            await tx.execute("UPDATE nodes SET confirmed_at = now() WHERE id = $1", frozen)
        assert await rescuer.run_once() == 0
        async with db.transaction() as tx:
            await tx.execute(
                "UPDATE nodes SET confirmed_at = now() - $2::interval WHERE id = $1",
                frozen,
                SILENT_FOR - GONE_FOR,
            )
        assert await rescuer.run_once() == 0
        await passes(db, frozen, GONE_FOR)
        assert await rescuer.run_once() == 1


async def test_a_node_that_was_declared_gone_has_to_register_again(dsn: str, db: Database) -> None:
    """Its confirmations are refused: what it had claimed may be somebody else's."""
    node, bus = Node.start(["worker"]), Bus()
    heard = Recorder(bus)
    async with NodeSession(dsn, node, bus=bus) as session:
        await heard.wait_for(SessionMade)
        assert session.epoch == 1
        async with db.transaction() as tx:
            await tx.execute("UPDATE nodes SET gone_since = now() WHERE id = $1", node.id)
        session.want()
        while session.epoch == 1:
            await session.confirmation()
        assert session.epoch == 2
        async with db.transaction() as tx:
            since = await tx.fetch_value("SELECT gone_since FROM nodes WHERE id = $1", node.id)
        assert since is None


async def test_a_node_cannot_register_again_while_its_claims_are_being_taken(
    dsn: str, db: Database
) -> None:
    await fire(db, await make_schedule(db))
    node, bus = Node.start(["worker"]), Bus()
    heard = Recorder(bus)
    async with NodeSession(dsn, node, bus=bus) as session:
        await heard.wait_for(SessionMade)
        await take(db, node.id)
        async with db.transaction() as tx:
            await tx.execute(
                "UPDATE nodes SET gone_since = now() - $2::interval WHERE id = $1",
                node.id,
                GONE_FOR,
            )
            found = await gone(tx, [node.id], for_=GONE_FOR, confirmed_for=CONFIRMED_FOR)
            assert found.keys() == {node.id}
            session.want()
            await until_waiting(tx, 1)
            assert session.epoch == 1
            assert len(await rescue(tx, gone=found)) == 1
        while session.epoch == 1:
            await session.confirmation()


async def test_after_an_outage_others_are_given_the_time_to_come_back(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those whose claims have run out meanwhile: they may have outcomes to record."""
    clock = ManualClock(await database_now(db))
    schedule = await make_schedule(db)
    await fire(db, schedule)
    await take(db, some_worker(), visibility=EXPIRED)
    rescuer = Rescuer(db, Bus(), clock=clock, grace=4 * SECOND)
    assert await rescuer.run_once() == 0
    await clock.advance(3 * SECOND)
    with monkeypatch.context() as outage:
        outage.setattr(rescuing, "holders", _away)
        with pytest.raises(TemporaryError):
            await rescuer.run_once()
    await clock.advance(3 * SECOND)
    assert await rescuer.run_once() == 0
    await clock.advance(SECOND)
    assert await rescuer.run_once() == 1


async def _away(_: object) -> list[UUID]:
    raise TemporaryError("the database is away")
