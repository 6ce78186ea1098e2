"""The worker: claims ahead, begins at the instant, keeps its claims alive, and stops in order."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Self

from rota.clock import Clock, SystemClock
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.workers import events, stopping
from rota.workers.agenda import Agenda
from rota.workers.appetite import Appetite
from rota.workers.attempt import Attempts
from rota.workers.calls import Choosy, Early, Pooled, Timed
from rota.workers.claimer import Claimer
from rota.workers.finisher import Finisher
from rota.workers.gone import Gone
from rota.workers.hands import Hands
from rota.workers.heartbeat import Heartbeat
from rota.workers.held import Held, Phase
from rota.workers.holding import Holding
from rota.workers.holdings import Holdings
from rota.workers.hosts.keeper import HostKeeper
from rota.workers.hosts.limits import Limits
from rota.workers.letting_go import LettingGo
from rota.workers.loops import repeat
from rota.workers.making import Making
from rota.workers.news import CIRCUITS, WANTED
from rota.workers.overdue import Overdue
from rota.workers.pace import TRUST_MARGIN, Pace
from rota.workers.rescuer import Rescuer
from rota.workers.surplus import Surplus
from rota.workers.unending import Unending

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Database, Listener
    from rota.queue.claim import Claim
    from rota.queue.finish import Settled, Settlement
    from rota.schedules.schedule import Schedule
    from rota.workers.calls import Caller, Reply


class Worker:
    """Claims the firings of some lanes and makes their attempts.

    `id_` is the node's: when the node's session ends, its claims are rescued at once. `callers` has
    what to do for each lane. `tenants` are those it serves, all tenants without them: it claims
    nothing of any other. Without a `listener` (on `news.CHANNELS`) it learns of cancelled
    firings by its heartbeat, and of manual runs by its poll. `limits` is how much it asks of one
    host. `has_tokens` says that callers send a token along, so that a target can take the work on
    and complete it later. `time` is the database's time, which it measures as it claims: give one
    to share it with the callers, who sign by it.
    """

    def __init__(
        self,
        db: Database,
        *,
        id_: UUID,
        callers: Mapping[str, Caller],
        tenants: frozenset[UUID] | None = None,
        listener: Listener | None = None,
        pace: Pace | None = None,
        limits: Limits | None = None,
        bus: Bus | None = None,
        clock: Clock | None = None,
        time: DatabaseClock | None = None,
        has_tokens: bool = False,
    ) -> None:
        self.id = id_
        self.tenants = tenants
        """The tenants it serves; None for all of them."""
        self.pace = pace = pace or Pace()
        self._db = db
        self._listener = listener
        self._bus = bus = bus or Bus()
        self._clock = clock = clock or SystemClock()
        self._time = time = time or DatabaseClock(clock)
        self._holdings = holdings = Holdings(concurrency=pace.concurrency, prefetch=pace.prefetch)
        self._agenda = Agenda(time, self._due)
        self._appetite = Appetite(prefetch=pace.prefetch, lead=pace.lead)
        # Heartbeat, finisher and postponer lock the same rows, each in its own order: one at a
        # time.
        self._rows = rows = asyncio.Lock()
        self._claimer = Claimer(
            db,
            id_,
            lanes=callers.keys(),
            tenants=tenants,
            pace=pace,
            holdings=holdings,
            agenda=self._agenda,
            appetite=self._appetite,
            time=time,
            clock=clock,
            hold=self._hold,
            clock_set=self._clock_set,
            others=self._set_others,
        )
        self._hosts = HostKeeper(
            db,
            id_,
            limits=limits or Limits(),
            lead=pace.lead,
            holdings=holdings,
            rows=rows,
            time=time,
            clock=clock,
            bus=bus,
            go=self._due,
            at=self._agenda.add,
            give_up=self._give_up,
            gone=self._claimer.made_room,
            refused=self._claimer.put_back,
        )
        attempts = Attempts(id_, time, bus, hosts=self._hosts, has_tokens=has_tokens)
        self._finisher = Finisher(
            db,
            id_,
            rows=rows,
            clock=clock,
            bus=bus,
            on_settled=self._on_settled,
            is_herd=lambda count: holdings.waiting >= count,
            report=self._hosts.known.report,
            made_room=self._go_on,
            capture_budget=pace.capture_budget,
        )
        self._unending = unending = Unending(
            id_,
            holdings=holdings,
            bus=bus,
            give_up=self._give_up_on,
        )
        self._letting_go = LettingGo(
            id_,
            holdings=holdings,
            agenda=self._agenda,
            finisher=self._finisher,
            claimer=self._claimer,
            unending=unending,
            time=time,
            bus=bus,
        )
        self._holding = Holding(
            holdings=holdings,
            agenda=self._agenda,
            hosts=self._hosts,
            letting_go=self._letting_go,
            choosy={lane: each for lane, each in callers.items() if isinstance(each, Choosy)},
            early={lane: each for lane, each in callers.items() if isinstance(each, Early)},
            time=time,
            due=self._due,
        )
        self._heartbeat = Heartbeat(
            db,
            id_,
            pace=pace,
            lanes=callers.keys(),
            holdings=holdings,
            claimer=self._claimer,
            letting_go=self._letting_go,
            unending=unending,
            rows=rows,
            time=time,
            clock=clock,
        )
        self._surplus = Surplus(
            db,
            id_,
            concurrency=pace.concurrency,
            holdings=holdings,
            appetite=self._appetite,
            rows=rows,
            time=time,
            clock=clock,
        )
        self._rescuer = Rescuer(db, bus, clock=clock, grace=pace.rescue_grace)
        self._overdue = Overdue(db, bus)
        self._gone = Gone(db, bus)
        self._making = Making(
            callers,
            attempts=attempts,
            holdings=holdings,
            hosts=self._hosts,
            finisher=self._finisher,
            letting_go=self._letting_go,
            time=time,
            troubled=self._troubled,
        )
        self._making.hands = self._hands = Hands(
            holdings=holdings, next_=self._next, attempt=self._making.attempt, time=time
        )
        for each in callers.values():
            if isinstance(each, Timed):
                each.on_late = unending.late
        self._pools = [each for each in callers.values() if isinstance(each, Pooled)]
        self._loops: list[asyncio.Task[None]] = []
        self._claiming: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()

    @property
    def running(self) -> int:
        """How many attempts are under way."""
        return self._holdings.calling

    @property
    def held(self) -> int:
        """How many claims it has, begun or not."""
        return len(self._holdings)

    # Starting and stopping

    async def start(self) -> None:
        """Begin to work, in the background."""
        listener, hosts, clock = self._listener, self._hosts, self._clock
        until_rescue = partial(clock.sleep, self.pace.rescue_interval)
        wanted = None if listener is None else listener.subscribe(*WANTED)
        circuits = None if listener is None else listener.subscribe(CIRCUITS)
        # Before the first claim: a restart must not be the end of anybody's rest.
        await self._briefly("circuits", hosts.known.refresh)
        self._claiming = self._loop("claim", self._claimer.run_once, self._claimer.wait)
        self._loops = [
            self._loop("heartbeat", self._heartbeat.run_once, lambda: self._heartbeat.wait(wanted)),
            self._loop("surplus", self._surplus.run_once, self._surplus.wait),
            self._loop("rescue", self._rescuer.run_once, until_rescue),
            self._loop("overdue", self._overdue.run_once, until_rescue),
            self._loop("gone", self._gone.run_once, self._gone.wait),
            self._loop("circuits", hosts.known.refresh, lambda: hosts.known.wait(circuits)),
            self._loop("hosts", hosts.clear, hosts.wait),
            asyncio.create_task(hosts.gate.run(), name="rota gate"),
            asyncio.create_task(hosts.postponer.run(), name="rota postpone"),
            asyncio.create_task(self._finisher.run(), name="rota finish"),
        ]

    async def stop(self, *, grace: timedelta | None = None) -> None:
        """Claim no more, give back what has not begun, finish what runs, then return the rest.

        What runs has `grace` to end; recording takes a moment more.
        """
        self._stopping.set()
        self._claimer.look()
        try:
            await stopping.end_claiming(self._claiming)
            await self._briefly("release", self._give_back)
            grace = self.pace.stop_grace if grace is None else grace
            await stopping.end_attempts(self._holdings, self._hands, self._unending, grace)
            await self._briefly("finish", self._finisher.drained)
            await self._briefly("postpone", self._hosts.postponer.drained)
        finally:
            # Even when somebody could not wait for the rest.
            for task in self._loops:
                task.cancel()
            self._hands.end()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._hands.ended(stopping.CLOSE_TIMEOUT)
        await self._briefly("release", self._claimer.release_strays)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _give_back(self) -> None:
        claims = stopping.unstarted(self._holdings, self._agenda)
        await stopping.give_back(self._db, self.id, claims, self._rows)

    async def _briefly(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        await stopping.briefly(part, work, self._troubled)

    # Holding and beginning

    def _hold(self, claims: Sequence[Claim], schedules: Mapping[UUID, Schedule | str]) -> None:
        self._holding.hold(claims, schedules)

    def _clock_set(self) -> None:
        """The database's clock is not where it should be: wait by the new time, and say so."""
        self._agenda.rearm()
        stepped = self._time.alarm("worker")
        if stepped is not None:
            self._bus.publish(stepped)

    def _set_others(self, count: int) -> None:
        """How many tenants there are beyond the first: more than none, and each has its share."""
        if count == self._holdings.others:
            return
        self._holdings.others = count
        for each in self._pools:
            each.others = count
        self._go_on()

    def _give_up(self, held: Held, reason: str) -> None:
        self._letting_go.give_up(held, reason)

    def _give_up_on(self, held: Held, reply: Reply | None) -> None:
        self._making.give_up(held, reply)

    def _due(self, batch: list[Held]) -> None:
        self._holdings.line_up(batch)
        self._go_on()

    def _go_on(self) -> None:
        self._hands.wanted()

    def _next(self, now: datetime) -> Held | None:
        """What is to be begun now; None when there is nothing, or no hand free for it."""
        hosts, holdings = self._hosts, self._holdings
        # Nothing more while too much waits to be recorded: the finisher says when there is room.
        while not (self._stopping.is_set() or self._finisher.full):
            held = holdings.next_due(hosts.admit)
            if held is None:
                return None
            host = held.claim.host
            if now >= held.trusted_until - TRUST_MARGIN:
                # Frozen or cut off for too long: somebody else may be about to begin it.
                self._letting_go.lose(held)
            elif host is None or hosts.gate.admit_start(held, now):
                held.phase = Phase.CALLING
                if host is not None:
                    hosts.began(host)
                return held
            if holdings.ended(held):
                self._go_on()
        return None

    def _on_settled(self, batch: Sequence[Settlement], settled: Settled) -> None:
        holdings, bus, accepted = self._holdings, self._bus, settled.accepted
        self._appetite.did(len(batch), self._clock.monotonic())
        tells_all = bus.hears(events.FiringFinished)
        for each in batch:
            claim = each.claim
            held = holdings.get(claim.id)
            if held is not None and held.claim.attempt == claim.attempt:
                holdings.remove(held)
            is_accepted = claim.id in accepted
            if is_accepted and each.gone:
                self._gone.add(each)
            if tells_all or not is_accepted or each.status != "succeeded":
                bus.publish(events.of_settlement(each, self.id, accepted=is_accepted))
        if bus.hears(events.OutcomesRecorded):
            bus.publish(events.OutcomesRecorded(settlements=batch, accepted=accepted))
        self._claimer.made_room()
        if settled.freed:
            self._claimer.look()

    # Looping

    def _loop(
        self,
        part: str,
        once: Callable[[], Awaitable[object]],
        wait: Callable[[], Awaitable[object]],
    ) -> asyncio.Task[None]:
        loop = repeat(
            once,
            wait=wait,
            troubled=lambda error: self._troubled(part, error),
            stopping=self._stopping if part == "claim" else asyncio.Event(),
            clock=self._clock,
        )
        return asyncio.create_task(loop, name=f"rota {part}")

    def _troubled(self, part: str, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._bus.publish(events.WorkerTroubled(worker=self.id, part=part, error=text))
