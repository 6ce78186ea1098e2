"""Outcomes as a worker makes them, against a real database and a real target."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import (
    SECOND,
    attempt_rows,
    database_now,
    fire,
    firing_rows,
    make_schedule,
    queue_rows,
    some_worker,
)
from tests.deadlines import Strain
from tests.unit.workers.target import Target, serving

from rota.db import Listener
from rota.events import Bus, Recorder
from rota.queue.external_claims import Tokens
from rota.queue.states import DETACHED
from rota.queue.withdraw import cancel
from rota.schedules.list import find
from rota.schedules.update import pause_version
from rota.targets import OPEN
from rota.workers.channels import CHANNELS
from rota.workers.delivery.callback import Callback
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import (
    FiringDetached,
    FiringFinished,
    FiringOverdue,
    FiringRetried,
    SchedulePaused,
)
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database
    from rota.schedules.schedule import Schedule

MILLISECOND = timedelta(milliseconds=1)
QUICK = WorkerSettings(
    poll_interval=50 * MILLISECOND,
    rescue_interval=100 * MILLISECOND,
    heartbeat_interval=timedelta(seconds=2),
    stop_grace=5 * SECOND,
)
TOKENS = Tokens(b"k" * 32)


@asynccontextmanager
async def working(db: Database) -> AsyncGenerator[tuple[Worker, Recorder]]:
    bus = Bus()
    recorder = Recorder(bus)
    callback = Callback(TOKENS, "https://rota.example/base/")
    async with (
        HttpCaller(OPEN, callback=callback) as http,
        Listener(db.dsn, list(CHANNELS)) as listener,
        Worker(
            db,
            id_=some_worker(),
            callers={"http": http},
            listener=listener,
            settings=QUICK,
            bus=bus,
            has_tokens=True,
        ) as worker,
    ):
        yield worker, recorder


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    async with serving() as it:
        yield it


async def calling(db: Database, target: Target, path: str, **fields: Any) -> Schedule:
    return await make_schedule(db, target_url=f"{target.url}{path}", **fields)


async def test_a_target_that_takes_the_work_on_is_given_a_token_and_frees_the_worker(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/taken", async_timeout_seconds=600)
    async with working(db) as (worker, recorder):
        id_ = await fire(db, schedule)
        detached = await recorder.wait_for(FiringDetached)
        assert (worker.running, worker.held) == (0, 0)
    assert (detached.firing_id, detached.attempt) == (id_, 1)
    headers = target.received[0].headers
    assert headers["Rota-Token"] == TOKENS.token(id_, 1)
    assert headers["Rota-Callback"].startswith("https://rota.example/base/v1/firings/fir_")
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["worker"]) == ("running", DETACHED)
    assert row["claimed_until"] == detached.until
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["response_status"]) == ("accepted", 202)
    assert TOKENS.token(id_, 1) not in attempt["request"]


async def test_what_is_not_completed_in_time_is_tried_again(db: Database, target: Target) -> None:
    schedule = await calling(
        db,
        target,
        "/taken",
        async_timeout_seconds=0.2,
        max_attempts=2,
        backoff_delay=timedelta(),
    )
    async with working(db) as (_, recorder):
        id_ = await fire(db, schedule)
        await recorder.wait_for(FiringOverdue, where=lambda each: each.state == "dead")
    assert [each.headers["Rota-Attempt"] for each in target.received] == ["1", "2"]
    assert [each["outcome"] for each in await attempt_rows(db)] == ["timed_out", "timed_out"]
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"]) == ("dead", 2)
    assert row["reason"].endswith("did not complete it within 200ms, after 2 attempts")


async def test_a_target_that_is_gone_pauses_its_schedule(db: Database, target: Target) -> None:
    """S13, S18: 410 disables, and says why."""
    schedule = await calling(db, target, "/status/410")
    async with working(db) as (_, recorder):
        id_ = await fire(db, schedule)
        paused = await recorder.wait_for(SchedulePaused)
    assert (paused.schedule_id, paused.firing_id) == (schedule.id, id_)
    assert (await firing_rows(db))[id_]["reason"] == "HTTP 410: the target is gone"
    async with db.transaction() as tx:
        standing = await find(tx, schedule.tenant_id, schedule.id)
    assert standing is not None
    assert standing.schedule.status == "paused"
    assert standing.status_reason == "HTTP 410: the target is gone"


async def test_a_schedule_that_was_edited_since_is_not_paused(db: Database) -> None:
    """The address that is gone may be mended."""
    schedule = await make_schedule(db, version=2)
    async with db.transaction() as tx:
        for version, paused in ((1, False), (2, True), (2, False)):
            found = await pause_version(
                tx, schedule.tenant_id, schedule.id, version=version, reason="HTTP 410"
            )
            assert found is paused
        assert not await pause_version(
            tx, schedule.tenant_id, some_worker(), version=1, reason="HTTP 410"
        )


@pytest.mark.parametrize(
    ("code", "fields", "expected"),
    [
        (404, {}, "dead"),
        (404, {"success_on": ("2xx", 404)}, "succeeded"),
        (301, {}, "dead"),
        (503, {"retry_on": ()}, "dead"),
        (503, {"delivery": "at_most_once"}, "dead"),
        (503, {"retry_window": timedelta()}, "dead"),
    ],
)
async def test_the_schedule_says_what_an_answer_means(
    db: Database, target: Target, code: int, fields: dict[str, Any], expected: str
) -> None:
    schedule = await calling(db, target, f"/status/{code}", **fields)
    async with working(db) as (_, recorder):
        await fire(db, schedule)
        finished = await recorder.wait_for(FiringFinished)
    assert (finished.status, finished.code) == (expected, code)
    assert len(target.received) == 1


async def test_the_retry_window_counts_from_the_first_turn(db: Database, target: Target) -> None:
    schedule = await calling(
        db,
        target,
        "/status/500",
        backoff="fixed",
        backoff_delay=400 * MILLISECOND,
        retry_window=timedelta(seconds=1),
        max_attempts=25,
    )
    async with working(db) as (_, recorder):
        id_ = await fire(db, schedule)
        finished = await recorder.wait_for(FiringFinished)
    assert finished.reason == "HTTP 500, and the retry window of 1s is over"
    assert 1 <= finished.attempt <= 3
    assert len(recorder.all(FiringRetried)) == finished.attempt - 1
    assert (await firing_rows(db))[id_]["attempt"] == finished.attempt


async def test_a_cancel_reaches_a_running_request_within_a_second(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/30", timeout_seconds=60)
    async with working(db) as (_, recorder):
        id_ = await fire(db, schedule)
        await target.arrived.wait()
        strain, asked_at = Strain(), await database_now(db)
        async with db.transaction() as tx:
            assert await cancel(tx, [id_], "enough") == {id_: "asked"}
        finished = await recorder.wait_for(FiringFinished)
        took = await database_now(db) - asked_at
    assert (finished.status, finished.reason) == ("cancelled", "enough")
    assert took < (1 + strain.seconds) * SECOND
    (attempt,) = await attempt_rows(db)
    assert attempt["outcome"] == "cancelled"
    assert target.left == ["/slow/30"]
