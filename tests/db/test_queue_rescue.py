"""Taking claims from workers that are gone (QW11, QW13, F12)."""

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
)

from rota.clock import ManualClock
from rota.db import Database, Session, driver
from rota.errors import TemporaryError
from rota.events import Bus, Recorder
from rota.queue.cancel import cancel
from rota.queue.finish import settle
from rota.queue.rescue import LAST_ATTEMPT, gone_workers, rescue
from rota.workers import rescuer as rescuing
from rota.workers.events import FiringRescued
from rota.workers.rescuer import Rescuer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db.driver import Connection

EXPIRED = timedelta(seconds=-1)


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
    """The zombie of F12: by then somebody else may have it, or nobody."""
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
    """DS1."""
    schedule = await make_schedule(db, delivery="at_most_once", overlap_policy="queue")
    now = await database_now(db)
    id_ = await fire(db, schedule, now)
    following = await fire(db, schedule, now + SECOND, state="blocked")
    await take(db, some_worker(), visibility=EXPIRED)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx)
    assert rescued.state == "dead"
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"], row["attempt"]) == ("dead", "worker lost", 1)
    assert (await queue_rows(db))[following]["state"] == "waiting"


async def test_what_was_held_ahead_waits_again_even_for_at_most_once(db: Database) -> None:
    """Nothing begins before its instant, so it cannot have been delivered."""
    schedule = await make_schedule(db, delivery="at_most_once")
    await fire(db, schedule, available_in=60 * SECOND)
    gone = some_worker()
    await take(db, gone, lead=90 * SECOND)
    async with db.transaction() as tx:
        (rescued,) = await rescue(tx, gone=[gone])
    assert rescued.state == "waiting"
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
        await cancel(tx, id_, "replaced")
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
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
     WHERE application_name = 'rota node' AND datname = current_database()
"""


async def test_a_worker_whose_session_has_gone_is_rescued_at_once(dsn: str, db: Database) -> None:
    """Not after its visibility; but not after a single look either."""
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
            assert await gone_workers(tx) == frozenset()
        assert await rescuer.run_once() == 0
        async with db.transaction() as tx:
            assert await tx.fetch_value(_END)
            assert await gone_workers(tx) == {orphan}
    assert await rescuer.run_once() == 0
    assert await rescuer.run_once() == 3
    assert {event.firing_id for event in recorder.all(FiringRescued)} == orphans
    assert {event.worker for event in recorder.all(FiringRescued)} == {orphan}


async def test_a_worker_that_got_a_new_session_in_time_keeps_its_claims(
    dsn: str, db: Database
) -> None:
    """After a restart of the server nobody has a session for a moment."""
    schedule = await make_schedule(db)
    await fire(db, schedule)
    worker: UUID = some_worker()
    await take(db, worker)
    async with db.transaction() as tx:
        await register_node(tx, worker, 78)
    rescuer = Rescuer(db, Bus())
    assert await rescuer.run_once() == 0
    async with node_session(dsn, 78):
        assert await rescuer.run_once() == 0
        async with db.transaction() as tx:
            assert await tx.fetch_value(_END)
    assert await rescuer.run_once() == 0
    assert await rescuer.run_once() == 1


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
        outage.setattr(rescuing, "gone_workers", _away)
        with pytest.raises(TemporaryError):
            await rescuer.run_once()
    await clock.advance(3 * SECOND)
    assert await rescuer.run_once() == 0
    await clock.advance(SECOND)
    assert await rescuer.run_once() == 1


async def _away(_: object) -> frozenset[UUID]:
    raise TemporaryError("the database is away")
