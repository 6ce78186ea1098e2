"""Running a server until somebody says stop: the event loop, the signals, the log."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import uvloop

from rota.clock import SystemClock
from rota.events import Bus
from rota.runtime.collector import calm
from rota.runtime.serve import Stop, running
from rota.telemetry import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.config import Config
    from rota.runtime.serve import Started

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def until_signalled(
    config: Config, *, on_started: Callable[[Started], None], verbose: bool = False
) -> None:
    """Serve until SIGTERM or SIGINT, then end in order. A second signal cuts the grace short."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_main(config, on_started, verbose=verbose))


async def _main(config: Config, on_started: Callable[[Started], None], *, verbose: bool) -> None:
    bus = Bus()
    stop = Stop()
    listen_to_signals(stop)
    end_log = log.start(bus, verbose=verbose)

    def calmly(started: Started) -> None:
        calm()
        on_started(started)

    try:
        await serve(config, bus=bus, stop=stop, on_started=calmly)
    finally:
        end_log()


async def serve(
    config: Config, *, bus: Bus, stop: Stop, on_started: Callable[[Started], None]
) -> None:
    """Serve until `stop` is asked for, also while starting: what was begun is undone in order."""

    async def run() -> None:
        async with running(config, bus=bus, clock=SystemClock(), stop=stop) as started:
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


def listen_to_signals(stop: Stop) -> None:
    """Ask for a stop at the first signal, and for haste at the second."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.ask)
