"""The demo: a server on a throw-away data folder, an endpoint, and schedules that call it."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rota import config as configuration
from rota.clock import SystemClock
from rota.db import embedded, installation
from rota.errors import InvalidConfig
from rota.firing.events import PassDone
from rota.runtime import listening
from rota.runtime.echo import echo
from rota.runtime.run import until_asked, with_signals
from rota.runtime.serve import SERVER, running
from rota.schedules import create
from rota.tenants import service as tenants
from rota.workers.events import FiringFinished, FiringRetried

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from datetime import datetime
    from uuid import UUID

    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.runtime.parts import Program
    from rota.runtime.serve import Started, Stop

_GRACE = timedelta(seconds=1)
"""Whoever has seen enough does not wait for a slow sample."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Something that happened, for people to see."""

    at: datetime
    name: str
    status: str
    detail: str


def run(
    *,
    on_started: Callable[[Started, Path], None],
    show: Callable[[Shown], None],
    seconds: float | None = None,
    port: int | None = None,
    is_terminal: bool = False,
    verbose: bool = False,
) -> None:
    """Run it until a signal comes or the seconds are over; nothing of it stays behind."""

    async def main(bus: Bus, stop: Stop) -> None:
        async with throw_away_folder() as folder:
            config = _config(folder, port)
            program = replace(SERVER, is_terminal=is_terminal)

            def began(started: Started) -> None:
                on_started(started, config.data_dir)
                if seconds is not None:
                    asyncio.get_running_loop().call_later(seconds, stop.ask)

            block = _demo(config, bus, stop, program, show=show)
            await until_asked(block, stop=stop, on_started=began)

    with_signals(main, verbose=verbose, has_log=verbose)


@asynccontextmanager
async def _demo(
    config: Config, bus: Bus, stop: Stop, program: Program, *, show: Callable[[Shown], None]
) -> AsyncGenerator[Started]:
    clock = SystemClock()
    async with (
        echo(clock) as url,
        running(config, bus=bus, clock=clock, stop=stop, grace=_GRACE, program=program) as started,
    ):
        names = await _add_samples(started.db, url)
        _Live(clock, names, show).listen_to(bus)
        yield started


@asynccontextmanager
async def throw_away_folder() -> AsyncGenerator[Path]:
    """A data folder that is removed afterwards, cluster and all."""
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="rota-demo-"))
    try:
        yield folder / "data"
    finally:
        await embedded.remove(folder / "data")
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def samples(url: str) -> list[dict[str, Any]]:
    """Schedules that show one thing each."""
    return [
        {
            "name": "heartbeat",
            "description": "Succeeds every 2 seconds.",
            "text": "every 2 seconds",
            "target_url": f"{url}/ok",
            "payload": {"beat": True},
        },
        {
            "name": "report",
            "description": "By cron, with leading seconds.",
            "cron_expr": "*/5 * * * * *",
            "target_url": f"{url}/ok",
            "payload": {"team": "ops"},
        },
        {
            "name": "flaky",
            "description": "Fails every other time, and is tried again.",
            "interval": "4s",
            "target_url": f"{url}/flaky",
            "backoff_delay": "1s",
        },
        {
            "name": "slow",
            "description": "Takes 5 seconds, so slots that come meanwhile are skipped.",
            "interval": "3s",
            "target_url": f"{url}/slow",
        },
    ]


async def _add_samples(db: Database, url: str) -> dict[UUID, str]:
    async def add(tx: Tx) -> dict[UUID, str]:
        tenant = await tenants.default_tenant(tx)
        shards = (await installation.read(tx)).shards
        made = [await create.create(tx, tenant, fields, shards=shards) for fields in samples(url)]
        return {each.schedule.id: each.schedule.name for each in made}

    return await db.run(add)


class _Live:
    """Tells of firings as they end."""

    def __init__(self, clock: Clock, names: dict[UUID, str], show: Callable[[Shown], None]) -> None:
        self._clock = clock
        self._names = names
        self._show = show

    def listen_to(self, bus: Bus) -> None:
        bus.subscribe(FiringFinished, self._finished)
        bus.subscribe(FiringRetried, self._retried)
        bus.subscribe(PassDone, self._passed)

    def _finished(self, event: FiringFinished) -> None:
        parts = [
            f"HTTP {event.code}" if event.code is not None else "",
            f"attempt {event.attempt}" if event.attempt > 1 else "",
            f"took {_milliseconds(event.took)}" if event.took is not None else "",
            event.reason or "",
        ]
        self._tell(self._name(event.schedule_id), event.status, ", ".join(filter(None, parts)))

    def _retried(self, event: FiringRetried) -> None:
        wait = max(0.0, (event.retry_at - self._clock.now()).total_seconds())
        what = f"HTTP {event.code}" if event.code is not None else event.error or "no answer"
        self._tell(self._name(event.schedule_id), "retrying", f"{what}; again in {wait:.0f} s")

    def _passed(self, event: PassDone) -> None:
        if event.skipped:
            self._tell("slow", "skipped", "its last firing is still running")

    def _tell(self, name: str, status: str, detail: str) -> None:
        self._show(Shown(at=self._clock.now(), name=name, status=status, detail=detail))

    def _name(self, schedule_id: UUID) -> str:
        return self._names.get(schedule_id, "another")


def _config(folder: Path, port: int | None) -> Config:
    """The demo's own: no setting of a real server may reach it, least of all a DSN."""
    home = {"HOME": os.environ.get("HOME", "")}
    usual = configuration.load({"data_dir": folder, "port": port}, home)
    return (
        usual
        if port is not None or _is_free(usual)
        else configuration.load({"data_dir": folder, "port": 0}, home)
    )


def _is_free(config: Config) -> bool:
    try:
        listening.listen(config.host, config.port).close()
    except InvalidConfig:
        return False
    return True


def _milliseconds(length: timedelta) -> str:
    return f"{length.total_seconds() * 1000:.0f} ms"
