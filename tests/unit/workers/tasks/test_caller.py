"""Calling functions: on the loop, in threads and in child processes."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from tests.deadlines import patience
from tests.unit.workers.tasks import processes_kit as kit
from tests.unit.workers.tasks.support import NOW, claim, schedule

from rota.events import Bus, Recorder
from rota.workers.tasks.caller import TaskCaller
from rota.workers.tasks.context import Context  # noqa: TC001 - found by tasks
from rota.workers.tasks.events import ChildEnded, TaskUnknown
from rota.workers.tasks.exceptions import Cancelled
from rota.workers.tasks.registry import Registry, TaskSpec

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from rota.workers.caller import Reply
    from rota.workers.tasks.caller import TaskCall


class Bench:
    """A caller with some functions, and all it says."""

    def __init__(self, caller: TaskCaller, recorder: Recorder) -> None:
        self.caller = caller
        self.recorder = recorder

    def call(self, name: str, payload: str | None = None, **fields: Any) -> TaskCall:
        return self.caller.prepare(claim(payload), schedule(name, **fields))

    async def reply(self, name: str, payload: str | None = None, **fields: Any) -> Reply:
        return await asyncio.wait_for(self.call(name, payload, **fields).send(), patience(20))


@asynccontextmanager
async def bench(
    *functions: Callable[..., Any], runs_in: Any = None, concurrency: int = 4
) -> AsyncGenerator[Bench]:
    registry = Registry()
    for each in functions:
        registry.add(TaskSpec.of(each, name=each.__name__, runs_in=runs_in))
    bus = Bus()
    caller = TaskCaller(registry, concurrency=concurrency, processes=1, bus=bus)
    try:
        yield Bench(caller, Recorder(bus))
    finally:
        caller.close()


async def double(n: int) -> int:
    return n * 2


def half(n: int) -> float:
    return n / 2


async def test_async_def_runs_on_the_loop_and_def_in_a_thread() -> None:
    """Issue 6, 3."""
    found: dict[str, str] = {}

    async def on_loop() -> None:
        found["loop"] = threading.current_thread().name

    def in_thread() -> None:
        found["thread"] = threading.current_thread().name

    async with bench(on_loop, in_thread, double, half) as it:
        assert (await it.reply("double", "[4]")).body == b"8"
        assert (await it.reply("half", '{"n": 3}')).body == b"1.5"
        await it.reply("on_loop")
        await it.reply("in_thread")
    assert found["loop"] == threading.current_thread().name
    assert found["thread"].startswith("rota task")


async def test_the_payload_of_the_schedule_is_taken_without_one_of_the_firing() -> None:
    async with bench(double) as it:
        assert "n missing" in ((await it.reply("double")).error or "")
        call = it.caller.prepare(claim(None), schedule("double", payload={"n": 21}))
        assert (await call.send()).body == b"42"
        assert call.shown == '{"task":"double","payload":{"n":21}}'


async def test_wrong_arguments_are_final() -> None:
    async with bench(double, half) as it:
        for name in ("double", "half"):
            reply = await it.reply(name, '{"m": 1}')
            assert reply.permanent
            assert "m is not expected" in (reply.error or "")


async def test_a_call_that_was_prepared_early_does_as_any_other() -> None:
    async def add(a: int, b: int) -> int:
        return a + b

    def in_thread(a: int) -> None: ...

    async with bench(add, in_thread) as one:
        early = one.caller.prepare_early(claim('{"args":[1,2]}'), schedule("add"), 1.0)
        assert early is not None
        assert (await early.send()).body == b"3"
        # What is wrong is told by the call itself, and what needs more than a call is not begun.
        assert one.caller.prepare_early(claim('{"args":["x"]}'), schedule("add"), 1.0) is None
        assert one.caller.prepare_early(claim('{"args":[1]}'), schedule("in_thread"), 1.0) is None
        assert one.caller.prepare_early(claim(None), schedule("unknown"), 1.0) is None


async def test_what_a_function_raises_is_its_failure() -> None:
    async def on_loop() -> None:
        raise SystemExit(2)

    def in_thread() -> None:
        raise KeyboardInterrupt

    async def cancels() -> None:
        raise asyncio.CancelledError

    async def no_exception() -> None:
        raise Cancelled("of its own accord")

    async with bench(on_loop, in_thread, cancels, no_exception) as it:
        assert "of its own accord" in ((await it.reply("no_exception")).error or "")
        assert "SystemExit: 2" in ((await it.reply("on_loop")).error or "")
        assert "KeyboardInterrupt" in ((await it.reply("in_thread")).error or "")
        assert "cancelled itself" in ((await it.reply("cancels")).error or "")


async def test_an_async_function_is_ended_when_its_time_is_up() -> None:
    ended = asyncio.Event()

    async def sleeper(context: Context) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with bench(sleeper) as it:
        reply = await it.reply("sleeper", timeout_seconds=0.05)
        assert reply.timed_out
        assert reply.error == "timed out after 50ms"
        assert ended.is_set()
        task = asyncio.current_task()
        assert task is not None
        assert not task.cancelling(), "the attempt goes on to its settlement"


async def test_a_thread_is_told_that_its_time_is_up_and_keeps_its_slot_until_it_returns() -> None:
    seen: list[str | None] = []
    go_on = threading.Event()

    def stubborn(context: Context) -> None:
        context.wait("10s")
        seen.append(context.stop_reason)
        go_on.wait(patience(10))

    async with bench(stubborn) as it:
        # Long enough for the thread to have begun, also on a busy machine.
        call = it.call("stubborn", timeout_seconds=1)
        reply = await call.send()
        assert reply.timed_out
        lingers = call.lingers
        assert lingers is not None
        assert not lingers.done()
        go_on.set()
        await asyncio.wait_for(lingers, patience(10))
    assert seen == ["timed out after 1s"]


async def test_a_cancelled_thread_sees_it_within_a_moment() -> None:
    begun, ended = threading.Event(), threading.Event()

    def loops(context: Context) -> None:
        begun.set()
        try:
            while True:
                context.wait(0.01)
                context.check()
        except Cancelled:
            ended.set()
            raise

    async with bench(loops) as it:
        call = it.call("loops")
        task = asyncio.create_task(call.send())
        await asyncio.to_thread(begun.wait, patience(10))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 1), "within a second"


async def test_a_heartbeat_moves_the_deadline() -> None:
    async def long_one(context: Context) -> str:
        before = context.deadline
        context.heartbeat(extend="1h")
        assert context.deadline > before + timedelta(minutes=50)
        await asyncio.sleep(0.15)  # noqa: TID251 - longer than it had
        return "done"

    async with bench(long_one) as it:
        assert (await it.reply("long_one", timeout_seconds=0.1)).body == b'"done"'


async def test_the_earliest_of_many_deadlines_counts() -> None:
    async def sleeper() -> None:
        await asyncio.Event().wait()

    async with bench(sleeper) as it:
        late = asyncio.create_task(it.call("sleeper", timeout_seconds=30).send())
        await asyncio.sleep(0)  # noqa: TID251 - let it begin
        early = [it.reply("sleeper", timeout_seconds=each) for each in (0.1, 0.05, 0.02)]
        assert all(each.timed_out for each in await asyncio.gather(*early))
        assert not late.done()
        late.cancel()


async def test_more_functions_than_threads_wait_for_one() -> None:
    barrier = threading.Barrier(2, timeout=patience(10))

    def meet() -> None:
        barrier.wait()

    async with bench(meet, concurrency=2) as it:
        replies = await asyncio.gather(*(it.reply("meet") for _ in range(8)))
    assert not any(each.error for each in replies)


async def test_what_is_cancelled_before_a_thread_is_free_never_runs() -> None:
    go_on, ran = threading.Event(), threading.Event()

    def first() -> None:
        go_on.wait(patience(10))

    def second() -> None:
        ran.set()

    async with bench(first, second, concurrency=1) as it:
        busy = asyncio.create_task(it.reply("first"))
        waits = asyncio.create_task(it.call("second").send())
        await asyncio.sleep(0)  # noqa: TID251 - let both begin
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        go_on.set()
        await busy
        await it.reply("first")  # behind it in the line
    assert not ran.is_set()


async def test_secrets_are_for_schedules_and_not_for_what_is_enqueued() -> None:
    """Whoever can put words into an argument must not be given a secret for them."""

    async def echo(a: str) -> str:
        return a

    async with bench(echo) as it:
        reply = await it.reply("echo", '["${secrets.KEY}"]')
        assert reply.body == b'"${secrets.KEY}"', "data stays data"
        given = schedule("echo", payload=["${secrets.KEY}"])
        call = it.caller.prepare(msgspec.structs.replace(claim(), triggered_by="schedule"), given)
        refused = await call.send()
        assert refused.permanent
        assert "no key ring" in (refused.error or "")


async def test_an_unknown_task_is_left_to_others_for_longer_and_longer() -> None:
    async with bench(double) as it:
        known, unknown = schedule("double"), schedule("other")
        assert it.caller.can_run(known)
        assert not it.caller.can_run(unknown)
        waits = [
            it.caller.wait_for(claim(), unknown, NOW + timedelta(seconds=age))
            for age in (0, 20, 600)
        ]
        assert [each.total_seconds() for each in waits] == [5, 20, 60]
        said = it.recorder.all(TaskUnknown)
        assert [(each.task, each.queue) for each in said] == [("other", "default")], "once"


async def test_a_process_runs_functions_and_says_what_came_of_them() -> None:
    """Issue 6, 3: or a process pool by option. One child for all: a start takes long."""
    functions = (kit.add, kit.add_async, kit.where, kit.fail, kit.again, kit.leave, kit.tell)
    async with bench(*functions, runs_in="process") as it:
        assert (await it.reply("add", "[1, 2]")).body == b"3"
        assert (await it.reply("add_async", "[1, 2]")).body == b"3"
        assert (await it.reply("where")).body != str(os.getpid()).encode()
        failed = await it.reply("fail")
        assert failed.error == "ValueError: in the child"
        assert b"in fail" in failed.body
        assert (await it.reply("again")).retry_in == timedelta(minutes=1)
        assert "SystemExit: 3" in ((await it.reply("leave")).error or "")
        assert (await it.reply("add", '["x", 2]')).permanent
        assert (await it.reply("tell")).body == b'"tell 1"'


async def test_a_child_that_dies_or_hangs_is_a_failed_run_and_not_a_broken_worker(
    tmp_path: Path,
) -> None:
    async with bench(kit.add, kit.die, kit.hang, runs_in="process") as it:
        reply = await it.reply("die")
        assert "the task's process was killed (SIGKILL" in (reply.error or "")
        await it.recorder.wait_for(ChildEnded)
        late = await it.reply("hang", f'["{tmp_path}/late"]', timeout_seconds=0.2)
        assert late.timed_out
        pid = tmp_path / "pid"
        call = it.call("hang", f'["{pid}"]')
        task = asyncio.create_task(call.send())
        async with asyncio.timeout(patience(20)):
            while not (pid.exists() and pid.read_text()):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.01)  # noqa: TID251 - as above
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        if call.lingers is not None:
            await asyncio.wait_for(call.lingers, patience(10))
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        assert (await it.reply("add", "[1, 2]")).body == b"3", "the next has a new child"
