"""The parts that do the work, by role: scheduler and worker, started and drained in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rota.db.server_clock import DatabaseClock
from rota.firing.scheduler import CHANNEL as TIMERS
from rota.leases import Node, NodeSession
from rota.runtime.callback import open_callback
from rota.runtime.limits import host_limits
from rota.runtime.scheduling import Scheduling
from rota.runtime.targets import reporter, target_policy
from rota.runtime.watching import start_watching
from rota.schedules.definition import CELERY_LANE, HTTP_LANE, STREAM_LANE
from rota.schedules.schedule_cache import ScheduleCache
from rota.tenants.known import remembered_tenants
from rota.workers.delivery.capture_budget import MEGABYTE
from rota.workers.delivery.celery import CeleryCaller
from rota.workers.delivery.http import HttpCaller
from rota.workers.delivery.redis_streams import StreamCaller
from rota.workers.delivery.request_signing import RequestSigner
from rota.workers.settings import WorkerSettings
from rota.workers.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping
    from contextlib import AsyncExitStack
    from datetime import timedelta
    from uuid import UUID

    from rota.clock import Clock
    from rota.config import Config
    from rota.db import Listener
    from rota.events import Bus
    from rota.runtime.opening import Opened
    from rota.workers.caller import Caller
    from rota.workers.delivery.callback import Callback

BUILT_IN = (HTTP_LANE, STREAM_LANE, CELERY_LANE)
"""The lanes whose calls need no code of the user's."""


class Stop:
    """Somebody's wish that the server ends: asked for once, and again when it takes too long."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = asyncio.Event()

    def ask(self) -> None:
        (self.hurried if self.asked.is_set() else self.asked).set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What a program that runs the engine inside itself adds to it; a server adds nothing."""

    lanes: Collection[str] = BUILT_IN
    """Which of the built-in lanes its worker serves."""
    open_callers: Callable[[AsyncExitStack, Engine], Mapping[str, Caller]] | None = None
    """Opens the callers of further lanes, closed again by the stack."""
    declare: Callable[[AsyncExitStack, Engine], Awaitable[None]] | None = None
    """Called when the node has a name, and before it fires or claims anything."""
    served_tenants: Callable[[], frozenset[UUID] | None] | None = None
    """The tenants its worker serves, known after `declare`; a worker without it serves them all."""
    concurrency: int | None = None
    """Attempts at once; the worker's usual number without it."""
    has_client: bool = False
    """Whether it asks things of the database itself, through a pool of its own."""
    has_secrets: bool = True
    """Whether its worker's calls, or its API, need what is sealed in the database."""
    make_key: bool = False
    """Whether somebody is there to be handed a first admin key."""
    is_terminal: bool = False
    """Whether what it prints is seen by a person and kept by nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What the parts work with."""

    opened: Opened
    node: Node
    session: NodeSession
    news: Listener
    bus: Bus
    clock: Clock
    time: DatabaseClock
    """The database's time; the worker measures it, and what it calls is signed by it."""
    cache: ScheduleCache
    """Schedules of this database, for the scheduler and the worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What does the work, by role."""

    scheduling: Scheduling | None = None
    worker: Worker | None = None


async def start_parts(
    stack: AsyncExitStack,
    opened: Opened,
    config: Config,
    *,
    news: Listener,
    bus: Bus,
    clock: Clock,
    program: Program,
) -> Parts:
    """Begin to claim and to fire, as far as the roles say."""
    node = Node.start(config.roles)
    session = NodeSession(opened.direct_dsn, node, bus=bus, clock=clock)
    await stack.enter_async_context(session)
    engine = Engine(
        opened=opened,
        node=node,
        session=session,
        news=news,
        bus=bus,
        clock=clock,
        time=DatabaseClock(clock),
        cache=ScheduleCache(),
    )
    start_watching(stack, opened, config, node_id=node.id, bus=bus, clock=clock)
    if program.declare is not None:
        await program.declare(stack, engine)
    worker = None
    if "worker" in config.roles:
        worker = await _start_worker(stack, engine, config, program)
    scheduling = None
    if "scheduler" in config.roles:
        scheduling = Scheduling(
            opened.scheduling_db,
            config,
            node=node,
            session=session,
            news=news.subscribe(TIMERS),
            bus=bus,
            clock=clock,
            cache=engine.cache,
        )
        scheduling.start()
    return Parts(scheduling=scheduling, worker=worker)


async def _start_worker(
    stack: AsyncExitStack, engine: Engine, config: Config, program: Program
) -> Worker:
    opened = engine.opened
    callback = await open_callback(opened.db, opened.vault, config)
    callers = await _built_in(stack, engine, config, program.lanes, callback)
    if program.open_callers is not None:
        callers |= program.open_callers(stack, engine)
    worker = Worker(
        opened.db,
        id_=engine.node.id,
        callers=callers,
        tenants=None if program.served_tenants is None else program.served_tenants(),
        session=engine.session,
        listener=engine.news,
        settings=_worker_settings(config, program),
        limits=host_limits(config),
        bus=engine.bus,
        clock=engine.clock,
        time=engine.time,
        has_tokens=callback is not None,
        cache=engine.cache,
    )
    await worker.start()
    return worker


async def _built_in(
    stack: AsyncExitStack,
    engine: Engine,
    config: Config,
    lanes: Collection[str],
    callback: Callback | None,
) -> dict[str, Caller]:
    policy = target_policy(config, engine.opened.prepared.operator)
    report = reporter(engine.bus)
    signer = RequestSigner(engine.opened.db, engine.opened.vault, time=engine.time)
    callers: dict[str, Caller] = {}
    if HTTP_LANE in lanes:
        http = HttpCaller(policy, signer=signer, callback=callback, report=report)
        callers[HTTP_LANE] = await stack.enter_async_context(http)
    if STREAM_LANE in lanes:
        streams = StreamCaller(policy, signer=signer, report=report)
        callers[STREAM_LANE] = await stack.enter_async_context(streams)
    # Without a broker the lane is left to workers that have one.
    if CELERY_LANE in lanes and config.celery_broker_url is not None:
        celery = CeleryCaller(
            config.celery_broker_url,
            find_tenant=remembered_tenants(engine.opened.db, clock=engine.clock),
            signer=signer,
        )
        callers[CELERY_LANE] = stack.enter_context(celery)
    return callers


def _worker_settings(config: Config, program: Program) -> WorkerSettings:
    budget = config.capture_budget_mb * MEGABYTE or None
    usual = WorkerSettings(lead=config.lead, capture_budget=budget)
    if program.concurrency is None:
        return usual
    return replace(usual, concurrency=program.concurrency, prefetch=program.concurrency)


async def drain(parts: Parts, stop: Stop, grace: timedelta) -> None:
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
