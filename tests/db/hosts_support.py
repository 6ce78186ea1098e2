"""Targets that fail, are slow or count their callers, and workers that call them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from aiohttp import web
from tests.db.queue_support import SECOND, database_now, fire, make_schedule, some_worker
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.db import Listener
from rota.events import Bus, Recorder
from rota.queue.circuits import Rules
from rota.targets import OPEN
from rota.workers.channels import CHANNELS
from rota.workers.delivery.http import HttpCaller
from rota.workers.hosts.limits import Limits
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database
    from rota.schedules.schedule import Schedule

MILLISECOND = timedelta(milliseconds=1)
QUICK = WorkerSettings(
    poll_interval=20 * MILLISECOND,
    lead=SECOND,
    rescue_interval=100 * MILLISECOND,
    stop_grace=5 * SECOND,
)
LIMITS = Limits(circuit=Rules(failures=5, interval=2500 * MILLISECOND))
CLOCK = SystemClock()


@dataclass
class Sick:
    """A target that answers 503, or 200 while it is well; it writes down every request."""

    url: str = ""
    well: bool = False
    code: int = 503
    retry_after: str = "0"
    wait: timedelta = timedelta()
    arrived: int = 0
    now: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self.times: list[float] = []

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.arrived += 1
        self.times.append(CLOCK.monotonic())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await request.read()
            await CLOCK.sleep(self.wait)
        finally:
            self.now -= 1
        headers = {"Retry-After": self.retry_after}
        return web.Response(status=200 if self.well else self.code, text="ok", headers=headers)

    @property
    def host(self) -> str:
        return self.url.removeprefix("http://")


@asynccontextmanager
async def target(**fields: Any) -> AsyncGenerator[Sick]:
    sick = Sick(**fields)
    runner = web.ServerRunner(
        web.Server(sick.answer, handler_cancellation=True), shutdown_timeout=0.1
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        sick.url = f"http://{host}:{port}"
        yield sick
    finally:
        await runner.cleanup()


@asynccontextmanager
async def working(
    db: Database, *, limits: Limits = LIMITS, settings: WorkerSettings = QUICK
) -> AsyncGenerator[tuple[Worker, Recorder]]:
    bus = Bus()
    recorder = Recorder(bus)
    async with HttpCaller(OPEN) as http, Listener(db.dsn, list(CHANNELS)) as listener:
        worker = Worker(
            db,
            id_=some_worker(),
            callers={"http": http},
            listener=listener,
            settings=settings,
            limits=limits,
            bus=bus,
        )
        async with worker:
            yield worker, recorder


async def calling(db: Database, sick: Sick, **fields: Any) -> Schedule:
    usual: dict[str, Any] = {
        "overlap_policy": "allow",
        "backoff_delay": 2 * SECOND,
        "capture": "none",
    }
    return await make_schedule(db, target_url=f"{sick.url}/", **usual | fields)


async def fire_many(db: Database, schedule: Schedule, count: int, **fields: Any) -> set[UUID]:
    now = await database_now(db)
    return {await fire(db, schedule, now + n * SECOND, **fields) for n in range(count)}


async def until(condition: Any, *, seconds: float = 20) -> None:
    async with asyncio.timeout(patience(seconds)):
        while not condition():
            await CLOCK.sleep(5 * MILLISECOND)


async def require_calls(db: Database, sick: Sick, count: int, *, until_at: datetime) -> None:
    """So many have called; unless it is later than that already, and more may."""
    arrived = sick.arrived
    if await database_now(db) < until_at:
        assert arrived == count


def knows_open(worker: Worker, sick: Sick) -> bool:
    circuits = worker._circuits.circuits.values()
    return any(each.host == sick.host and each.open_until is not None for each in circuits)
