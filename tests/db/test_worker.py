"""The worker against a real database and a real target."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.completer_support import completing
from tests.db.queue_support import (
    SECOND,
    attempt_rows,
    database_now,
    ended,
    fire,
    firing_rows,
    leave_dead,
    make_schedule,
    pinned,
    queue_rows,
    some_worker,
    take,
)
from tests.deadlines import Strain, crowding, patience
from tests.unit.workers.target import Target, serving

from rota.clock import SystemClock
from rota.db import Listener
from rota.events import Bus, Recorder
from rota.queue.complete import AttemptRecord
from rota.queue.withdraw import cancel
from rota.targets import OPEN
from rota.workers import completer, right_to_begin
from rota.workers.channels import CHANNELS
from rota.workers.delivery.http import HttpCaller
from rota.workers.events import (
    ClaimLost,
    ClaimWithheld,
    FinishRefused,
    FiringFinished,
    FiringRescued,
    FiringRetried,
    FiringStarted,
    OutcomesRecorded,
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


FAR_AHEAD = replace(QUICK, lead=900 * SECOND)


@dataclass
class Crew:
    """A worker, and all that it says."""

    worker: Worker
    recorder: Recorder


@asynccontextmanager
async def working(
    db: Database, *, settings: WorkerSettings = QUICK, listen: bool = False
) -> AsyncGenerator[Crew]:
    bus = Bus()
    recorder = Recorder(bus)
    async with HttpCaller(OPEN) as http, Listener(db.dsn, list(CHANNELS)) as listener:
        worker = Worker(
            db,
            id_=some_worker(),
            callers={"http": http},
            listener=listener if listen else None,
            settings=settings,
            bus=bus,
        )
        async with worker:
            yield Crew(worker, recorder)


@pytest.fixture
async def target() -> AsyncGenerator[Target]:
    async with serving() as it:
        yield it


async def calling(db: Database, target: Target, path: str, **fields: Any) -> Schedule:
    return await make_schedule(db, target_url=f"{target.url}{path}", **fields)


async def test_a_firing_is_called_and_recorded(db: Database, target: Target) -> None:
    """HX3, HX4, RT4: the whole way, with all that is kept."""
    schedule = await calling(db, target, "/ok", payload={"a": 1}, headers={"X-Own": "1"})
    async with working(db) as crew:
        id_ = await fire(db, schedule)
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.firing_id, finished.status, finished.code) == (id_, "succeeded", 200)
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["attempt"], row["result_code"]) == ("succeeded", 1, 200)
    assert row["result_excerpt"] == "fine"
    assert row["scheduled_for"] <= row["started_at"] <= row["finished_at"]
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["response_status"]) == ("succeeded", 200)
    assert attempt["response_body"] == b"fine"
    assert '"X-Own": "1"' in attempt["request"]
    assert '"{\\"a\\":1}"' in attempt["request"]
    assert '"X-Answer", "42"' in attempt["response_headers"]
    assert target.received[0].headers["Rota-Fence"] == "7"
    assert await queue_rows(db) == {}


async def test_a_worker_finds_what_enters_behind_rows_that_cannot_be_vacuumed(
    db: Database, target: Target
) -> None:
    """Its claims look past the dead ones: what enters below is found by a sweep."""
    schedule = await calling(db, target, "/ok", overlap_policy="allow")
    now = await database_now(db)
    async with pinned(db.dsn):
        await leave_dead(db, schedule.tenant_id, 20_000, after=-300 * SECOND)
        async with working(db) as crew:
            await fire(db, schedule, now, available_in=SECOND)
            await crew.recorder.wait_for(FiringFinished)
            late = await fire(db, schedule, now - SECOND, available_in=-600 * SECOND)
            finished = await crew.recorder.wait_for(
                FiringFinished, where=lambda event: event.firing_id == late
            )
    assert finished.status == "succeeded"


async def test_nothing_starts_before_its_instant_and_not_long_after(
    db: Database, target: Target
) -> None:
    """I9: claimed ahead by the lead, begun at the instant by the database's clock."""
    schedule = await calling(db, target, "/ok", overlap_policy="allow")
    strain, now = Strain(), await database_now(db)
    async with working(db) as crew:
        for n in range(20):
            await fire(db, schedule, now + n * SECOND, available_in=(500 + 25 * n) * MILLISECOND)
        async with asyncio.timeout(patience(10)):
            while len(crew.recorder.all(FiringFinished)) < 20:
                await crew.recorder.wait_for(
                    FiringFinished, where=lambda _: len(crew.recorder.all(FiringFinished)) == 20
                )
    started = crew.recorder.all(FiringStarted)
    assert len(started) == 20
    assert min(event.lateness for event in started) >= timedelta()
    # Nobody waited for the database.
    median = sorted(event.lateness for event in started)[10]
    assert median < (0.1 + strain.seconds) * SECOND


async def test_what_was_seen_ahead_is_claimed_as_it_comes_into_sight(
    db: Database, target: Target
) -> None:
    """A herd needs all of the lead to be claimed; the poll would come far too late here."""
    schedule = await calling(db, target, "/ok")
    strain = Strain()
    await fire(db, schedule, available_in=SECOND + 500 * MILLISECOND)
    rare = replace(QUICK, poll_interval=3_600 * SECOND, lead=SECOND)
    async with working(db, settings=rare) as crew:
        started = await crew.recorder.wait_for(FiringStarted)
    assert timedelta() <= started.lateness < (1 + strain.seconds) * SECOND


async def test_failures_are_tried_again_after_exact_waits_until_one_succeeds(
    db: Database, target: Target
) -> None:
    """RT2, RT3: the wait counts from the end of the attempt."""
    schedule = await calling(
        db, target, "/flaky/2", backoff="linear", backoff_delay=200 * MILLISECOND
    )
    async with working(db) as crew:
        id_ = await fire(db, schedule)
        await crew.recorder.wait_for(FiringFinished)
        retried = crew.recorder.all(FiringRetried)
    attempts = await attempt_rows(db)
    assert [each["outcome"] for each in attempts] == ["failed", "failed", "succeeded"]
    assert [each["attempt"] for each in attempts] == [1, 2, 3]
    for each, event, factor in zip(attempts, retried, (1, 2), strict=False):
        assert event.retry_at == each["finished_at"] + factor * 200 * MILLISECOND
    for event, following in zip(retried, attempts[1:], strict=True):
        assert following["started_at"] >= event.retry_at
    row = (await firing_rows(db))[id_]
    assert (row["attempt"], row["started_at"]) == (3, attempts[0]["started_at"])
    assert len({r.headers["Idempotency-Key"] for r in target.received}) == 1
    assert [r.headers["Rota-Attempt"] for r in target.received] == ["1", "2", "3"]


async def test_a_retry_survives_the_worker_that_asked_for_it(db: Database, target: Target) -> None:
    """Section 22: not a sleep in memory."""
    schedule = await calling(db, target, "/flaky/1", backoff_delay=300 * MILLISECOND)
    async with working(db) as crew:
        await fire(db, schedule)
        retried = await crew.recorder.wait_for(FiringRetried)
    (row,) = (await queue_rows(db)).values()
    assert (row["state"], row["available_at"]) == ("retrying", retried.retry_at)
    async with working(db) as crew:
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.attempt) == ("succeeded", 2)


async def test_after_the_last_attempt_it_is_dead(db: Database, target: Target) -> None:
    """RT5, F3."""
    schedule = await calling(
        db, target, "/status/503", max_attempts=2, backoff_delay=10 * MILLISECOND
    )
    async with working(db) as crew:
        id_ = await fire(db, schedule)
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.reason) == ("dead", "HTTP 503, after 2 attempts")
    assert (await firing_rows(db))[id_]["result_excerpt"] == "said 503"
    assert len(await attempt_rows(db)) == len(target.received) == 2


async def test_a_client_error_is_dead_at_once(db: Database, target: Target) -> None:
    schedule = await calling(db, target, "/status/404")
    async with working(db) as crew:
        await fire(db, schedule)
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.reason, finished.attempt) == ("dead", "HTTP 404", 1)
    assert len(target.received) == 1


async def test_a_timeout_is_recorded_with_the_request(db: Database, target: Target) -> None:
    """F8."""
    schedule = await calling(db, target, "/slow/30", timeout_seconds=0.2, max_attempts=1)
    async with working(db) as crew:
        await fire(db, schedule)
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.code) == ("dead", None)
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["error"]) == ("timed_out", "timed out after 0.2 s")
    assert "/slow/30" in attempt["request"]


@pytest.mark.parametrize(
    ("capture", "path", "kept"),
    [("failures", "/ok", False), ("failures", "/status/400", True), ("none", "/status/400", False)],
)
async def test_as_much_is_kept_as_the_schedule_says(
    db: Database, target: Target, capture: str, path: str, *, kept: bool
) -> None:
    schedule = await calling(db, target, path, capture=capture)
    async with working(db) as crew:
        await fire(db, schedule)
        await crew.recorder.wait_for(FiringFinished)
    (attempt,) = await attempt_rows(db)
    assert (attempt["request"] is not None) == kept
    assert (attempt["response_body"] is not None) == kept


async def test_whatever_a_target_answers_can_be_recorded(db: Database, target: Target) -> None:
    """NUL bytes, bytes that are no text, headers that are no ASCII."""
    schedule = await calling(db, target, "/odd")
    async with working(db) as crew:
        id_ = await fire(db, schedule)
        await crew.recorder.wait_for(FiringFinished)
    assert (await firing_rows(db))[id_]["status"] == "succeeded"
    (attempt,) = await attempt_rows(db)
    assert attempt["response_body"] == b"\x00\xff\xfe"


async def test_a_megabyte_of_an_endless_body_is_kept(db: Database, target: Target) -> None:
    schedule = await calling(db, target, "/huge")
    async with working(db) as crew:
        await fire(db, schedule)
        await crew.recorder.wait_for(FiringFinished)
    (attempt,) = await attempt_rows(db)
    assert len(attempt["response_body"]) == 1024 * 1024


async def test_cancelling_reaches_a_running_attempt_within_a_second(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/30")
    clock = SystemClock()
    async with working(db, listen=True) as crew:
        id_ = await fire(db, schedule)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        strain, asked = Strain(), clock.monotonic()
        async with db.transaction() as tx:
            assert await cancel(tx, [id_], "asked for by its owner") == {id_: "asked"}
        finished = await crew.recorder.wait_for(FiringFinished)
        assert clock.monotonic() - asked < 1 + strain.seconds
        await _until(lambda: target.left == ["/slow/30"])
    assert (finished.status, finished.reason) == ("cancelled", "asked for by its owner")
    (attempt,) = await attempt_rows(db)
    assert attempt["outcome"] == "cancelled"
    assert "/slow/30" in attempt["request"]


async def test_without_notices_cancelling_is_heard_with_the_heartbeat(
    db: Database, target: Target
) -> None:
    """QW17."""
    settings = WorkerSettings(heartbeat_interval=200 * MILLISECOND, poll_interval=50 * MILLISECOND)
    schedule = await calling(db, target, "/slow/30")
    async with working(db, settings=settings) as crew:
        id_ = await fire(db, schedule)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        async with db.transaction() as tx:
            await cancel(tx, [id_], "enough")
        assert (await crew.recorder.wait_for(FiringFinished)).status == "cancelled"


_RECALL = """
    WITH held AS (
        UPDATE queue SET cancel_reason = $2 WHERE schedule_id = $1 AND state = 'running'
        RETURNING schedule_id
    ) SELECT pg_notify('rota_recall', schedule_id::text) FROM held
"""


async def test_a_claim_held_ahead_is_given_back_when_its_schedule_is_paused(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/ok")
    async with working(db, settings=FAR_AHEAD, listen=True) as crew:
        id_ = await fire(db, schedule, available_in=600 * SECOND)
        await _until(lambda: crew.worker.held == 1)
        async with db.transaction() as tx:
            await tx.fetch(_RECALL, schedule.id, "paused")
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.reason, finished.took) == ("skipped", "paused", None)
    assert target.received == []
    assert (await firing_rows(db))[id_]["attempt"] == 0


_EDIT = """
    WITH edited AS (
        UPDATE schedules SET version = 2, definition = definition || '{"body": "new"}' WHERE id = $1
    ), held AS (
        UPDATE queue SET version = 2 WHERE schedule_id = $1 RETURNING schedule_id
    ) SELECT pg_notify('rota_recall', schedule_id::text) FROM held
"""


async def test_a_claim_held_ahead_fires_as_its_schedule_was_edited(
    db: Database, target: Target
) -> None:
    """What is sent is what the schedule says when it fires, not when the claim was made."""
    schedule = await calling(db, target, "/ok")
    async with working(db, settings=FAR_AHEAD, listen=True) as crew:
        # Time enough to edit it before its instant.
        id_ = await fire(db, schedule, available_in=1.5 * crowding() * SECOND)
        await _until(lambda: crew.worker.held == 1)
        async with db.transaction() as tx:
            await tx.fetch(_EDIT, schedule.id)
        assert (await crew.recorder.wait_for(FiringFinished)).status == "succeeded"
    assert [each.body for each in target.received] == [b"new"]
    row = (await firing_rows(db))[id_]
    assert (row["attempt"], row["version"]) == (1, 2)


async def test_what_has_begun_when_its_schedule_is_paused_runs_to_its_end(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/0.5")
    async with working(db, listen=True) as crew:
        await fire(db, schedule)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        async with db.transaction() as tx:
            await tx.fetch(_RECALL, schedule.id, "paused")
        assert (await crew.recorder.wait_for(FiringFinished)).status == "succeeded"


async def test_a_firing_of_a_schedule_that_was_edited_or_deleted_is_skipped(
    db: Database, target: Target
) -> None:
    edited, deleted = await calling(db, target, "/ok"), await calling(db, target, "/ok")
    await fire(db, edited)
    await fire(db, deleted)
    async with db.transaction() as tx:
        await tx.execute("UPDATE schedules SET version = 2 WHERE id = $1", edited.id)
        await tx.execute("DELETE FROM schedules WHERE id = $1", deleted.id)
    async with working(db) as crew:
        for schedule, reason in ((edited, "edited"), (deleted, "deleted")):
            finished = await crew.recorder.wait_for(
                FiringFinished, where=lambda event, id_=schedule.id: event.schedule_id == id_
            )
            assert (finished.status, finished.reason) == ("skipped", reason)
    assert target.received == []


async def test_a_manual_run_is_begun_without_waiting_for_the_poll(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/ok")
    settings = WorkerSettings(poll_interval=timedelta(minutes=5))
    async with working(db, settings=settings, listen=True) as crew:
        first = await fire(db, schedule)
        await _notify(db, "rota_queue", "http")
        await crew.recorder.wait_for(FiringFinished, where=lambda e: e.firing_id == first)


async def test_what_enters_in_the_same_process_is_begun_without_a_poll_or_a_listener(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/ok")
    settings = WorkerSettings(poll_interval=timedelta(minutes=5))
    async with working(db, settings=settings) as crew:
        first = await fire(db, schedule)
        db.tell("rota_queue", "another lane")
        db.tell("rota_queue", "http")
        await crew.recorder.wait_for(FiringFinished, where=lambda e: e.firing_id == first)


async def test_a_retry_is_claimed_ahead_without_a_poll(db: Database, target: Target) -> None:
    schedule = await calling(
        db, target, "/flaky/1", max_attempts=2, backoff="fixed", backoff_delay=SECOND / 2
    )
    settings = WorkerSettings(poll_interval=timedelta(minutes=5))
    async with working(db, settings=settings) as crew:
        first = await fire(db, schedule)
        db.tell("rota_queue", "http")
        finished = await crew.recorder.wait_for(
            FiringFinished, where=lambda e: e.firing_id == first
        )
        assert finished.status == "succeeded"


async def test_a_blocked_chain_runs_one_after_another_in_order(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/0.05", overlap_policy="queue")
    now = await database_now(db)
    ids = [await fire(db, schedule, now, state="waiting")]
    ids += [await fire(db, schedule, now + n * SECOND, state="blocked") for n in range(1, 5)]
    last = ids[-1]
    async with working(db) as crew:
        await crew.recorder.wait_for(FiringFinished, where=lambda e: e.firing_id == last)
    attempts = {row["firing_id"]: row for row in await attempt_rows(db)}
    runs = [(attempts[id_]["started_at"], attempts[id_]["finished_at"]) for id_ in ids]
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(runs))


async def test_no_more_run_at_once_than_allowed_and_no_more_are_held(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/0.1", overlap_policy="allow")
    now = await database_now(db)
    for n in range(12):
        await fire(db, schedule, now + n * SECOND)
    settings = WorkerSettings(concurrency=3, prefetch=2, poll_interval=20 * MILLISECOND)
    most = [0, 0]
    async with working(db, settings=settings) as crew:

        def look(_: FiringStarted) -> None:
            most[0] = max(most[0], crew.worker.running)
            most[1] = max(most[1], crew.worker.held)

        crew.worker._bus.subscribe(FiringStarted, look)
        await _until(lambda: len(crew.recorder.all(FiringFinished)) == 12)
    assert most[0] <= 3
    assert most[1] <= 5
    assert len(target.received) == 12


async def test_with_too_much_to_record_nothing_more_is_begun_until_there_is_room(
    db: Database, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One outcome is too much: all come to their end, none begun beside one to be recorded."""
    monkeypatch.setattr(completer, "MAX_PENDING_BYTES", 1)
    schedule = await calling(db, target, "/ok", overlap_policy="allow")
    now = await database_now(db)
    for n in range(8):
        await fire(db, schedule, now + n * SECOND)
    settings = WorkerSettings(concurrency=1, prefetch=10, poll_interval=20 * MILLISECOND)
    async with working(db, settings=settings) as crew:
        at_start: list[bool] = []
        crew.worker._bus.subscribe(
            FiringStarted, lambda _: at_start.append(crew.worker._completer.full)
        )
        await _until(lambda: len(crew.recorder.all(FiringFinished)) == 8)
    assert len(target.received) == 8
    assert not any(at_start)


async def test_stopping_finishes_what_runs_and_gives_back_the_rest(
    db: Database, target: Target
) -> None:
    """Drain: nothing is lost, nothing is done twice."""
    schedule = await calling(db, target, "/slow/1", overlap_policy="allow")
    now = await database_now(db)
    settings = WorkerSettings(
        concurrency=1, prefetch=10, poll_interval=20 * MILLISECOND, lead=900 * SECOND
    )
    running = await fire(db, schedule, now)
    waiting = {await fire(db, schedule, now + n * SECOND) for n in range(1, 4)}
    ahead = await fire(db, schedule, now + 9 * SECOND, available_in=600 * SECOND)
    async with working(db, settings=settings) as crew:
        await _until(lambda: crew.worker.held == 5 and crew.worker.running == 1)
        # What was given back is nobody's to wait for: the grace is of 20 seconds.
        await asyncio.wait_for(crew.worker.stop(), patience(10))
        assert crew.worker.held == 0
    rows = await queue_rows(db)
    assert set(rows) == waiting | {ahead}
    assert {(row["state"], row["attempt"]) for row in rows.values()} == {("waiting", 0)}
    assert {row["worker"] for row in rows.values()} == {None}
    assert set(await firing_rows(db)) == {running}
    assert len(target.received) == 1


async def test_what_does_not_end_within_the_grace_goes_back_to_the_queue(
    db: Database, target: Target
) -> None:
    patient = await calling(db, target, "/slow/30", max_attempts=1)
    once = await calling(db, target, "/slow/31", delivery="at_most_once")
    async with working(db) as crew:
        returned, dead = await fire(db, patient), await fire(db, once)
        await _until(lambda: len(target.received) == 2)
        await crew.worker.stop(grace=100 * MILLISECOND)
    row = (await queue_rows(db))[returned]
    assert (row["state"], row["attempt"], row["worker"]) == ("retrying", 1, None)
    end = (await firing_rows(db))[dead]
    assert (end["status"], end["reason"]) == ("dead", "worker stopped")
    assert {each["outcome"] for each in await attempt_rows(db)} == {"interrupted"}


async def test_a_claim_that_was_rescued_from_a_live_worker_is_broken_off(
    db: Database, target: Target
) -> None:
    """The zombie's attempt ends, and its word does not count."""
    schedule = await calling(db, target, "/slow/30")
    settings = WorkerSettings(heartbeat_interval=100 * MILLISECOND, poll_interval=20 * MILLISECOND)
    async with working(db, settings=settings) as crew:
        id_ = await fire(db, schedule)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        async with db.transaction() as tx:
            await tx.execute("UPDATE queue SET worker = $1, attempt = 2", some_worker())
        await crew.recorder.wait_for(ClaimLost)
    assert (await queue_rows(db))[id_]["attempt"] == 2
    assert await attempt_rows(db) == []


async def test_a_finish_that_comes_too_late_is_refused_and_said_so(
    db: Database, target: Target
) -> None:
    schedule = await calling(db, target, "/slow/0.3")
    async with working(db) as crew:
        await fire(db, schedule)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        async with db.transaction() as tx:
            await tx.execute("UPDATE queue SET worker = $1, attempt = 2", some_worker())
        await crew.recorder.wait_for(FinishRefused)
    assert await firing_rows(db) == {}


async def test_a_long_attempt_keeps_its_claim(db: Database, target: Target) -> None:
    """QW12: visibility is shorter than the call."""
    settings = WorkerSettings(
        visibility=1500 * MILLISECOND,
        heartbeat_interval=200 * MILLISECOND,
        poll_interval=50 * MILLISECOND,
        rescue_interval=100 * MILLISECOND,
    )
    schedule = await calling(db, target, "/slow/2.5")
    async with working(db, settings=settings) as crew:
        await fire(db, schedule)
        assert (await crew.recorder.wait_for(FiringFinished)).attempt == 1
    assert crew.recorder.all(FiringRescued) == []
    assert len(target.received) == 1


async def test_a_claim_that_may_be_somebody_elses_by_now_is_not_begun(
    db: Database, target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was frozen past its visibility."""
    monkeypatch.setattr(right_to_begin, "TRUST_MARGIN", timedelta(hours=1))
    schedule = await calling(db, target, "/ok")
    async with working(db) as crew:
        await fire(db, schedule)
        await crew.recorder.wait_for(ClaimWithheld)
    assert target.received == []
    assert await attempt_rows(db) == []


async def test_an_outcome_the_database_will_not_take_does_not_hold_up_the_others(
    db: Database,
) -> None:
    schedule = await make_schedule(db, overlap_policy="allow")
    now = await database_now(db)
    for n in range(4):
        await fire(db, schedule, now + n * SECOND)
    me = some_worker()
    bad, *good = await take(db, me)
    bus = Bus()
    recorder = Recorder(bus)
    async with completing(db, me, bus) as completer:
        completer.add(ended(bad, tried=AttemptRecord(outcome="succeeded", request="not JSON")))
        for each in good:
            completer.add(ended(each))
        await asyncio.wait_for(completer.drained(), patience(10))
    recorded = recorder.all(OutcomesRecorded)
    assert frozenset().union(*(each.accepted for each in recorded)) == {
        each.id for each in (bad, *good)
    }
    errors = {row["firing_id"]: row["error"] for row in await attempt_rows(db)}
    assert errors[bad.id] == "the details could not be recorded"


async def test_the_claims_of_a_lost_worker_are_done_by_another(
    db: Database, target: Target
) -> None:
    """F12."""
    schedule = await calling(db, target, "/ok")
    await fire(db, schedule)
    await take(db, some_worker(), visibility=200 * MILLISECOND)
    async with working(db) as crew:
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.status, finished.attempt) == ("succeeded", 2)
    assert [r.headers["Rota-Attempt"] for r in target.received] == ["2"]


async def test_a_database_that_goes_away_for_a_moment_costs_no_outcome(
    db: Database, target: Target
) -> None:
    """F9: every session is ended while attempts run."""
    schedule = await calling(db, target, "/slow/0.2", overlap_policy="allow")
    now = await database_now(db)
    async with working(db) as crew:
        for n in range(30):
            await fire(db, schedule, now + n * SECOND)
        await asyncio.wait_for(target.arrived.wait(), patience(10))
        async with db.transaction() as tx:
            await tx.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await _until(lambda: len(crew.recorder.all(FiringFinished)) == 30)
    assert await queue_rows(db) == {}
    assert len(await firing_rows(db)) == 30


async def test_many_firings_are_recorded_in_few_batches(db: Database, target: Target) -> None:
    schedule = await calling(db, target, "/ok", overlap_policy="allow", capture="none")
    now = await database_now(db)
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,"
            " state, triggered_by, lane) SELECT gen_random_uuid(), $1, $2, 1,"
            " $3::timestamptz + n * interval '1 second', clock_timestamp(),"
            " 'waiting', 'schedule', 'http' FROM generate_series(1, 600) n",
            schedule.id,
            schedule.tenant_id,
            now,
        )
    settings = WorkerSettings(concurrency=100, prefetch=600, poll_interval=50 * MILLISECOND)
    async with working(db, settings=settings) as crew:
        await _until(lambda: len(crew.recorder.all(FiringFinished)) == 600, seconds=30)
    batches = [len(each.settlements) for each in crew.recorder.all(OutcomesRecorded)]
    assert sum(batches) == 600
    assert len(batches) < 200
    assert len(target.received) == 600


async def _notify(db: Database, channel: str, payload: str) -> None:
    async with db.transaction() as tx:
        await tx.execute("SELECT pg_notify($1, $2)", channel, payload)


async def _until(condition: Any, *, seconds: float = 15) -> None:
    clock = SystemClock()
    async with asyncio.timeout(patience(seconds)):
        while not condition():
            await clock.sleep(5 * MILLISECOND)
