"""The worker: claims ahead, begins at the instant, keeps its claims alive, and stops in order."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Self

from rota.clock import Clock, SystemClock
from rota.db.server_clock import DatabaseClock
from rota.events import Bus
from rota.queue.extend import extend, release
from rota.queue.finish import Settlement
from rota.queue.states import RECALLS
from rota.workers import events
from rota.workers.agenda import Agenda
from rota.workers.attempt import Attempts
from rota.workers.claimer import Claimer
from rota.workers.finisher import Finisher
from rota.workers.held import Held, Phase, Stop
from rota.workers.holdings import Holdings
from rota.workers.loops import repeat
from rota.workers.news import CHANNELS, concerns_held, work_waits
from rota.workers.pace import TRUST_MARGIN, Pace
from rota.workers.rescuer import Rescuer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Listener, Subscription
    from rota.queue.claim import Claim
    from rota.queue.extend import Extended
    from rota.queue.finish import Settled
    from rota.queue.states import Status
    from rota.schedules.schedule import Schedule
    from rota.workers.calls import Caller

_CLOSE_TIMEOUT = timedelta(seconds=5)


class Worker:
    """Claims the firings of some lanes and makes their attempts.

    `id_` is the node's: when the node's session ends, its claims are rescued at once. `callers` has
    what to do for each lane. Without a `listener` (on `news.CHANNELS`) it learns of cancelled
    firings by its heartbeat, and of manual runs by its poll.
    """

    def __init__(
        self,
        db: Database,
        *,
        id_: UUID,
        callers: Mapping[str, Caller],
        listener: Listener | None = None,
        pace: Pace | None = None,
        bus: Bus | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.id = id_
        self.pace = pace = pace or Pace()
        self._db = db
        self._callers = callers
        self._listener = listener
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._time = DatabaseClock(self._clock)
        self._holdings = Holdings(concurrency=pace.concurrency, prefetch=pace.prefetch)
        self._agenda = Agenda(self._time, self._due)
        self._attempts = Attempts(id_, self._time, self._bus)
        # The heartbeat and the finisher lock the same rows, each in its own order: one at a time.
        self._rows = asyncio.Lock()
        self._finisher = Finisher(
            db,
            id_,
            rows=self._rows,
            clock=self._clock,
            bus=self._bus,
            on_settled=self._on_settled,
        )
        self._claimer = Claimer(
            db,
            id_,
            lanes=callers.keys(),
            pace=pace,
            holdings=self._holdings,
            time=self._time,
            clock=self._clock,
            hold=self._hold,
            clock_set=self._agenda.rearm,
        )
        self._rescuer = Rescuer(db, self._bus, clock=self._clock, grace=pace.rescue_grace)
        self._tasks: set[asyncio.Task[None]] = set()
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
        news = None if self._listener is None else self._listener.subscribe(*CHANNELS)
        self._claiming = self._loop("claim", self._claimer.run_once, self._claimer.wait)
        self._loops = [
            self._loop("heartbeat", self.heartbeat_once, lambda: self._until_beat(news)),
            self._loop("rescue", self._rescuer.run_once, self._until_rescue),
            asyncio.create_task(self._finisher.run(), name="rota finish"),
        ]

    async def stop(self, *, grace: timedelta | None = None) -> None:
        """Claim no more, give back what has not begun, finish what runs, then return the rest.

        What runs has `grace` to end; recording takes a moment more.
        """
        self._stopping.set()
        self._claimer.look()
        try:
            await self._end_claiming()
            await self._give_back()
            await self._end_attempts(self.pace.stop_grace if grace is None else grace)
            await self._briefly("finish", self._finisher.drained)
        finally:
            # Even when somebody could not wait for the rest.
            for task in (*self._loops, *self._tasks):
                task.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._briefly("release", self._claimer.release_strays)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def _end_claiming(self) -> None:
        """Let the pass under way come to its end; a database that is away has no say in it."""
        if self._claiming is None:
            return
        _, late = await asyncio.wait({self._claiming}, timeout=_CLOSE_TIMEOUT.total_seconds())
        if late:
            self._claiming.cancel()
            await asyncio.wait(late)

    async def _give_back(self) -> None:
        claims: list[Claim] = []
        self._agenda.clear()
        for held in self._holdings:
            if held.unstarted:
                held.phase = Phase.SETTLING
                self._holdings.remove(held)
                claims.append(held.claim)

        async def give() -> None:
            async with self._rows, self._db.transaction() as tx:
                await release(tx, self.id, claims)

        if claims:
            await self._briefly("release", give)

    async def _end_attempts(self, grace: timedelta) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=max(0.0, grace.total_seconds()))
        for held in self._holdings:
            held.break_off(Stop.INTERRUPTED)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_CLOSE_TIMEOUT.total_seconds())

    async def _briefly(self, part: str, work: Callable[[], Awaitable[object]]) -> None:
        """A step of stopping; what it does not manage is left for rescue."""
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT.total_seconds()):
                await work()
        except Exception as error:  # noqa: BLE001 - the other steps must have their turn
            self._troubled(part, error)

    # Holding and beginning

    def _hold(self, each: Claim, schedule: Schedule | str) -> None:
        earlier = self._holdings.get(each.id)
        if earlier is not None:
            # It was rescued from us, and has come back.
            self._lose(earlier)
        if isinstance(schedule, str):
            self._finisher.add(self._unrun(each, each.cancel_reason or schedule))
            return
        held = Held(each, schedule, each.claimed_until)
        self._holdings.add(held)
        if each.cancel_reason is not None:
            self._end_unstarted(held, each.cancel_reason)
        else:
            self._agenda.add(held)

    def _due(self, batch: list[Held]) -> None:
        for held in batch:
            self._holdings.line_up(held)
        self._begin_due()

    def _begin_due(self) -> None:
        while not self._stopping.is_set() and (held := self._holdings.next_due()) is not None:
            if self._time.now() >= held.trusted_until - TRUST_MARGIN:
                # Frozen or cut off for too long: somebody else may be about to begin it.
                self._lose(held)
                continue
            held.phase = Phase.CALLING
            self._holdings.calling += 1
            task = asyncio.create_task(self._attempt(held))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _attempt(self, held: Held) -> None:
        try:
            settlement = await self._attempts.make(held, self._callers[held.claim.lane])
        finally:
            self._holdings.calling -= 1
        if settlement is None:
            self._lose(held)
        else:
            self._finisher.add(settlement)
            await self._finisher.room()
        self._begin_due()

    # Settling

    def _on_settled(self, batch: Sequence[Settlement], settled: Settled) -> None:
        for each in batch:
            held = self._holdings.get(each.claim.id)
            if held is not None and held.claim.attempt == each.claim.attempt:
                self._holdings.remove(held)
            accepted = each.claim.id in settled.accepted
            self._bus.publish(events.of_settlement(each, self.id, accepted=accepted))
        self._claimer.made_room()
        if settled.freed:
            self._claimer.look()

    def _end_unstarted(self, held: Held, reason: str) -> None:
        held.phase = Phase.SETTLING
        self._agenda.remove(held)
        self._finisher.add(self._unrun(held.claim, reason))

    def _unrun(self, each: Claim, reason: str) -> Settlement:
        """The end of a claim that was not begun: taken back, or cancelled in time."""
        # What was tried before did not pass by unnoticed: it was broken off.
        skipped = reason in RECALLS and each.attempt == 1
        status: Status = "skipped" if skipped else "cancelled"
        return Settlement(
            claim=each,
            started_at=None,
            finished_at=self._time.now(),
            status=status,
            reason=reason,
        )

    # Keeping claims

    async def heartbeat_once(self) -> None:
        """Extend all claims; drop those that were lost, end those that are wanted back."""
        async with self._rows:
            held = list(self._holdings)
            if not held:
                return
            # Read before the request: a slow reply must shorten our trust, never stretch it.
            asked_at = self._time.now()
            async with self._db.transaction() as tx:
                extended = await extend(
                    tx, self.id, [each.claim for each in held], self.pace.visibility
                )
        for each in held:
            self._apply(each, extended, asked_at + self.pace.visibility)

    def _apply(self, held: Held, extended: Extended, until: datetime) -> None:
        id_ = held.claim.id
        if self._holdings.get(id_) is not held or held.phase is Phase.SETTLING:
            return
        if id_ in extended.lost:
            self._lose(held)
            return
        held.trusted_until = max(held.trusted_until, until)
        reason = extended.cancelled.get(id_)
        if reason is None:
            if id_ in extended.edited and held.unstarted:
                self._put_back(held)
            return
        if held.unstarted:
            self._end_unstarted(held, reason)
        elif reason not in RECALLS:
            held.break_off(Stop.CANCELLED, reason)

    def _put_back(self, held: Held) -> None:
        """Let go of a claim whose schedule was edited: claimed again, it is of the new version."""
        held.phase = Phase.SETTLING
        self._agenda.remove(held)
        self._holdings.remove(held)
        self._claimer.put_back()

    def _lose(self, held: Held) -> None:
        """Let go of a claim that is somebody else's now."""
        if held.phase is Phase.CALLING and held.stop is None:
            held.break_off(Stop.LOST)
            return
        self._agenda.remove(held)
        self._holdings.remove(held)
        held.phase = Phase.SETTLING
        self._bus.publish(events.ClaimLost(**events.about(held.claim, self.id)))

    async def _until_beat(self, news: Subscription | None) -> None:
        """Return when it is time, or when somebody wants something that we hold."""
        started = self._clock.monotonic()
        while True:
            passed = timedelta(seconds=self._clock.monotonic() - started)
            left = self.pace.heartbeat_interval - passed
            if left <= timedelta():
                return
            if news is None:
                await self._clock.sleep(left)
                return
            wake = await news.wait(left)
            if work_waits(wake, self._callers):
                self._claimer.look()
            if concerns_held(wake, self._holdings):
                return

    async def _until_rescue(self) -> None:
        await self._clock.sleep(self.pace.rescue_interval)

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
