"""What a child process does: takes orders, runs the function, says what came of it."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import signal
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from rota.workers.tasks import arguments, results
from rota.workers.tasks.context import Context
from rota.workers.tasks.failures import reply_to
from rota.workers.tasks.signature import Signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import timedelta
    from multiprocessing.connection import Connection

    from rota.workers.caller import Reply

_FIELDS = (
    "firing_id",
    "schedule_id",
    "schedule_key",
    "tenant_id",
    "job_type",
    "scheduled_for",
    "attempt",
    "max_attempts",
    "deadline",
    "is_catch_up",
    "triggered_by",
    "replay_of",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A run of the function at `path` (module:name)."""

    path: str
    payload: str
    """JSON."""
    context: dict[str, Any] | None
    """The fields of one; None when the function does not ask for it."""


def told(context: Context) -> dict[str, Any]:
    """A context as it travels."""
    return {name: getattr(context, name) for name in _FIELDS}


def serve(line: Connection[Any, Any]) -> None:
    """Run what is ordered, one after another, until the line ends."""
    # Ctrl-C goes to all processes of a terminal: the parent decides what becomes of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line.send("ready")
    while True:
        try:
            order: Order = line.recv()
        except (EOFError, OSError):
            return
        line.send(_carry_out(order, line))


def _carry_out(order: Order, line: Connection[Any, Any]) -> Reply:
    try:
        function, signature = find(order.path)
        args, kwargs = arguments.read(order.payload, signature)
        if signature.context is not None and order.context is not None:
            signature.give(args, kwargs, _context(order.context, line))
        value = function(*args, **kwargs)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return results.reply_with(value)
    except BaseException as error:  # noqa: BLE001 - even SystemExit is the task's failure
        return reply_to(error)


@cache
def find(path: str) -> tuple[Callable[..., Any], Signature]:
    """The function at `module:name`, as it was before it was decorated."""
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    function = inspect.unwrap(found)
    return function, Signature.of(function)


def _context(fields: dict[str, Any], line: Connection[Any, Any]) -> Context:
    context = Context(**fields)

    def say(_: Context, fraction: float | None, note: str | None) -> None:
        line.send(("progress", fraction, note))

    def extend(by: timedelta) -> None:
        line.send(("extend", by.total_seconds()))

    context.say, context.extended = say, extend
    return context
