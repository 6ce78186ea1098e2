"""Calling a task's function as a worker does: its arguments, its context, its exceptions.

`now` is for sync tests: `def` is called in the test's own thread, `async def` on a loop for that.
`soon` is for async tests: `async def` is awaited, and `def` runs in a thread, as it would in a
worker. Either way failure is a reply, and what pytest raises to end a test passes through.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from rota import durations
from rota.workers.caller import Reply
from rota.workers.tasks import arguments, results
from rota.workers.tasks.context import Context
from rota.workers.tasks.exceptions import Cancelled
from rota.workers.tasks.failures import reply_to

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.testing.firing import Firing
    from rota.workers.tasks.registry import TaskSpec

_FAILURES = (Exception, SystemExit, Cancelled)


@dataclass(slots=True, eq=False, kw_only=True)
class Begun:
    """An attempt that is to be made, and what came of it once it was."""

    firing: Firing
    claim: Claim
    schedule: Schedule
    """Of the step, where there are steps."""
    spec: TaskSpec | None
    """None for what is no function of the program."""
    started_at: datetime
    takes: timedelta
    waited: timedelta = timedelta()
    """By `Context.wait`: no time passes while a function is called, so its run ends later."""
    reply: Reply | None = None
    exception: BaseException | None = None

    @property
    def payload(self) -> Any:
        return self.schedule.definition.payload

    def wait(self, context: Context, interval: timedelta) -> bool:
        """Whether the run is to end; time that is up ends it."""
        timeout = self.schedule.definition.timeout
        self.waited += interval
        self.takes = max(self.takes, self.waited)
        if self.waited > timeout:
            context.stop(f"timed out after {durations.compact(timeout)}")
        return context.cancelled

    def failed(self, error: BaseException) -> None:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is not None:
            error.__traceback__ = trace.tb_next  # not our own call
        self.exception = error
        self.reply = reply_to(error)


def now(begun: Begun, run: Callable[[Any], Any]) -> None:
    """Make the attempt, here. `run` runs a coroutine to its end."""
    assert begun.spec is not None
    function = begun.spec.function
    try:
        args, kwargs = _arguments(begun, begun.spec)
        if begun.spec.is_async:
            begun.reply = results.reply_with(run(function(*args, **kwargs)))
        else:
            begun.reply = results.reply_with(function(*args, **kwargs))
    except asyncio.CancelledError as error:
        begun.exception, begun.reply = error, _cancelled()
    except _FAILURES as error:
        begun.failed(error)


async def soon(begun: Begun) -> None:
    """Make the attempt, on the loop that runs."""
    assert begun.spec is not None
    function = begun.spec.function
    try:
        args, kwargs = _arguments(begun, begun.spec)
        if begun.spec.is_async:
            begun.reply = results.reply_with(await function(*args, **kwargs))
        else:
            value = await asyncio.to_thread(function, *args, **kwargs)
            begun.reply = results.reply_with(value)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # the test itself is to end
        begun.exception, begun.reply = error, _cancelled()
    except _FAILURES as error:
        begun.failed(error)


def _arguments(begun: Begun, spec: TaskSpec) -> tuple[list[Any], dict[str, Any]]:
    signature, claim = spec.signature, begun.claim
    if claim.payload is None:
        args, kwargs = arguments.fit(begun.payload, signature)
    else:
        args, kwargs = arguments.read(claim.payload, signature)
    if signature.context is not None:
        deadline = begun.started_at + begun.schedule.definition.timeout
        context = Context.of(claim, begun.schedule, deadline=deadline)
        context.pause = partial(begun.wait, context)
        signature.give(args, kwargs, context)
    return args, kwargs


def _cancelled() -> Reply:
    return Reply(error="CancelledError: the task cancelled itself")
