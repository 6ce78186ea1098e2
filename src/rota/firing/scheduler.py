"""The scheduler: reads due timers, a little ahead of time, and fires them.

`run_once` is all of the work; the loop around it only waits, and neither waits for an execution.
Nothing in memory matters: what was not committed is found again by the next pass.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from rota.backoff import Backoff
from rota.clock import Clock, SystemClock
from rota.db import Cause, locks
from rota.db.server_clock import DatabaseClock
from rota.errors import TemporaryError
from rota.events import Bus
from rota.firing.events import (
    CaughtUp,
    FallingBehind,
    FenceRefused,
    PassDone,
    PlanFailed,
)
from rota.firing.fire import fire, read_due
from rota.firing.low_watermarks import LowWatermarks
from rota.firing.pass_state import Pass, PassCounts, PassState
from rota.firing.plan import plan
from rota.leases import FenceLost
from rota.schedules.schedule_cache import ScheduleCache
from rota.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    from rota.db import Database, Subscription, Wake
    from rota.firing.plan import Due, Plan
    from rota.leases import Elector, Lease
    from rota.schedules.schedule_cache import ScheduleSnapshot
    from rota.triggers.trigger import Trigger

CHANNEL = locks.TIMERS
SERVICE: Final = "scheduler"

_ZERO = timedelta()
_REFUSED_PAUSE = timedelta(milliseconds=2)
"""Before timers that have changed since they were read are looked at again."""
_LOOK_PAUSE = timedelta(milliseconds=20)
"""Between two looks at timers that wait for the firing before theirs to end."""
_LOOK_SHARE = 4
"""Such looks come no faster than this times as long as a pass takes, to leave time for the rest."""
_AT_ONCE = 2
_GATHERED = 0.95
"""How much of its lead a timer may have left when it is fired, so that others join it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the scheduler works. The defaults are measured; tests have their own."""

    lead: timedelta = timedelta(seconds=2)
    """How far ahead of its instant a timer is fired into the queue."""
    poll_interval: timedelta = timedelta(seconds=1)
    """The longest wait between two passes, whatever the notices."""
    sweep_interval: timedelta = timedelta(seconds=5)
    """How often to read below the low-water marks."""
    batch: int = 1_000
    """How many timers one transaction fires."""
    read: int = 10_000
    """How many timers one pass reads, about."""
    backlog_threshold: timedelta = timedelta(seconds=30)
    """Being further behind than this, with more to read, lets live slots go first."""
    retry_failed_after: timedelta = timedelta(seconds=60)
    """When to try a timer again that could not be planned."""


class Gate(Protocol):
    """Which timers may be fired: those that are to be moved first wait for that."""

    async def admit(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """Those of the leases whose timers may be fired now."""
        ...

    def holds_back(self, shard: int, trigger: Trigger, slot: datetime) -> bool:
        """Whether a timer of an admitted shard has to wait."""
        ...


class Scheduler:
    """Fires the timers of the shards whose leases this node holds."""

    def __init__(
        self,
        db: Database,
        elector: Elector,
        *,
        bus: Bus | None = None,
        clock: Clock | None = None,
        news: Subscription | None = None,
        settings: Settings | None = None,
        gate: Gate | None = None,
        cache: ScheduleCache | None = None,
    ) -> None:
        """`news` is a subscription to CHANNEL; without it, polls alone wake the loop.

        `cache` may be shared with the workers of this process and this database.
        """
        self._gate = gate
        self._db = db
        self._elector = elector
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._news = news
        self._settings = settings or Settings()
        self._cache = cache or ScheduleCache()
        self._low_watermarks = LowWatermarks()
        self._failed: dict[tuple[UUID, int], float] = {}
        self._sweep_at = float("-inf")
        self._behind = False
        self._pass_time = _ZERO
        """How long the last pass took."""
        self._until_next = _ZERO
        """How long to wait before the next one."""
        self.server_clock = DatabaseClock(self._clock)

    def service(self) -> Service:
        """Its passes, as a background service."""
        return Service(
            SERVICE,
            self._pass,
            wait=self._wait,
            bus=self._bus,
            clock=self._clock,
            backoff=Backoff(max_interval=self._settings.poll_interval),
        )

    async def _pass(self) -> None:
        self._until_next = self._pause(await self.run_once())

    async def run_once(self) -> Pass:
        """Read the shards held once, and fire what is due. Without a lease, nothing.

        Raises a TemporaryError when the database does not answer: what was fired until then stays
        so, the rest is found by the next pass.
        """
        held = self._elector.held()
        if self._gate is not None:
            held = await self._gate.admit(held)
        leases = {lease.shard: lease for lease in held}
        if not leases:
            return Pass(counts=PassCounts())
        self._sweep_in_time()
        began = self._clock.monotonic()
        state = await self._read(self._low_watermarks.of(leases.values()))
        if self._is_behind(state):
            await self._fire_in_turns(leases, state)
        else:
            await self._fire_batches(leases, state)
        self._low_watermarks.raise_to(state.unfinished())
        self._pass_time = timedelta(seconds=self._clock.monotonic() - began)
        done = self._report(state)
        if state.counts.any:
            self._publish(done)
        return done

    async def _fire_batches(self, leases: Mapping[int, Lease], state: PassState) -> None:
        """Two batches at once: while the server writes one, the next is planned and sent.

        No schedule is in two of them, so neither waits for the other.
        """
        under_way: deque[asyncio.Task[None]] = deque()
        try:
            for batch in _batches(state.timers, self._settings.batch):
                if len(under_way) == _AT_ONCE:
                    await under_way.popleft()
                firing = self._fire_batch(batch, leases, state)
                under_way.append(asyncio.create_task(firing))
            while under_way:
                await under_way.popleft()
        finally:
            # One has failed: the pass is over when the other is, too.
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _fire_in_turns(self, leases: Mapping[int, Lease], state: PassState) -> None:
        """A batch of the backlog, and whatever is live by then before each."""
        for batch in _batches(state.timers, self._settings.batch):
            await self._fire_live_first(leases, state)
            await self._fire_batch(batch, leases, state)

    async def _fire_live_first(self, leases: Mapping[int, Lease], state: PassState) -> None:
        """With a long backlog, what comes due now must not wait behind it.

        The marks stay: they describe the backlog, which begins before all of these.
        """
        since = state.now - self._settings.backlog_threshold
        lows = {shard: max(low, since) for shard, low in state.lows.items()}
        live = await self._read(lows, state.counts)
        for batch in _batches(live.timers, self._settings.batch):
            await self._fire_batch(batch, leases, live)
        state.moved |= live.moved

    async def _fire_batch(
        self, batch: Sequence[Due], leases: Mapping[int, Lease], state: PassState
    ) -> None:
        plans = await self._plans([d for d in batch if d.schedule_id not in state.moved], state)
        # Before each batch: the one before may have taken longer than the lease lasts.
        held = {shard for shard, lease in leases.items() if self._elector.is_held(lease)}
        plans = [p for p in plans if p.due.shard in held]
        if plans:
            await self._fire(plans, leases, state)

    async def _plans(self, dues: list[Due], state: PassState) -> list[Plan]:
        state.given_up |= {due.schedule_id for due in dues if self._is_given_up(due)}
        dues = [due for due in dues if due.schedule_id not in state.given_up]
        missing = self._cache.missing((due.schedule_id, due.version) for due in dues)
        refused: dict[UUID, Exception] = {}
        if missing:
            refused = await self._cache.refresh(self._db, missing)
        plans: list[Plan] = []
        for due in dues:
            if due.schedule_id in refused:
                self._give_up(due, refused[due.schedule_id], state)
                continue
            try:
                snapshot = self._cache.snapshot(due.schedule_id, due.version)
                if snapshot is None or self._is_held_back(due, snapshot):
                    continue
                planned = plan(due, snapshot, now=state.now)
            except Exception as error:  # noqa: BLE001 - one bad schedule must not stop the others
                self._give_up(due, error, state)
            else:
                if planned is None:
                    state.left.append(due)
                else:
                    plans.append(planned)
        return plans

    async def _fire(self, plans: list[Plan], leases: Mapping[int, Lease], state: PassState) -> None:
        held = {p.due.shard: leases[p.due.shard] for p in plans}
        try:
            result = await fire(self._db, list(held.values()), plans)
        except FenceLost as error:
            self._lose(error.shards)
            rest = [p for p in plans if p.due.shard not in error.shards]
            if rest:
                await self._fire(rest, leases, state)
        except TemporaryError:
            raise
        except Exception as error:  # noqa: BLE001 - found by halves, so that the others are fired
            if len(plans) == 1:
                self._give_up(plans[0].due, error, state)
                return
            middle = len(plans) // 2
            await self._fire(plans[:middle], leases, state)
            await self._fire(plans[middle:], leases, state)
        else:
            self._lose(result.lost)
            state.fired(plans, result)

    def _lose(self, shards: tuple[int, ...]) -> None:
        if shards:
            self._bus.publish(FenceRefused(shards=shards))
            self._elector.lose(shards)

    async def _read(
        self, lows: Mapping[int, datetime], counts: PassCounts | None = None
    ) -> PassState:
        lead = self._settings.lead
        limit = max(10, -(-self._settings.read // len(lows)))
        asked_at = self._clock.monotonic()
        reading = await read_due(self._db, lows, lead=lead, limit=limit)
        answered_at = self._clock.monotonic()
        self.server_clock.note(reading.now, asked=asked_at, answered=answered_at)
        stepped = self.server_clock.alarm("scheduler")
        if stepped is not None:
            self._bus.publish(stepped)
        return PassState(reading, lows, limit=limit, lead=lead, counts=counts)

    def _report(self, state: PassState) -> Pass:
        more = self._behind or state.has_more()
        wake_at = None
        if not more:
            wakes = [self._look_again_at(due, state.now) for due in state.left]
            if state.ahead is not None:
                # What comes into sight within a moment is fired together: with a thousand timers a
                # second, a pass for each would take all the time there is.
                wakes.append(state.ahead - self._settings.lead * _GATHERED)
            if state.counts.refused:
                wakes.append(state.now + _REFUSED_PAUSE)
            wake_at = min(wakes, default=None)
        return Pass(counts=state.counts, lag=state.lag, more=more, wake_at=wake_at)

    def _look_again_at(self, due: Due, now: datetime) -> datetime:
        """When to look again at a timer whose schedule had a live firing: after half of the time
        that is left, and at the due instant at the latest.

        Most firings end well before the next slot: found so, that slot enters the queue ahead of
        its instant like any other, and is prepared before it.
        """
        pause = max(_LOOK_PAUSE, self._pass_time * _LOOK_SHARE, (due.due_at - now) / 2)
        return min(due.due_at, now + pause)

    def _publish(self, done: Pass) -> None:
        counts = done.counts
        self._bus.publish(
            PassDone(
                fired=counts.fired,
                caught_up=counts.caught_up,
                skipped=counts.skipped,
                missed=counts.missed,
                cancelled=counts.cancelled,
                completed=counts.completed,
                refused=counts.refused,
                lag=done.lag,
                clock_offset=self.server_clock.offset,
            )
        )

    def _is_behind(self, state: PassState) -> bool:
        behind = bool(state.full) and state.lag > self._settings.backlog_threshold
        if behind and not self._behind:
            self._bus.publish(FallingBehind(lag=state.lag))
        elif self._behind and not behind:
            self._bus.publish(CaughtUp())
        self._behind = behind
        return behind

    def _is_held_back(self, due: Due, snapshot: ScheduleSnapshot) -> bool:
        gate = self._gate
        return gate is not None and gate.holds_back(due.shard, snapshot.trigger, due.scheduled_for)

    def _is_given_up(self, due: Due) -> bool:
        retry_at = self._failed.get((due.schedule_id, due.version))
        return retry_at is not None and self._clock.monotonic() < retry_at

    def _give_up(self, due: Due, error: Exception, state: PassState) -> None:
        """Skip it for a while, or it would fail in every pass and hold the marks down."""
        now = self._clock.monotonic()
        self._failed = {key: at for key, at in self._failed.items() if at > now}
        after = self._settings.retry_failed_after.total_seconds()
        self._failed[due.schedule_id, due.version] = now + after
        state.counts.failed += 1
        state.given_up.add(due.schedule_id)
        self._bus.publish(PlanFailed(schedule_id=due.schedule_id, version=due.version, error=error))

    def _sweep_in_time(self) -> None:
        now = self._clock.monotonic()
        if now >= self._sweep_at:
            self._low_watermarks.forget()
            self._sweep_at = now + self._settings.sweep_interval.total_seconds()

    def _pause(self, done: Pass) -> timedelta:
        """How long to wait: to the next instant of interest, and never longer than a poll."""
        if done.more:
            return _ZERO
        if done.wake_at is None:
            return self._settings.poll_interval
        return min(max(_ZERO, self.server_clock.until(done.wake_at)), self._settings.poll_interval)

    async def _wait(self) -> None:
        if self._news is None:
            await self._clock.sleep(self._until_next)
        else:
            self._hear(await self._news.wait(self._until_next))

    def _hear(self, wake: Wake) -> None:
        if wake.cause is Cause.MISSED:
            self._low_watermarks.forget()
        else:
            said = [notice.payload for notice in wake.notices]
            self._low_watermarks.forget(int(shard) for shard in said if shard.isdecimal())


def _batches(timers: Sequence[Due], size: int) -> Iterator[list[Due]]:
    rest = iter(timers)
    while batch := list(islice(rest, size)):
        yield batch
