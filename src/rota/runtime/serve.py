"""A running server: everything that its roles need, started in order and ended in order.

Roles share a process or not; each process is one node, with one listener and two pools. The
scheduler and the worker have connections of their own, so that a busy API cannot keep a lease from
being renewed.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from rota.api.app import create
from rota.api.engine import Engine
from rota.api.polls import Polls
from rota.db import Database, Listener, Retry, embedded
from rota.firing.loop import CHANNEL as TIMERS
from rota.history import retention
from rota.leases import Node, NodeSession
from rota.runtime import files, resuming, web
from rota.runtime.callback import open_callback
from rota.runtime.database import INTERVAL, DatabaseWatch
from rota.runtime.limits import host_limits
from rota.runtime.loop import Loop, every
from rota.runtime.prepare import prepare, today_of
from rota.runtime.pulling import start_pull
from rota.runtime.resuming import Resumer
from rota.runtime.scheduling import Scheduling
from rota.runtime.targets import target_policy
from rota.runtime.vault import open_vault
from rota.schedules.definition import CELERY_LANE, HTTP_LANE, STREAM_LANE
from rota.tenants import answers
from rota.workers.celery import CeleryCaller
from rota.workers.http import HttpCaller
from rota.workers.last_moment import LastMoment
from rota.workers.news import CHANNELS
from rota.workers.pool import Pace, Worker
from rota.workers.streams import StreamCaller

if TYPE_CHECKING:
    import socket
    from collections.abc import AsyncGenerator

    from rota.clock import Clock
    from rota.config import Config
    from rota.events import Bus
    from rota.tenants.secrets import Vault

GRACE = timedelta(seconds=20)
"""How long what runs may go on after a stop is asked for. Kubernetes kills after 30 s."""

_SWEEP_INTERVAL = timedelta(hours=1)
# A person or a program waits for the answer: a few tries get past a blip.
_API_RETRY = Retry(tries=3)


class Stop:
    """Somebody's wish that the server ends: asked for once, and again when it takes too long."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()

    def ask(self) -> None:
        (self.hurried if self.asked.is_set() else self.asked).set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What there is to say about a server that runs."""

    roles: tuple[str, ...]
    url: str | None
    """Where the API is; None without the role."""
    new_key: str | None
    """An admin key that was made just now, to be shown once."""
    db: Database


@asynccontextmanager
async def running(
    config: Config, *, bus: Bus, clock: Clock, stop: Stop, grace: timedelta = GRACE
) -> AsyncGenerator[Started]:
    """A server by the configuration, for as long as the block lasts.

    It ends in order: no more claims, leases given back, what runs finished within the grace, the
    rest returned to the queue; then the API, the connections and the embedded server.
    """
    async with AsyncExitStack() as stack:
        listener = _listen(stack, config)
        dsn, server = await _find_database(stack, config)
        db, api_db = await _open_pools(stack, dsn, config)
        prepared = await prepare(db, config)
        vault = await open_vault(db, config)
        _keep_up(stack, db, config, server=server, bus=bus, clock=clock)
        news = Listener(dsn, [TIMERS, *CHANNELS], clock=clock)
        await stack.enter_async_context(news)
        polls = Polls()
        url = None
        if listener is not None:
            start_pull(stack, db, polls, config, news=news, bus=bus, clock=clock)
            engine = Engine(
                db=api_db,
                clock=clock,
                bus=bus,
                shards=prepared.installation.shards,
                vault=vault,
                targets=target_policy(config),
                is_stopping=stop.asked.is_set,
                polls=polls,
            )
            url = _answer(stack, engine, listener, config)
        parts = await _start_parts(
            stack, db, config, dsn=dsn, news=news, vault=vault, bus=bus, clock=clock
        )
        stack.push_async_callback(_drain, parts, stop, grace)
        # First of all: who waits for work must not keep the API from ending.
        stack.callback(polls.close)
        yield Started(roles=config.roles, url=url, new_key=prepared.new_key, db=api_db)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    """What does the work, by role."""

    scheduling: Scheduling | None
    worker: Worker | None


def _listen(stack: AsyncExitStack, config: Config) -> socket.socket | None:
    """The API's socket, before anything else: a port in use must not be half a start."""
    if "api" not in config.roles:
        return None
    listener = web.listen(config.host, config.port)
    stack.callback(listener.close)
    return listener


async def _find_database(
    stack: AsyncExitStack, config: Config
) -> tuple[str, embedded.Embedded | None]:
    if config.dsn is not None:
        return config.dsn, None
    server = await stack.enter_async_context(await embedded.start(config.data_dir))
    return server.dsn, server


async def _open_pools(stack: AsyncExitStack, dsn: str, config: Config) -> tuple[Database, Database]:
    """One pool for the engine, one for the API: together as many connections as configured."""
    if "api" not in config.roles:
        db = await stack.enter_async_context(
            await Database.open(dsn, pool_size=config.pool_size, application_name="rota engine")
        )
        return db, db
    for_api = config.pool_size - 1 if config.roles == ("api",) else config.pool_size * 2 // 5
    for_api = max(1, for_api)
    db = await stack.enter_async_context(
        await Database.open(
            dsn, pool_size=max(1, config.pool_size - for_api), application_name="rota engine"
        )
    )
    api_db = await stack.enter_async_context(
        await Database.open(dsn, pool_size=for_api, application_name="rota api", retry=_API_RETRY)
    )
    return db, api_db


def _keep_up(
    stack: AsyncExitStack,
    db: Database,
    config: Config,
    *,
    server: embedded.Embedded | None,
    bus: Bus,
    clock: Clock,
) -> None:
    """The loops that every process has: watching the database, making and dropping partitions."""
    watch = DatabaseWatch(db, bus=bus, embedded=server)

    async def sweep() -> None:
        today = await db.run(today_of, read_only=True)
        await retention.sweep(db, today, keep=config.retention)
        while await db.run(answers.forget, repeatable=True):
            pass

    loops = (
        Loop("database", watch.run_once, wait=every(INTERVAL, clock), bus=bus, clock=clock),
        Loop("retention", sweep, wait=every(_SWEEP_INTERVAL, clock), bus=bus, clock=clock),
    )
    if "scheduler" in config.roles:
        resumer = Resumer(db, bus)
        wait = every(resuming.INTERVAL, clock)
        loops += (Loop("resume", resumer.run_once, wait=wait, bus=bus, clock=clock),)
    for loop in loops:
        loop.start()
        stack.push_async_callback(loop.stop)


def _answer(stack: AsyncExitStack, engine: Engine, listener: socket.socket, config: Config) -> str:
    """Start the API, and say in the data folder where it is; returns its address."""
    server = web.WebServer(create(engine), listener)
    server.start()
    stack.push_async_callback(server.stop)
    url = web.url_of(listener, config.host)
    if config.dsn is None:
        files.write(config.data_dir, files.URL, url)
        stack.callback(files.forget, config.data_dir, files.URL, url)
    return url


async def _start_parts(
    stack: AsyncExitStack,
    db: Database,
    config: Config,
    *,
    dsn: str,
    news: Listener,
    vault: Vault,
    bus: Bus,
    clock: Clock,
) -> _Parts:
    node = Node.start(config.roles)
    session = NodeSession(dsn, node, bus=bus, clock=clock)
    await stack.enter_async_context(session)
    worker = None
    if "worker" in config.roles:
        callback = await open_callback(db, vault, config)
        last_moment = LastMoment(db, vault, clock=clock)
        http = await stack.enter_async_context(
            HttpCaller(target_policy(config), last_moment=last_moment, callback=callback)
        )
        streams = await stack.enter_async_context(
            StreamCaller(target_policy(config), last_moment=last_moment)
        )
        celery = stack.enter_context(
            CeleryCaller(config.celery_broker_url, last_moment=last_moment)
        )
        worker = Worker(
            db,
            id_=node.id,
            callers={HTTP_LANE: http, STREAM_LANE: streams, CELERY_LANE: celery},
            listener=news,
            pace=Pace(lead=config.lead),
            limits=host_limits(config),
            bus=bus,
            clock=clock,
            has_tokens=callback is not None,
        )
        await worker.start()
    scheduling = None
    if "scheduler" in config.roles:
        timers = news.subscribe(TIMERS)
        scheduling = Scheduling(
            db, config, node=node, session=session, news=timers, bus=bus, clock=clock
        )
        scheduling.start()
    return _Parts(scheduling=scheduling, worker=worker)


async def _drain(parts: _Parts, stop: Stop, grace: timedelta) -> None:
    """Claim no more, give the leases back, finish what runs; at a second signal, leave it.

    What is left then is rescued by others: the node's session ends with the process.
    """
    # Whatever ends the block, the API says from now on that it is stopping.
    stop.asked.set()
    working = asyncio.create_task(parts.worker.stop(grace=grace)) if parts.worker else None
    if parts.scheduling is not None:
        await parts.scheduling.stop()
    if working is None:
        return
    hurried = asyncio.create_task(stop.hurried.wait())
    await asyncio.wait({working, hurried}, return_when=asyncio.FIRST_COMPLETED)
    hurried.cancel()
    if not working.done():
        working.cancel()
    await asyncio.gather(working, hurried, return_exceptions=True)
