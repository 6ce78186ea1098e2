"""The test kit: a program's schedules and tasks on a clock that only the test moves."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rota import Context, Discard, Retry, Rota
from rota.errors import CallerError
from rota.library.handles import TaskCancelled, TaskFailed
from rota.testing import NotEnded, Runaway, TestKit
from rota.testing import kit as kits

START = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def rota() -> Rota:
    return Rota(app="tests")


def at(text: str) -> datetime:
    """ "08:30", or "2 08:30" of another day of March 2026."""
    day, _, time = text.rpartition(" ")
    return datetime.fromisoformat(f"2026-03-{int(day or 1):02}T{time}+00:00")


def kit_of(rota: Rota) -> TestKit:
    return TestKit(rota, now=START)


def test_a_day_of_schedules_runs_in_the_order_of_their_slots(rota: Rota) -> None:
    @rota.schedule("0 */6 * * *")
    def every_six() -> None: ...

    @rota.schedule("every day at 9am", timezone="Europe/Madrid")
    async def morning() -> str:
        return "good morning"

    kit = kit_of(rota)
    runs = kit.advance(hours=24)
    assert [(run.schedule, run.scheduled_for) for run in runs] == [
        ("every_six", at("06:00")),
        ("morning", at("08:00")),
        ("every_six", at("12:00")),
        ("every_six", at("18:00")),
        ("every_six", at("2 00:00")),
    ]
    assert kit.now == at("2 00:00")
    assert kit.runs_of(morning)[0].result == "good morning"
    assert kit.next_at == at("2 06:00")
    kit.check()


async def test_in_async_code_it_is_awaited_and_def_runs_in_a_thread(rota: Rota) -> None:
    threads = list[int]()

    @rota.schedule("every 1h")
    def plain() -> None:
        threads.append(threading.get_ident())

    @rota.schedule("every 1h")
    async def on_the_loop() -> None:
        await asyncio.to_thread(threading.get_ident)
        threads.append(threading.get_ident())

    kit = kit_of(rota)
    runs = kit.advance(hours=1)
    with pytest.raises(RuntimeError, match="await kit"):
        len(runs)
    assert len(await runs) == 2
    assert threads.count(threading.get_ident()) == 1


def test_in_sync_code_def_runs_in_the_thread_of_the_test(rota: Rota) -> None:
    threads = list[int]()

    @rota.schedule("every 1h")
    def plain() -> None:
        threads.append(threading.get_ident())
        asyncio.run(
            asyncio.to_thread(threading.get_ident)
        )  # as in a worker's thread, no loop is in its way

    kit = kit_of(rota)
    assert [run.outcome for run in kit.advance("90m")] == ["succeeded"]
    assert threads == [threading.get_ident()]


def test_arguments_and_context_are_as_a_worker_gives_them(rota: Rota) -> None:
    seen = list[Any]()

    @rota.task(max_attempts=4, timeout="5m")
    def report(context: Context, team: str, day: datetime) -> None:
        seen.append((team, day, context.attempt, context.max_attempts, context.deadline))
        seen.append((context.scheduled_for, context.schedule_key, context.triggered_by))
        context.progress(0.5, "half")
        context.heartbeat()

    kit = kit_of(rota)
    report.enqueue("ops", START, delay="10m")
    kit.advance(hours=1)
    assert seen == [
        ("ops", START, 1, 4, at("00:15")),
        (at("00:10"), report.key, "enqueue"),
    ]


def test_a_schedules_payload_is_its_arguments(rota: Rota) -> None:
    @rota.schedule("every 1h", payload={"team": "ops"})
    def report(team: str) -> str:
        return team.upper()

    assert kit_of(rota).advance(hours=1)[0].result == "OPS"


@pytest.mark.parametrize(
    ("backoff", "attempts"),
    [
        ("exponential", ["00:00:00", "00:00:10", "00:00:30", "00:01:10"]),
        ("linear", ["00:00:00", "00:00:10", "00:00:30", "00:01:00"]),
        ("fixed", ["00:00:00", "00:00:10", "00:00:20", "00:00:30"]),
    ],
)
def test_retries_come_after_the_real_backoff(rota: Rota, backoff: Any, attempts: Any) -> None:
    """RT1, in virtual time."""

    @rota.task(max_attempts=4, backoff=backoff, backoff_delay="10s")
    def broken() -> None:
        raise ValueError("no such team")

    kit = kit_of(rota)
    handle = broken.enqueue()
    runs = kit.advance(hours=1)
    assert [run.started_at for run in runs] == [at(each) for each in attempts]
    assert [run.attempt for run in runs] == [1, 2, 3, 4]
    assert [run.status for run in runs] == ["retrying"] * 3 + ["dead"]
    assert runs[-1].error == "ValueError: no such team"
    with pytest.raises(TaskFailed, match="after 4 attempts"):
        handle.wait()
    with pytest.raises(AssertionError, match="no such team") as told:
        kit.check()
    assert isinstance(told.value.__cause__, ValueError)


def test_a_task_says_itself_how_to_go_on(rota: Rota) -> None:
    @rota.task(max_attempts=5)
    async def charge(context: Context, order: int) -> str:
        if order < 0:
            raise Discard("no such order")
        if context.attempt < 3:
            raise Retry("busy", after="1h")
        return "paid"

    kit = kit_of(rota)
    paid, none = charge.enqueue(1), charge.enqueue(-1)
    kit.advance(hours=3)
    assert [run.started_at for run in kit.runs if run.error is None] == [at("02:00")]
    assert paid.wait() == "paid"
    assert none.status() == "cancelled"
    with pytest.raises(TaskCancelled, match="no such order"):
        none.wait()


def test_arguments_that_do_not_fit_are_not_tried_again(rota: Rota) -> None:
    @rota.schedule("every 1h", payload={"team": 3})
    def report(team: str) -> None: ...

    runs = kit_of(rota).advance(hours=1)
    assert [run.status for run in runs] == ["dead"]
    assert "Wrong argument team" in (runs[0].reason or "")


@pytest.mark.parametrize(
    ("policy", "ran", "left"),
    [
        ("skip", ["00:10 succeeded", "00:40 succeeded"], [("skipped", "overlap")] * 4),
        ("allow", [f"00:{m}0 succeeded" for m in (1, 2, 3, 4)], []),
        ("queue", ["00:10 succeeded", "00:20 succeeded"], []),
        ("cancel_previous", [f"00:{m}0 cancelled" for m in (1, 2, 3, 4, 5)], []),
    ],
)
def test_overlap_is_decided_by_the_policy(rota: Rota, policy: Any, ran: Any, left: Any) -> None:
    """OV1, OV2, OV3, with runs that take longer than their period."""

    @rota.schedule("*/10 * * * *", overlap_policy=policy)
    def slow() -> None: ...

    kit = kit_of(rota)
    kit.takes(slow, minutes=25)
    kit.advance("69m")
    assert [f"{run.scheduled_for:%H:%M} {run.outcome}" for run in kit.runs] == ran
    assert [(each.status, each.reason) for each in kit.not_run] == left


def test_a_run_that_takes_longer_than_its_timeout_has_timed_out(rota: Rota) -> None:
    @rota.task(timeout="5m", max_attempts=2, backoff_delay="1m")
    def slow() -> None: ...

    kit = kit_of(rota)
    kit.takes("slow", minutes=7)
    slow.enqueue()
    runs = kit.advance(hours=1)
    assert [run.outcome for run in runs] == ["timed_out", "timed_out"]
    assert [run.started_at for run in runs] == [at("00:00"), at("00:06")]
    assert runs[-1].reason == "timed out after 5m, after 2 attempts"


def test_limits_are_kept(rota: Rota) -> None:
    @rota.schedule("every 1h", max_firings=2)
    def twice() -> None: ...

    @rota.schedule("0 * * * *", start_at="2026-03-01T05:00Z", end_at="2026-03-01T07:00Z")
    def between() -> None: ...

    kit = kit_of(rota)
    kit.advance(days=1)
    assert [run.scheduled_for for run in kit.runs_of(twice)] == [at("01:00"), at("02:00")]
    assert [run.scheduled_for for run in kit.runs_of("between")] == [
        at("05:00"),
        at("06:00"),
        at("07:00"),
    ]


@pytest.mark.parametrize(
    ("on", "fails", "follows"),
    [
        ("succeeded", False, True),
        ("succeeded", True, False),
        ("failed", False, False),
        ("failed", True, True),
        ("finished", True, True),
    ],
)
def test_what_follows_is_run_and_told(rota: Rota, on: str, fails: bool, follows: bool) -> None:
    told = list[Any]()

    @rota.schedule("every day at 9am", max_attempts=1)
    def first() -> int:
        if fails:
            raise ValueError
        return 42

    @rota.schedule(after=first, on=on)
    def then(after: dict[str, Any]) -> None:
        told.append((after["status"], None if fails else after["result"]))

    kit = kit_of(rota)
    kit.advance(days=1)
    assert told == ([("dead", None) if fails else ("succeeded", 42)] if follows else [])
    assert [run.scheduled_for for run in kit.runs_of(then)] == [at("09:00")] * follows


def test_what_tasks_enqueue_is_run_when_it_is_due(rota: Rota) -> None:
    order = list[str]()

    @rota.task
    def note(text: str) -> None:
        order.append(text)

    @rota.schedule("0 1 * * *")
    def begin() -> None:
        note.enqueue("low", priority=1)
        note.enqueue("high", priority=9)
        note.enqueue("later", delay="30m")
        note.enqueue("at", at=at("01:10"))
        note.enqueue("once", key="k", delay="5m")
        note.enqueue("twice", key="k", delay="5m")
        note.enqueue_many(["a", "b"])

    kit = kit_of(rota)
    kit.advance(hours=2)
    assert order == ["high", "a", "b", "low", "once", "at", "later"]
    first = kit.enqueued[0]
    assert (first.args, first.kwargs, first.priority) == (("low",), {}, 1)
    assert first.enqueued_at == at("01:00")
    assert len(kit.enqueued) == 7
    assert kit.waiting == 0


def test_a_handle_tells_how_its_run_stands(rota: Rota) -> None:
    @rota.task
    def double(number: int) -> int:
        return number * 2

    kit = kit_of(rota)
    handle, never = double.enqueue(4, delay="1h"), double.enqueue(5, delay="1h")
    assert handle.status() == "waiting"
    with pytest.raises(NotEnded, match=r"kit\.advance"):
        handle.wait()
    assert never.cancel() is True
    assert never.cancel() is False
    kit.advance(hours=1)
    assert (handle.wait(), handle.status(), never.status()) == (8, "succeeded", "cancelled")
    many = double.enqueue_many([1, 2])
    kit.run_due()
    assert many.results() == [2, 4]


async def test_a_handle_is_awaited_in_async_code(rota: Rota) -> None:
    @rota.task
    async def double(number: int) -> int:
        return number * 2

    kit = kit_of(rota)
    handle = await double.enqueue(4)
    await kit.run_due()
    assert await handle.result() == 8
    assert await handle.status() == "succeeded"


@pytest.mark.parametrize(
    ("policy", "ran", "missed"),
    [
        ("fire_late", ["02:30", "03:00"], (4, "misfire_cap")),
        ("fire_most_recent", ["03:00"], (5, "misfire_policy")),
        ("skip", ["03:00"], (5, "misfire_policy")),
    ],
)
def test_an_outage_is_caught_up_with_by_the_misfire_policy(
    rota: Rota, policy: Any, ran: Any, missed: Any
) -> None:
    """MF3."""

    @rota.schedule("*/30 * * * *", misfire_policy=policy, misfire_cap=2)
    def report() -> None: ...

    kit = kit_of(rota)
    runs = kit.outage(hours=3)
    assert [run.scheduled_for for run in runs] == [at(each) for each in ran]
    assert {run.is_catch_up for run in runs} == {policy != "skip"}
    assert [(each.count, each.reason) for each in kit.not_run] == [missed]
    assert [run.scheduled_for for run in kit.advance("30m")] == [at("03:30")]


def test_a_saga_is_undone_in_reverse(rota: Rota) -> None:
    """DS10."""
    done = list[str]()

    @rota.task
    def flight(to: str) -> str:
        done.append(f"flight to {to}")
        return "12A"

    @rota.task
    def no_flight(to: str, steps: dict[str, Any]) -> None:
        done.append(f"no flight to {to}, {steps['flight']} is free")

    @rota.task(max_attempts=2)
    def hotel(to: str) -> None:
        raise ValueError(f"no hotel in {to}")

    trip = rota.saga("trip", [(flight, no_flight), hotel])
    kit = kit_of(rota)
    handle = trip.start(to="Atlantis")
    kit.advance(hours=1)
    assert done == ["flight to Atlantis", "no flight to Atlantis, 12A is free"]
    assert [(run.step, run.attempt) for run in kit.runs] == [
        ("flight", 1),
        ("hotel", 1),
        ("hotel", 2),
        ("flight:compensate", 1),
    ]
    with pytest.raises(TaskFailed, match="compensated flight"):
        handle.wait()


def test_calls_of_others_are_recorded_and_answered(rota: Rota) -> None:
    kit = kit_of(rota)
    kit.add(
        {
            "name": "sync",
            "key": "sync",
            "cron_expr": "0 * * * *",
            "target_url": "https://acme.example/sync",
            "payload": {"full": True},
        }
    )
    kit.answers("https://acme.example/sync", 503, times=1)
    runs = kit.advance("90m")
    assert [(run.outcome, run.started_at) for run in runs] == [
        ("failed", at("01:00")),
        ("succeeded", at("01:00:05")),
    ]
    assert [(call.target.url, call.payload) for call in kit.calls] == [
        ("https://acme.example/sync", {"full": True})
    ] * 2
    kit.answers("sync", 410)
    kit.advance(hours=5)
    assert [run.reason for run in kit.runs[2:]] == ["HTTP 410: the target is gone"]


def test_a_schedule_can_be_run_by_hand(rota: Rota) -> None:
    @rota.schedule("every day at 9am", enabled=False)
    def report(team: str = "all") -> str:
        return team

    kit = kit_of(rota)
    kit.advance(days=3)
    assert kit.runs == []
    kit.trigger(report)
    kit.run_due()
    kit.trigger("report", {"team": "ops"})
    kit.trigger("report")
    kit.run_due()
    assert [run.result for run in kit.runs] == ["all", "ops"]
    assert [each.reason for each in kit.not_run] == ["overlap"]
    with pytest.raises(CallerError, match=r"\(report\), got 'reprot'"):
        kit.trigger("reprot")


def test_schedules_that_are_declared_later_count_from_then(rota: Rota) -> None:
    kit = kit_of(rota)
    kit.advance(minutes=20)

    @rota.schedule("every 1h")
    def late() -> None: ...

    assert [run.scheduled_for for run in kit.advance(hours=2)] == [at("01:20"), at("02:20")]


def test_runs_that_beget_runs_without_end_are_told(
    rota: Rota, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kits, "MOST", 50)

    @rota.task
    def again() -> None:
        again.enqueue()

    kit = kit_of(rota)
    again.enqueue()
    with pytest.raises(Runaway, match="enqueue itself"):
        kit.run_due()


def test_a_task_cannot_move_its_own_clock(rota: Rota) -> None:
    @rota.schedule("every 1h")
    def mover() -> None:
        kit.advance(hours=1)

    kit = kit_of(rota)
    assert "cannot move its own clock" in (kit.advance(hours=1)[0].error or "")


def test_what_ends_the_test_itself_passes_through(rota: Rota) -> None:
    @rota.schedule("every 1h")
    def gives_up() -> None:
        pytest.fail("this is wrong")

    kit = kit_of(rota)
    with pytest.raises(pytest.fail.Exception, match="this is wrong"):
        kit.advance(hours=1)
    kit.advance(hours=1)


def test_what_is_spread_is_due_after_its_slot_and_alike_in_every_test(rota: Rota) -> None:
    @rota.schedule("0 * * * *", jitter="10m")
    def herd() -> None: ...

    starts = list[datetime]()
    for _ in range(2):
        [run] = kit_of(rota).advance("70m")
        assert run.scheduled_for == at("01:00")
        starts.append(run.started_at)
    assert starts[0] == starts[1]
    assert at("01:00") < starts[0] < at("01:10")


def test_the_program_is_its_own_again_when_the_kit_is_closed(rota: Rota) -> None:
    with kit_of(rota) as kit:
        assert rota.stand_in is kit
    assert rota.stand_in is None
    other = kit_of(rota)
    assert rota.stand_in is other
    del other
    assert rota.stand_in is None


@pytest.mark.parametrize("now", ["2026-03-01T00:00", "tomorrow"])
def test_an_instant_without_a_zone_is_refused(rota: Rota, now: str) -> None:
    with pytest.raises(ValueError, match="expected an instant"):
        TestKit(rota, now=now)


def test_lengths_of_time_are_given_in_one_way(rota: Rota) -> None:
    kit = kit_of(rota)
    with pytest.raises(TypeError, match="got both"):
        kit.advance("1h", hours=1)
    with pytest.raises(TypeError, match="got none"):
        kit.advance()
    with pytest.raises(ValueError, match="expected an instant from"):
        kit.advance_to(START - timedelta(seconds=1))
    assert kit.clock.now() == kit.now == START


def test_a_wait_in_a_task_takes_no_time_but_the_kits(rota: Rota) -> None:
    waits: list[bool] = []

    @rota.task(timeout="1h", max_attempts=1)
    def patient(context: Context) -> None:
        waits.extend([context.wait("20m"), context.wait(timedelta(minutes=30))])

    @rota.task(timeout="1m", max_attempts=1)
    def too_patient(context: Context) -> None:
        waits.append(context.wait("2m"))
        assert context.cancelled

    kit = kit_of(rota)
    kit.trigger(patient)
    assert list(kit.run_due()) == [], "it waits, and has not ended"
    [run] = kit.advance(hours=1)
    assert (run.status, run.finished_at - run.started_at) == ("succeeded", timedelta(minutes=50))
    kit.trigger(too_patient)
    [late] = kit.advance(hours=1)
    assert late.status == "dead"
    assert "timed out after 1m" in (late.reason or "")
    assert waits == [False, False, True]


async def test_a_wait_takes_no_time_in_async_tests_either(rota: Rota) -> None:
    @rota.task
    def patient(context: Context) -> bool:
        return context.wait("5d")

    kit = kit_of(rota)
    kit.trigger(patient)
    await kit.run_due()
    assert kit.waiting == 1
