"""The web process, as the engine that started it sees it: kept alive, told to stop, waited for.

API and dashboard answer in a process of their own, so that no request can delay what is due, and
no flood of connections takes the descriptors of workers and database. The process that was started
is the engine: it opens the listening socket, owns the embedded database, and ends last.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import random
import socket
import sys
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.errors import OperatorError
from rota.events import Event
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
from rota.runtime.lifeline import LIVED, RESTARTS, Lifeline, ended
from rota.telemetry.metrics import WebFigures

if TYPE_CHECKING:
    from uuid import UUID

    from rota.clock import Clock
    from rota.config import Config
    from rota.db.installation import Installation
    from rota.events import Bus
    from rota.telemetry.metrics import Metrics

STOP_TIMEOUT: Final = timedelta(seconds=8)
"""For the answers in hand, for which the web process allows 5 s; then it is killed."""

_MODULE: Final = "rota.runtime.serve_web"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebStart:
    """What the web process is told."""

    config: Config
    dsn: str
    """Of the configuration, or of the embedded server."""
    direct_dsn: str
    is_pooled: bool
    """Whether `dsn` leads to a pooler that shares sessions between transactions."""
    installation: Installation
    operator: UUID
    """The operator's tenant."""
    pool_size: int
    log_level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WebProcessEnded(Event):
    """API and dashboard are away until it is started again. Firings go on."""

    how: str
    restart_interval: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class WebProcessBack(Event):
    """They answer again."""

    pid: int


class WebProcessFailed(OperatorError):
    """It could not be started."""


class WebProcess:
    """Started once, started again when it ends by itself, ended by `stop`."""

    def __init__(self, listener: socket.socket, *, bus: Bus, clock: Clock) -> None:
        self._listener = listener
        self._bus = bus
        self._clock = clock
        self._metrics: Metrics | None = None
        self._start: asyncio.Future[WebStart] = asyncio.get_running_loop().create_future()
        self._first: asyncio.Future[Ready] = asyncio.get_running_loop().create_future()
        self._leaving = asyncio.Event()
        self._is_stopping = False
        self._process: asyncio.subprocess.Process | None = None
        self._channel: Channel | None = None
        self._task: asyncio.Task[None] | None = None

    def spawn(self) -> None:
        """Start it, to load what it needs and wait for `begin`."""
        self._task = asyncio.create_task(self._keep(), name="rota web process")

    def begin(self, start: WebStart, metrics: Metrics | None) -> None:
        """Let it serve."""
        self._metrics = metrics
        self._start.set_result(start)

    async def ready(self) -> Ready:
        """Return when it answers; `WebProcessFailed` when it ended instead."""
        assert self._task is not None, "spawn comes first"
        await asyncio.wait({self._first, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if not self._first.done():
            await self._task
            raise WebProcessFailed("the web process was stopped before it answered")
        return self._first.result()

    def announce_stop(self) -> None:
        """Let it say that it is stopping, and answer whoever waits for work."""
        self._is_stopping = True
        if self._channel is not None:
            self._channel.send(Stopping())

    async def stop(self) -> None:
        """Let it answer what is in hand, and end; one that does not is killed."""
        self._leaving.set()
        if self._task is None:
            return
        if self._channel is not None:
            self._channel.send(Leave())
        await asyncio.wait({self._task}, timeout=STOP_TIMEOUT.total_seconds())
        # Also one that is frozen, or that had not been told to begin.
        self._kill()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _keep(self) -> None:
        failures = 0
        with Lifeline() as lifeline:
            while not self._leaving.is_set():
                began = self._clock.monotonic()
                how = ended(await self._once(lifeline))
                if self._leaving.is_set():
                    return
                if not self._first.done():
                    raise WebProcessFailed(
                        f"expected the web process to answer, but it ended ({how}): "
                        "its own message is above"
                    )
                lived = timedelta(seconds=self._clock.monotonic() - began)
                failures = 1 if lived >= LIVED else failures + 1
                wait = RESTARTS.interval(failures, draw=random.random())
                self._bus.publish(WebProcessEnded(how=how, restart_interval=wait))
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait.total_seconds()):
                        await self._leaving.wait()

    async def _once(self, lifeline: Lifeline) -> int:
        """From its start to its end; returns the exit code."""
        ours, theirs = socket.socketpair()
        with theirs:
            process = await self._spawned(theirs, lifeline)
        self._process = process
        self._channel = await Channel.open(ours)
        if self._leaving.is_set():
            self._kill()
        talking = asyncio.create_task(self._talk(self._channel, process.pid), name="rota channel")
        try:
            return await process.wait()
        finally:
            self._kill()
            talking.cancel()
            self._channel.close()
            self._channel = self._process = None

    async def _spawned(
        self, theirs: socket.socket, lifeline: Lifeline
    ) -> asyncio.subprocess.Process:
        listener = self._listener.fileno()
        # Secrets go through the channel. `-P`, and our own path: what lies in the current folder
        # must not be imported instead of what we have imported.
        # A session of its own: Ctrl-C in a terminal goes to us alone, who decide what ends when.
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", _MODULE, str(listener), str(theirs.fileno())),
            env={
                **os.environ,
                **lifeline.variables,
                "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            pass_fds=(listener, theirs.fileno(), lifeline.descriptor),
            start_new_session=True,
        )

    async def _talk(self, channel: Channel, pid: int) -> None:
        start = await asyncio.shield(self._start)
        channel.send(Begin(start=pickle.dumps(start)))
        if self._is_stopping:
            channel.send(Stopping())
        while (message := await channel.receive()) is not None:
            match message:
                case Ready():
                    self._note_ready(message, pid)
                case WorkEnded():
                    if self._metrics is not None:
                        self._metrics.counts.ended(message.status)
                case AskFigures():
                    await self._tell_figures(channel, message)
                case _:
                    pass

    def _note_ready(self, message: Ready, pid: int) -> None:
        if self._first.done():
            self._bus.publish(WebProcessBack(pid=pid))
        else:
            self._first.set_result(message)

    async def _tell_figures(self, channel: Channel, asked: AskFigures) -> None:
        if self._metrics is None:
            return
        self._metrics.web = WebFigures(
            connections=asked.connections,
            pool_busy=asked.pool_busy,
            pool_most=asked.pool_most,
            resident_bytes=asked.resident_bytes,
        )
        kind, content = await self._metrics.render()
        channel.send(Figures(number=asked.number, kind=kind, content=content))

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
