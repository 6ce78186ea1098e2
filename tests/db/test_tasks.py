"""Tasks from the queue to their outcome, with a real worker."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.db.queue_support import attempt_rows, firing_rows, queue_rows
from tests.db.tasks_kit import QUICK, ask, declare, working
from tests.deadlines import patience

from rota.history import queries
from rota.history.outcomes import outcomes
from rota.queue import replay
from rota.queue.enqueue import EnqueueRequest, enqueue
from rota.queue.withdraw import cancel
from rota.schedules.replay import replay_one
from rota.tenants import service as tenants
from rota.workers.events import FiringFinished, FiringRetried, FiringStarted
from rota.workers.hosts.events import FiringPostponed
from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks
from rota.workers.tasks.events import TaskUnknown
from rota.workers.tasks.exceptions import Discard, Retry

if TYPE_CHECKING:
    from rota.db import Database


async def only_attempt(db: Database) -> Any:
    return (await attempt_rows(db))[0]


async def test_a_task_runs_with_its_arguments_and_its_result_is_kept(db: Database) -> None:
    async def add(a: int, b: int = 1) -> dict[str, int]:
        return {"sum": a + b}

    async with working(db, add) as crew:
        id_ = await ask(db, "add", b'{"args":[40],"kwargs":{"b":2}}')
        done = await crew.recorder.wait_for(FiringFinished)
    assert (done.firing_id, done.status) == (id_, "succeeded")
    async with db.transaction() as tx:
        seen = await outcomes(tx, [id_])
    assert seen.ended[id_].body == b'{"sum":42}'
    row = (await firing_rows(db))[id_]
    assert (row["result_excerpt"], row["triggered_by"]) == ('{"sum":42}', "enqueue")


async def test_a_failure_keeps_its_traceback_and_is_tried_again(db: Database) -> None:
    calls: list[int] = []

    def flaky(context: Context) -> str:
        calls.append(context.attempt)
        if context.attempt == 1:
            raise Retry("busy", after=0.01)
        if context.attempt == 2:
            raise ValueError("no")
        return "third"

    async with working(db, flaky, backoff_delay=0.01) as crew:
        await ask(db, "flaky")
        await crew.recorder.wait_for(FiringFinished)
        assert len(crew.recorder.all(FiringRetried)) == 2
    assert calls == [1, 2, 3]
    tried = await attempt_rows(db)
    assert [each["error"] for each in tried] == ["Retry: busy", "ValueError: no", None]
    assert b"in flaky" in tried[1]["response_body"]


async def test_a_discarded_run_ends_as_cancelled_with_its_reason(db: Database) -> None:
    async def useless() -> None:
        raise Discard("the order is gone")

    async with working(db, useless) as crew:
        id_ = await ask(db, "useless")
        await crew.recorder.wait_for(FiringFinished)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("cancelled", "the order is gone")


async def test_wrong_arguments_are_dead_at_once(db: Database) -> None:
    async def add(a: int) -> None: ...

    async with working(db, add) as crew:
        id_ = await ask(db, "add", b'{"args":["x"]}')
        await crew.recorder.wait_for(FiringFinished)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"]) == ("dead", 1)
    assert row["reason"].startswith("Wrong argument a: Expected `int`")


async def test_what_is_enqueued_while_its_task_is_edited_runs_as_edited(db: Database) -> None:
    """A deploy that changes a policy takes nothing from a transaction that is open meanwhile."""
    tries: list[int] = []

    async def flaky(context: Context) -> None:
        tries.append(context.max_attempts)
        if len(tries) == 1:
            raise Retry(after=0)

    async with working(db, flaky) as crew:
        async with db.transaction() as tx:
            (id_,) = await enqueue(tx, EnqueueRequest(task="flaky", payloads=[None]))
            await declare(db, "flaky", max_attempts=7)
        await crew.recorder.wait_for(FiringFinished)
    assert (await firing_rows(db))[id_]["status"] == "succeeded"
    assert tries == [7, 7]


async def test_a_replay_of_what_was_enqueued_is_data_too(db: Database) -> None:
    """No secret is filled into words that a program was given (S8), also the second time."""

    async def echo(said: str) -> str:
        return said

    async with working(db, echo) as crew:
        id_ = await ask(db, "echo", b'{"args": ["${secrets.KEY}"]}')
        await crew.recorder.wait_for(FiringFinished)
        async with db.transaction() as tx:
            tenant = await tenants.default_tenant(tx)
            found = await replay.origins(tx, tenant.id, [id_])
            again = await replay_one(tx, tenant, found[id_])
        await crew.recorder.wait_for(FiringFinished, where=lambda each: each.firing_id == again.id)
    assert (await firing_rows(db))[again.id]["status"] == "succeeded"
    assert (await firing_rows(db))[again.id]["triggered_by"] == "enqueue"


async def test_a_cancelled_run_hears_of_it_within_a_second(db: Database) -> None:
    heard: dict[str, Any] = {}
    begun = asyncio.Event()

    async def on_loop() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            heard["loop"] = True
            raise

    in_thread_begun, in_thread_ended = threading.Event(), threading.Event()

    def in_thread(context: Context) -> None:
        in_thread_begun.set()
        heard["thread"] = context.wait("1h") and context.cancelled
        in_thread_ended.set()

    async with working(db, on_loop, in_thread) as crew:
        one, two = await ask(db, "on_loop"), await ask(db, "in_thread")
        await begun.wait()
        await asyncio.to_thread(in_thread_begun.wait, patience(10))
        async with asyncio.timeout(patience(1.5)):
            async with db.transaction() as tx:
                await cancel(tx, [one], "not needed")
                await cancel(tx, [two], "not needed")
            await asyncio.to_thread(in_thread_ended.wait)
            for id_ in (one, two):
                await crew.recorder.wait_for(
                    FiringFinished, where=lambda each, id_=id_: each.firing_id == id_
                )
    assert heard == {"loop": True, "thread": True}
    rows = await firing_rows(db)
    assert [(rows[i]["status"], rows[i]["reason"]) for i in (one, two)] == [
        ("cancelled", "not needed")
    ] * 2


async def test_a_late_thread_is_recorded_in_time_and_keeps_its_hand(db: Database) -> None:
    """Concurrency stays honest: a hand is free when its function has returned."""
    go_on = threading.Event()

    def stuck() -> None:
        go_on.wait(patience(20))

    async with working(db, stuck, timeout_seconds=0.1, max_attempts=1) as crew:
        try:
            id_ = await ask(db, "stuck")
            await crew.recorder.wait_for(FiringFinished)
            assert crew.worker.running == 1, "its thread is still at it"
        finally:
            go_on.set()
        async with asyncio.timeout(patience(10)):
            while crew.worker.running:  # noqa: ASYNC110 - nothing is said when a hand is free
                await asyncio.sleep(0.01)  # noqa: TID251 - as above
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("dead", "timed out after 100ms, after 1 attempt")
    assert (await only_attempt(db))["outcome"] == "timed_out"


async def test_progress_is_seen_while_it_runs(db: Database) -> None:
    """Issue 6, 3: in GET /v1/firings/{id} and the commands, by way of this."""
    go_on = asyncio.Event()

    async def copy(context: Context) -> None:
        context.progress(0.1)
        context.progress(0.4, "copying")
        context.progress(note="still \0 copying")
        await go_on.wait()

    async with working(db, copy) as crew:
        id_ = await ask(db, "copy")
        await crew.recorder.wait_for(FiringStarted)
        async with asyncio.timeout(patience(10)):
            while True:
                async with db.transaction() as tx:
                    firing = await queries.find(tx, id_)
                if firing is not None and firing.progress is not None:
                    break
                await asyncio.sleep(0.01)  # noqa: TID251 - nothing is said when it is written
        assert (firing.status, firing.progress) == ("running", 0.4)
        assert firing.progress_note == "still \ufffd copying"
        go_on.set()
        await crew.recorder.wait_for(FiringFinished)


async def test_an_unknown_task_goes_back_without_an_attempt(db: Database) -> None:
    async def known() -> None: ...

    await declare(db, "renamed")
    async with working(db, known) as crew:
        id_ = await ask(db, "renamed")
        said = await crew.recorder.wait_for(TaskUnknown)
        await crew.recorder.wait_for(FiringPostponed)
        assert (said.task, said.firing_id) == ("renamed", id_)
        row = (await queue_rows(db))[id_]
        assert (row["state"], row["attempt"], row["worker"]) == ("waiting", 0, None)
        assert row["available_at"] > row["scheduled_for"] + timedelta(seconds=4)
        await ask(db, "known")
        done = await crew.recorder.wait_for(FiringFinished)
        assert done.status == "succeeded", "the worker goes on with what it knows"


async def test_an_idle_worker_begins_at_once(db: Database) -> None:
    """By the notice of the enqueue, and not by its poll."""

    async def quick() -> None: ...

    lazy = replace(QUICK, poll_interval=timedelta(hours=1))
    async with working(db, quick, settings=lazy) as crew:
        await crew.heard.wait(timedelta(seconds=patience(5)))
        async with asyncio.timeout(patience(5)):
            await ask(db, "quick")
            await crew.recorder.wait_for(FiringFinished)
