"""Running a server until somebody says stop: the event loop, the signals, the log."""

from __future__ import annotations

import asyncio
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeVar

import uvloop

from rota.clock import SystemClock
from rota.errors import RotaError
from rota.events import Bus
from rota.runtime import descriptors
from rota.runtime.collector import calm
from rota.runtime.serve import SERVER, Stop, running
from rota.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractAsyncContextManager

    from rota.config import Config
    from rota.runtime.serve import Started

T = TypeVar("T")

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LEAVE_TIMEOUT: Final = 2.0


def until_signalled(
    config: Config,
    *,
    on_started: Callable[[Started], None],
    is_terminal: bool = False,
    verbose: bool = False,
) -> None:
    """Serve until SIGTERM or SIGINT, then end in order. A second signal cuts the grace short.

    `is_terminal` says that `on_started` prints to a person: credentials are for nobody else.
    """
    descriptors.raise_limit()

    async def main(bus: Bus, stop: Stop) -> None:
        program = replace(SERVER, is_terminal=is_terminal)
        block = running(config, bus=bus, clock=SystemClock(), stop=stop, program=program)
        await until_asked(block, stop=stop, on_started=on_started)

    with_signals(main, verbose=verbose)


def with_signals(
    main: Callable[[Bus, Stop], Awaitable[None]], *, verbose: bool = False, has_log: bool = True
) -> None:
    """Run it on a loop of its own, with a stop for signals and a bus, whose events are logged
    unless `has_log` is false."""

    async def run() -> None:
        bus, stop = Bus(), Stop()
        listen_to_signals(stop)
        log.silence_driver()
        end_log = log.start(bus, verbose=verbose) if has_log else None
        try:
            await main(bus, stop)
        finally:
            if end_log is not None:
                end_log()
            await _leave_behind()

    before = signal.getsignal(signal.SIGINT)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run())
    finally:
        # The loop leaves Python's own handler behind: Ctrl-C would be a traceback again.
        signal.signal(signal.SIGINT, before)


async def _leave_behind() -> None:
    """End what still runs on the loop, and no longer wait for what will not end.

    A task of the user's that swallows its cancellation would keep the process from ending, and
    every further signal from being heard.
    """
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        _, stubborn = await asyncio.wait(left, timeout=_LEAVE_TIMEOUT)
        for task in stubborn:
            asyncio._unregister_task(task)  # noqa: SLF001 - there is no other way past Runner.close


async def until_asked(
    block: AbstractAsyncContextManager[T], *, stop: Stop, on_started: Callable[[T], None]
) -> None:
    """Stay in the block until `stop` is asked for; also while it begins, and then it is undone."""

    async def run() -> None:
        async with block as started:
            calm()
            on_started(started)
            began.set()
            await stop.asked.wait()

    began = asyncio.Event()
    task = asyncio.create_task(run())
    asked = asyncio.create_task(stop.asked.wait())
    await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    if not began.is_set():
        task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        if not stop.asked.is_set():
            raise
    except RotaError:
        # What is undone half-way may fail, and that is no news to who asked for the stop.
        if not stop.asked.is_set() or began.is_set():
            raise


def listen_to_signals(stop: Stop) -> None:
    """Ask for a stop at the first signal, and for haste at the second."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask)
