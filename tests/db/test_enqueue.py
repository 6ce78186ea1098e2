"""Entering runs of a task into the queue, in the caller's own transaction."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import ended, queue_rows, some_worker, take, until_waiting
from tests.db.tasks_kit import ask, declare
from tests.deadlines import patience

from rota.db import Listener, driver
from rota.db.locks import QUEUE
from rota.history import queries
from rota.queue.complete import settle
from rota.queue.enqueue import MAX_ROWS, EnqueueRequest, enqueue
from rota.queue.unblock import free_held
from rota.schedules import pause, update
from rota.schedules.bulk_pause import PauseRequest, pause_some, resume_some
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from rota.db import Database

MINUTE = timedelta(minutes=1)


class Undo(Exception):
    """Ends a transaction."""


async def test_a_run_is_a_row_of_its_task_with_a_payload_of_its_own(db: Database) -> None:
    schedule_id = await declare(db, "reports.send", queue="reports", priority=7)
    id_ = await ask(db, "reports.send", b'{"args":[1]}')
    row = (await queue_rows(db))[id_]
    assert row["schedule_id"] == schedule_id
    assert (row["lane"], row["priority"], row["state"]) == ("reports", 7, "waiting")
    assert (row["triggered_by"], row["attempt"]) == ("enqueue", 0)
    assert row["payload"] == '{"args": [1]}'
    assert row["scheduled_for"] == row["available_at"]
    assert id_.bytes[:6] == int(row["scheduled_for"].timestamp() * 1000).to_bytes(6, "big") or (
        abs(int.from_bytes(id_.bytes[:6], "big") - row["scheduled_for"].timestamp() * 1000) < 1000
    ), "ids sort by time, as all others do"


async def test_a_run_may_be_for_later_and_of_its_own_priority(db: Database) -> None:
    await declare(db)
    at = datetime(2035, 1, 1, tzinfo=UTC)
    later = await ask(db, delay=MINUTE * 10, priority=9)
    then = await ask(db, at=at, priority=0)
    past = await ask(db, at=datetime(2020, 1, 1, tzinfo=UTC))
    rows = await queue_rows(db)
    now = rows[past]["available_at"]
    assert timedelta(minutes=9) < rows[later]["available_at"] - now < timedelta(minutes=11)
    assert rows[then]["available_at"] == at
    assert (rows[later]["priority"], rows[then]["priority"]) == (9, 0)
    assert now.year > 2024, "what is past is now"


async def test_a_key_names_one_live_run(db: Database) -> None:
    """Unique keys: the second enqueue gives the first one's id, until that has ended."""
    await declare(db)
    await declare(db, "other")
    first = await ask(db, key="user:1")
    assert await ask(db, key="user:1") == first
    assert await ask(db, key="user:2") != first
    assert await ask(db, "other", key="user:1") != first, "keys are a task's own"
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM queue WHERE id = $1", first)
    assert await ask(db, key="user:1") != first


async def test_of_many_who_ask_at_once_for_a_key_one_enters(db: Database) -> None:
    await declare(db)
    ids = await asyncio.gather(*(ask(db, key="one") for _ in range(8)))
    assert len(set(ids)) == 1
    assert len(await queue_rows(db)) == 1


async def test_who_waits_for_a_transaction_that_is_undone_enters_instead(db: Database) -> None:
    await declare(db)

    async def undone(entered: asyncio.Event, go: asyncio.Event) -> None:
        with contextlib.suppress(Undo):
            async with db.transaction() as tx:
                await enqueue(tx, EnqueueRequest(task="t", payloads=[None], key="k"))
                entered.set()
                await go.wait()
                raise Undo

    entered, go = asyncio.Event(), asyncio.Event()
    first = asyncio.create_task(undone(entered, go))
    await entered.wait()
    second = asyncio.create_task(ask(db, key="k"))
    go.set()
    await first
    id_ = await second
    assert list(await queue_rows(db)) == [id_]


async def test_many_are_entered_in_order(db: Database) -> None:
    await declare(db)
    payloads: list[bytes | None] = [b"[%d]" % n for n in range(MAX_ROWS + 5)]
    payloads[3] = None
    async with db.transaction() as tx:
        ids = await enqueue(tx, EnqueueRequest(task="t", payloads=payloads))
    rows = await queue_rows(db)
    assert len(set(ids)) == len(rows) == MAX_ROWS + 5
    assert [rows[id_]["payload"] for id_ in ids[:5]] == ["[0]", "[1]", "[2]", None, "[4]"]
    assert rows[ids[-1]]["payload"] == f"[{MAX_ROWS + 4}]"


async def test_what_is_undone_was_never_there(db: Database) -> None:
    await declare(db)
    with contextlib.suppress(Undo):
        async with db.transaction() as tx:
            await enqueue(tx, EnqueueRequest(task="t", payloads=[None]))
            raise Undo
    assert not await queue_rows(db)


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ({"task": "nobody"}, "there is no task 'nobody' to enqueue"),
        ({"task": "t", "priority": 10}, "expected a priority from 0 to 9, got 10"),
        (
            {"task": "t", "delay": MINUTE, "at": datetime(2035, 1, 1, tzinfo=UTC)},
            "expected a delay or an instant, got both",
        ),
        ({"task": "alone"}, "the schedule 'alone' may not run beside itself"),
    ],
)
async def test_what_cannot_be_is_refused_in_a_sentence(
    db: Database, order: dict[str, Any], said: str
) -> None:
    await declare(db)
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        # A schedule with a task that may not run beside itself is not for enqueueing.
        given = {"name": "alone", "job_type": "alone", "cron_expr": "0 9 * * *"}
        await update.upsert_by_key(tx, tenant, "alone", given, shards=8)
    with pytest.raises(driver.ERRORS, match=said):
        async with db.transaction() as tx:
            await enqueue(tx, EnqueueRequest(payloads=[None], **order))


async def test_workers_of_the_lane_are_told_once_of_what_is_due(db: Database) -> None:
    await declare(db, queue="reports")
    async with Listener(db.dsn, [QUEUE]) as listener:
        news = listener.subscribe(QUEUE)
        while not listener.connected:
            await news.wait(timedelta(seconds=patience(5)))
        await ask(db, delay=MINUTE)
        async with db.transaction() as tx:
            for _ in range(3):
                await enqueue(tx, EnqueueRequest(task="t", payloads=[b"[1]", b"[2]"]))
        heard: list[str] = []
        while not heard:
            wake = await news.wait(timedelta(seconds=patience(5)))
            heard += [each.payload for each in wake.notices]
    assert heard == ["reports"]


@pytest.mark.parametrize("together", [False, True])
async def test_what_is_enqueued_waits_while_its_task_is_paused(
    db: Database, *, together: bool
) -> None:
    """A pause loses no work that a program has asked for, whoever is paused with it."""
    schedule_id = await declare(db)
    before = await ask(db, key="before")
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        wish = PauseRequest(tenant_id=tenant.id)
        if together:
            await pause_some(tx, wish)
        else:
            await pause.pause(tx, tenant, schedule_id)
    meanwhile = await ask(db)
    assert await ask(db, key="before") == before
    rows = await queue_rows(db)
    assert not await take(db, some_worker(), lanes=("default",))
    async with db.transaction() as tx:
        seen = await queries.find(tx, meanwhile)
        assert seen is not None
        assert (seen.status, seen.available_at) == ("waiting", None)
        if together:
            await resume_some(tx, wish)
        else:
            await update.resume(tx, tenant, schedule_id)
    claims = await take(db, some_worker(), lanes=("default",))
    assert {each.id for each in claims} == {before, meanwhile} == set(rows)


async def test_what_was_enqueued_while_its_task_was_resumed_does_not_wait_for_ever(
    db: Database,
) -> None:
    """Who resumes cannot see a run whose transaction is still open: a worker finds it."""
    schedule_id, other_id = await declare(db), await declare(db, "other")
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)
        await pause.pause(tx, tenant, schedule_id)
    async with db.transaction() as tx:
        await pause.pause(tx, tenant, other_id)
    held = await ask(db, "other")
    async with db.transaction() as tx:
        id_ = (await enqueue(tx, EnqueueRequest(task="t", payloads=[None])))[0]
        async with db.transaction() as meanwhile:
            await update.resume(meanwhile, tenant, schedule_id)
    assert not await take(db, some_worker(), lanes=("default",))
    async with db.transaction() as tx:
        assert await free_held(tx) == 1
        assert await free_held(tx) == 0
    assert [each.id for each in await take(db, some_worker(), lanes=("default",))] == [id_]
    assert set(await queue_rows(db)) == {id_, held}


async def test_any_program_can_enqueue_with_a_function_of_the_database(db: Database) -> None:
    schedule_id = await declare(db, "reports.send")
    async with db.transaction() as tx:
        await tx.execute("SET LOCAL search_path = public")
        id_ = await tx.fetch_value(
            """SELECT rota.enqueue('reports.send', '{"team": "ops"}', delay => '10 minutes',
                                   unique_key => 'ops')"""
        )
    row = (await queue_rows(db))[id_]
    assert (row["schedule_id"], row["payload"]) == (schedule_id, '{"team": "ops"}')
    assert row["unique_key"] == "ops"


async def test_a_program_with_a_login_of_its_own_enqueues_for_its_tenant_alone(
    db: Database,
) -> None:
    """As the guide says: a member of rota_tenant, held to its tenant by a setting (S9)."""
    await declare(db)
    with contextlib.suppress(Undo):
        async with db.transaction() as tx:
            tenant = await tenants.default_tenant(tx)
            await tx.execute("CREATE ROLE rota_test_shop; GRANT rota_tenant TO rota_test_shop")
            await tx.execute("GRANT rota_test_shop TO CURRENT_USER")
            await tx.execute("SET LOCAL ROLE rota_test_shop")
            with pytest.raises(driver.ERRORS, match="there is no task"):
                async with tx.savepoint():
                    await tx.fetch_value("SELECT rota.enqueue('t')")
            await tx.fetch_value("SELECT set_config('rota.tenant', $1, true)", str(tenant.id))
            id_ = await tx.fetch_value("SELECT rota.enqueue('t', '[1]')")
            await tx.execute("RESET ROLE")
            assert await tx.fetch_value("SELECT tenant_id FROM queue WHERE id = $1", id_) == (
                tenant.id
            )
            raise Undo


async def test_an_edit_and_the_ends_of_delayed_runs_do_not_wait_for_each_other(
    db: Database,
) -> None:
    """Both lock rows in the order of their ids, which is not that of the instants they are for."""
    schedule_id = await declare(db)
    worker = some_worker()
    later = await ask(db, delay=timedelta(seconds=1))
    # Of the next millisecond at the earliest, which is the first part of an id.
    await _a_moment(db)
    sooner = await ask(db)
    claims = await take(db, worker, lanes=("default",))
    assert [later, sooner] == sorted(each.id for each in claims)
    async with db.transaction() as tx:
        tenant = await tenants.default_tenant(tx)

    async def edit() -> None:
        async with db.transaction() as tx:
            await update.update(tx, tenant, schedule_id, {"priority": 3})

    async def end() -> None:
        async with db.transaction() as tx:
            await settle(tx, worker, [ended(each, "dead") for each in claims])

    async with asyncio.TaskGroup() as group, db.transaction() as tx:
        await tx.execute("SELECT FROM queue WHERE id = $1 FOR UPDATE", sooner)
        group.create_task(edit())
        await until_waiting(tx, 1)
        group.create_task(end())
        await until_waiting(tx, 2)
    assert not await queue_rows(db)


async def _a_moment(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("SELECT pg_sleep(0.002)")
        # As it is when its time has come.
        await tx.execute("UPDATE queue SET available_at = clock_timestamp()")
