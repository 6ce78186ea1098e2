"""The worker: starts and stops the pipeline that claims ahead and begins at the instant."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from rota.backoff import Backoff
from rota.clock import Clock, SystemClock
from rota.db.locks import CIRCUITS, QUEUE
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.schedules.schedule_cache import ScheduleCache
from rota.service import Service
from rota.workers import stopping
from rota.workers.async_timeout import AsyncTimeouts
from rota.workers.auto_pause import AutoPause
from rota.workers.channels import WANTED
from rota.workers.claim_release import ClaimRelease
from rota.workers.claimer import Claimer
from rota.workers.completer import Completer
from rota.workers.delay_queue import DelayQueue
from rota.workers.events import WorkerTroubled
from rota.workers.excess_release import PATIENCE, ExcessRelease
from rota.workers.executor import Executor
from rota.workers.heartbeat import Heartbeat
from rota.workers.hosts.circuit_cache import CircuitCache
from rota.workers.hosts.host_limiter import LOOK_INTERVAL, HostLimiter
from rota.workers.hosts.limits import Limits
from rota.workers.inflight import Inflight
from rota.workers.intake import Intake
from rota.workers.prefetch import Prefetch
from rota.workers.preparer import Preparer
from rota.workers.rescuer import Rescuer
from rota.workers.right_to_begin import RightToBegin, SessionFollower
from rota.workers.settings import WorkerSettings
from rota.workers.shared import Shared

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Database, Listener
    from rota.leases import NodeSession
    from rota.workers.caller import Caller


class Worker:
    """Claims the firings of some lanes and makes their attempts.

    `id_` is the node's, and `session` its session: when that ends, its claims are rescued, and it
    begins nothing that others may have been given (`right_to_begin`). `callers` has
    what to do for each lane. `tenants` are those it serves, all tenants without them: it claims
    nothing of any other. Without a `listener` (on `channels.CHANNELS`) it learns of cancelled
    firings by its heartbeat, and of manual runs by its poll. `limits` is how much it asks of one
    host. `has_tokens` says that callers send a token along, so that a target can take the work on
    and complete it later. `time` is the database's time, which it measures as it claims: give one
    to share it with the callers, who sign by it. `cache` may be shared with the scheduler of this
    process and this database.
    """

    def __init__(
        self,
        db: Database,
        *,
        id_: UUID,
        callers: Mapping[str, Caller],
        tenants: frozenset[UUID] | None = None,
        session: NodeSession | None = None,
        listener: Listener | None = None,
        settings: WorkerSettings | None = None,
        limits: Limits | None = None,
        bus: Bus | None = None,
        clock: Clock | None = None,
        time: DatabaseClock | None = None,
        has_tokens: bool = False,
        cache: ScheduleCache | None = None,
    ) -> None:
        self.id = id_
        self.tenants = tenants
        """The tenants it serves; None for all of them."""
        self.settings = settings = settings or WorkerSettings()
        self._db, self._listener, self._session = db, listener, session
        self._bus = bus = bus or Bus()
        self._clock = clock = clock or SystemClock()
        self._inflight = inflight = Inflight(
            concurrency=settings.concurrency, prefetch=settings.prefetch
        )
        self._shared = shared = Shared(
            db=db,
            worker=id_,
            settings=settings,
            inflight=inflight,
            time=time or DatabaseClock(clock),
            clock=clock,
            bus=bus,
        )
        limits = limits or Limits()
        prefetch = Prefetch(prefetch=settings.prefetch, lead=settings.lead)
        right = RightToBegin(session, shared.time)
        # From the end of the pipeline to its beginning: each stage calls those behind it.
        self._circuits = circuits = CircuitCache(db, limits.circuit, bus=bus, clock=clock)
        self._auto_pause = AutoPause(db, bus)
        self._completer = completer = Completer(
            shared, prefetch=prefetch, circuits=circuits, auto_pause=self._auto_pause
        )
        self._delay_queue = delay_queue = DelayQueue(shared.time, inflight)
        self._release = release = ClaimRelease(shared, delay_queue=delay_queue, completer=completer)
        self._hosts = hosts = HostLimiter(
            shared, limits, delay_queue=delay_queue, release=release, circuits=circuits
        )
        self._executor = executor = Executor(
            shared,
            callers,
            right=right,
            hosts=hosts,
            completer=completer,
            release=release,
            has_tokens=has_tokens,
        )
        self._preparer = Preparer(callers, inflight=inflight, time=shared.time)
        intake = Intake(
            shared,
            callers,
            delay_queue=delay_queue,
            preparer=self._preparer,
            hosts=hosts,
            release=release,
            executor=executor,
        )
        self._claimer = Claimer(
            shared,
            lanes=callers.keys(),
            tenants=tenants,
            delay_queue=delay_queue,
            prefetch=prefetch,
            right=right,
            intake=intake,
            executor=executor,
            cache=cache or ScheduleCache(),
        )
        self._excess = ExcessRelease(shared, prefetch)
        self._claiming = self._service("claimer", self._claimer.run_once, self._claimer.wait)
        self._services: list[Service] = []
        self._hears_queue: Callable[[], None] = lambda: None

    @property
    def running(self) -> int:
        """How many attempts are under way."""
        return self._inflight.calling

    @property
    def held(self) -> int:
        """How many claims it has, begun or not."""
        return len(self._inflight)

    async def start(self) -> None:
        """Start to work, in the background."""
        listener, session = self._listener, self._session
        self._hears_queue = self._db.on_notice(QUEUE, self._claimer.hear)
        if listener is not None:
            listener.pass_on(QUEUE, self._db)
        # Before the first claim: a restart must not close open circuits.
        await self._briefly("circuits", self._circuits.refresh)
        self._services = [*self._stages(), *self._maintenance()]
        if session is not None:
            follower = SessionFollower(session, inflight=self._inflight, release=self._release)
            self._services.append(self._service("session", follower.run_once, follower.wait))
        for each in (self._claiming, *self._services):
            each.start()

    def _stages(self) -> list[Service]:
        """The pipeline behind the claimer."""
        executor, completer, hosts = self._executor, self._completer, self._hosts
        return [
            self._service("sweep", self._claimer.sweep, self._claimer.until_sweep),
            self._service("executor", executor.run_once, executor.wait),
            self._service("completer", completer.run_once, completer.wait),
            self._service("admission", hosts.admission.run_once, hosts.admission.wait),
            self._service("postponer", hosts.postponer.run_once, hosts.postponer.wait),
        ]

    def _maintenance(self) -> list[Service]:
        """What is done from time to time, for the worker's own claims and for those of others."""
        listener, settings, circuits = self._listener, self.settings, self._circuits
        wanted = None if listener is None else listener.subscribe(*WANTED)
        news = None if listener is None else listener.subscribe(CIRCUITS)
        heartbeat = Heartbeat(
            self._shared, release=self._release, executor=self._executor, news=wanted
        )
        rescuer = Rescuer(self._db, self._bus, clock=self._clock, grace=settings.rescue_grace)
        timeouts = AsyncTimeouts(self._db, self._bus)
        return [
            self._service("heartbeat", heartbeat.run_once, heartbeat.wait),
            self._service("circuits", circuits.refresh, lambda: circuits.wait(news)),
            self._service("hosts", self._hosts.clear, LOOK_INTERVAL),
            self._service("excess", self._excess.run_once, PATIENCE),
            self._service("auto pause", self._auto_pause.run_once, self._auto_pause.wait),
            self._service("rescuer", rescuer.run_once, settings.rescue_interval),
            self._service("async timeouts", timeouts.run_once, settings.rescue_interval),
        ]

    def _service(
        self,
        name: str,
        run_once: Callable[[], Awaitable[object]],
        wait: timedelta | Callable[[], Awaitable[object]],
    ) -> Service:
        return Service(
            name, run_once, wait=wait, bus=self._bus, clock=self._clock, backoff=Backoff()
        )

    async def stop(self, *, grace: timedelta | None = None) -> None:
        """Claim no more, give back what has not begun, finish what runs, then return the rest.

        What runs has `grace` to end; recording takes a moment more.
        """
        executor = self._executor
        executor.stopping = True
        self._hears_queue()
        self._hears_queue = lambda: None
        try:
            # Let the pass under way come to its end; a database that is away has no say in it.
            await self._claiming.stop(within=stopping.CLOSE_TIMEOUT)
            await self._briefly("release", self._give_back)
            grace = self.settings.stop_grace if grace is None else grace
            await stopping.end_attempts(self._inflight, executor, grace)
            await self._briefly("completer", self._completer.drained)
            await self._briefly("postponer", self._hosts.postponer.drained)
        finally:
            # Even when somebody could not wait for the rest.
            self._preparer.close()
            executor.close()
            for each in self._services:
                each.cancel()
        await asyncio.gather(*(each.stop() for each in self._services))
        await executor.drained(stopping.CLOSE_TIMEOUT)
        await self._briefly("release", self._claimer.release_strays)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _give_back(self) -> None:
        claims = stopping.unstarted(self._inflight, self._delay_queue)
        await stopping.give_back(self._db, self.id, claims, self._shared.rows)

    async def _briefly(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """One step, with an end: the others must have their turn."""
        try:
            async with asyncio.timeout(stopping.CLOSE_TIMEOUT.total_seconds()):
                await work()
        except Exception as error:  # noqa: BLE001 - see above
            text = f"{type(error).__name__}: {error}"
            self._bus.publish(WorkerTroubled(worker=self.id, part=part, error=text))
