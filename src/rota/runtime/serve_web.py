"""The web process: API and dashboard, for the engine that started it (`web_process.py`).

`python -m rota.runtime.serve_web LISTENER CHANNEL`, with the descriptors of two sockets that it
inherits. What to serve comes over the channel; when that ends, so does this process.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import pickle
import signal
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvloop

from rota.api.events import WorkReported
from rota.clock import SystemClock
from rota.db import Listener
from rota.db.locks import QUEUE
from rota.errors import RotaError
from rota.events import Bus
from rota.runtime import descriptors
from rota.runtime.answering import start_answering
from rota.runtime.channel import (
    AskFigures,
    Begin,
    Channel,
    Figures,
    Leave,
    Ready,
    Stopping,
    WorkEnded,
)
from rota.runtime.collector import calm
from rota.runtime.lifeline import follow_parent
from rota.runtime.opening import open_web
from rota.runtime.parts import Stop
from rota.telemetry import log
from rota.telemetry.metrics import Metrics, WebFigures
from rota.tenants.sql import CHANNEL as TENANTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.clock import Clock
    from rota.runtime.web_process import WebStart

FIGURES_TIMEOUT: Final = 2.0
"""Seconds in which the engine tells its figures, or they are served without."""

FIGURES_KEPT: Final = 1.0

_PAGE: Final = 4096


def main() -> None:
    """Serve until told to leave, or until the engine is gone."""
    follow_parent(signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    listener, channel = (socket.socket(fileno=int(each)) for each in sys.argv[1:3])
    for each in (listener, channel):
        each.set_inheritable(False)
        each.setblocking(False)
    descriptors.raise_limit()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_run(listener, channel))
    except RotaError as error:
        sys.exit(f"The web process ended: {error}")


async def _run(listener: socket.socket, end: socket.socket) -> None:
    channel = await Channel.open(end)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return
    start: WebStart = pickle.loads(begin.start)  # noqa: S301 - from the process that started us
    bus = Bus()
    end_log = log.start(bus, verbose=start.log_level <= logging.DEBUG)
    logging.getLogger("rota").setLevel(start.log_level)
    try:
        async with AsyncExitStack() as stack:
            await _serve(stack, start, listener, channel, bus)
    finally:
        end_log()


async def _serve(
    stack: AsyncExitStack, start: WebStart, listener: socket.socket, channel: Channel, bus: Bus
) -> None:
    clock, stop = SystemClock(), Stop()
    opened = await open_web(stack, start)
    news = Listener(opened.direct_dsn, [QUEUE, TENANTS], clock=clock)
    news.pass_on(TENANTS, opened.db)
    if start.config.listen:
        await stack.enter_async_context(news)
    figures = None
    if start.config.metrics:
        own = Metrics(bus, opened.db, clock, pools={"api": opened.db})
        own.engine_up = False
        figures = EngineFigures(channel, own, pool=lambda: opened.db.use, clock=clock)
        bus.subscribe(WorkReported, lambda event: channel.send(WorkEnded(status=event.status)))
    answering = await start_answering(
        stack,
        opened,
        start.config,
        listener,
        news=news,
        metrics=figures and figures.render,
        stop=stop,
        bus=bus,
        clock=clock,
    )
    if figures is not None:
        figures.count_connections = answering.count_connections
    channel.send(Ready(url=answering.url))
    calm()
    while (message := await channel.receive()) is not None:
        match message:
            case Stopping():
                stop.asked.set()
                answering.polls.close()
            case Figures() if figures is not None:
                figures.hear(message)
            case Leave():
                return
            case _:
                pass


class EngineFigures:
    """Figures for whoever scrapes: the engine's, or this process's own when it does not answer.

    The engine is asked once a second at most, however many scrape: its loop is for what is due.
    """

    def __init__(
        self, channel: Channel, own: Metrics, *, pool: Callable[[], tuple[int, int]], clock: Clock
    ) -> None:
        self.count_connections: Callable[[], int] = lambda: 0
        self._channel = channel
        self._own = own
        self._pool = pool
        self._clock = clock
        self._asking = asyncio.Lock()
        self._last: tuple[str, bytes] = ("", b"")
        self._last_until = float("-inf")
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[tuple[str, bytes]]] = {}

    async def render(self) -> tuple[str, bytes]:
        """The media type and the text."""
        async with self._asking:
            if self._clock.monotonic() >= self._last_until:
                self._last = await self._ask()
                self._last_until = self._clock.monotonic() + FIGURES_KEPT
            return self._last

    async def _ask(self) -> tuple[str, bytes]:
        number, answer = next(self._numbers), asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        busy, most = self._pool()
        web = WebFigures(
            connections=self.count_connections(),
            pool_busy=busy,
            pool_most=most,
            resident_bytes=_resident_bytes(),
        )
        self._channel.send(AskFigures(number=number, **web._asdict()))
        try:
            async with asyncio.timeout(FIGURES_TIMEOUT):
                return await answer
        except TimeoutError:
            self._own.web = web
            return await self._own.render()
        finally:
            del self._asked[number]

    def hear(self, message: Figures) -> None:
        """What the engine told."""
        answer = self._asked.get(message.number)
        if answer is not None and not answer.done():
            answer.set_result((message.kind, message.content))


def _resident_bytes() -> int:
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE
    except OSError:
        return 0


if __name__ == "__main__":
    main()
