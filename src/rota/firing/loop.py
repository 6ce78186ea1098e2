"""The scheduler: looks for due timers, a little ahead of time, and fires them.

`run_once` is all of the work; the loop around it only waits, and neither of them ever waits for an
execution. Nothing here is kept that could not be lost: what was not committed is found again.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from rota.clock import Clock, SystemClock
from rota.db import Backoff, Cause
from rota.db.server_clock import DatabaseClock
from rota.errors import TemporaryError
from rota.events import Bus
from rota.firing import sql
from rota.firing.definitions import Definitions
from rota.firing.events import (
    CaughtUp,
    FallingBehind,
    FenceRefused,
    PassDone,
    PassFailed,
    PlanFailed,
)
from rota.firing.fire import fire
from rota.firing.look import Look, Pass, Tally
from rota.firing.marks import Marks
from rota.firing.plan import plan
from rota.leases import FenceLost, hold

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from uuid import UUID

    from rota.db import Database, Subscription, Wake
    from rota.firing.plan import Due, Plan
    from rota.leases import Elector, Lease

CHANNEL = "rota_timers"
"""Told the shard of a timer that has come to be due soon."""

_ZERO = timedelta()
_SOON = timedelta(milliseconds=20)
_AT_ONCE = 2
_GATHERED = 0.95
"""How much of its lead a timer may have left when it is fired, so that others join it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How the scheduler works. The defaults are measured; tests have their own."""

    lead: timedelta = timedelta(seconds=2)
    """How far ahead of its instant a timer is fired into the queue."""
    poll_interval: timedelta = timedelta(seconds=1)
    """The longest wait between two looks, whatever the news."""
    sweep_interval: timedelta = timedelta(seconds=5)
    """How often to look below the low-water marks."""
    batch: int = 1_000
    """How many timers one transaction fires."""
    read: int = 10_000
    """How many timers one look returns, about."""
    backlog_threshold: timedelta = timedelta(seconds=30)
    """Being further behind than this, with more to read, lets live slots go first."""
    retry_failed_after: timedelta = timedelta(seconds=60)
    """When to look again at a timer that could not be planned."""


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
    ) -> None:
        """`news` is a subscription to CHANNEL; without it, polls alone wake the loop."""
        self._db = db
        self._elector = elector
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._news = news
        self._settings = settings or Settings()
        self._definitions = Definitions()
        self._marks = Marks()
        self._failed: dict[tuple[UUID, int], float] = {}
        self._sweep_at = float("-inf")
        self._behind = False
        self.server_clock = DatabaseClock(self._clock)

    async def run(self) -> None:
        """Pass until cancelled. What goes wrong is published, and the next pass follows (QW8)."""
        failures = 0
        backoff = Backoff(max_interval=self._settings.poll_interval)
        while True:
            try:
                pause = self._pause(await self.run_once())
                failures = 0
            except Exception as error:  # noqa: BLE001 - a scheduler that dies fires nothing
                self._bus.publish(PassFailed(error=error))
                failures += 1
                pause = backoff.interval(failures, draw=random.random())
            await self._wait(pause)

    async def run_once(self) -> Pass:
        """Look once at the shards held, and fire what is due. Without a lease, nothing.

        Raises a TemporaryError when the database does not answer: what was fired until then stays
        so, the rest is found by the next pass.
        """
        leases = {lease.shard: lease for lease in self._elector.held()}
        if not leases:
            return Pass(tally=Tally())
        self._sweep_in_time()
        look = await self._look(self._marks.of(leases.values()))
        tally = Tally()
        behind = self._is_behind(look)
        if behind:
            await self._fire_in_turns(leases, look, tally)
        else:
            await self._fire_batches(leases, look, tally)
        self._marks.raise_to(look.unfinished())
        done = await self._report(look, tally, leases)
        if tally.any:
            self._publish(done)
        return done

    async def _fire_batches(self, leases: Mapping[int, Lease], look: Look, tally: Tally) -> None:
        """Two batches at once: while the server writes one, the next is planned and sent.

        No schedule is in two of them, so neither waits for the other.
        """
        under_way: deque[asyncio.Task[None]] = deque()
        try:
            for batch in _batches(look.timers, self._settings.batch):
                if len(under_way) == _AT_ONCE:
                    await under_way.popleft()
                firing = self._fire_batch(batch, leases, look, tally)
                under_way.append(asyncio.create_task(firing))
            while under_way:
                await under_way.popleft()
        finally:
            # One has failed: the pass is over when the other is, too.
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def _fire_in_turns(self, leases: Mapping[int, Lease], look: Look, tally: Tally) -> None:
        """A batch of the backlog, and whatever is live by then before each."""
        for batch in _batches(look.timers, self._settings.batch):
            await self._fire_live_first(leases, look, tally)
            await self._fire_batch(batch, leases, look, tally)

    async def _fire_live_first(self, leases: Mapping[int, Lease], look: Look, tally: Tally) -> None:
        """With a long backlog, what comes due now must not stand in line behind it (MF7).

        The marks stay as they are: they are about the backlog, which begins before all of these.
        """
        since = look.now - self._settings.backlog_threshold
        live = await self._look({shard: max(low, since) for shard, low in look.lows.items()})
        for batch in _batches(live.timers, self._settings.batch):
            await self._fire_batch(batch, leases, live, tally)
        look.moved |= live.moved

    async def _fire_batch(
        self, batch: Sequence[Due], leases: Mapping[int, Lease], look: Look, tally: Tally
    ) -> None:
        plans = await self._plans(
            [d for d in batch if d.schedule_id not in look.moved], look, tally
        )
        # Before each batch: the one before may have taken longer than the lease lasts (LE5).
        held = {shard for shard, lease in leases.items() if self._elector.is_held(lease)}
        plans = [p for p in plans if p.due.shard in held]
        if plans:
            await self._fire(plans, leases, look, tally)

    async def _plans(self, dues: list[Due], look: Look, tally: Tally) -> list[Plan]:
        look.given_up |= {due.schedule_id for due in dues if self._is_given_up(due)}
        dues = [due for due in dues if due.schedule_id not in look.given_up]
        missing = self._definitions.missing(dues)
        refused: dict[UUID, Exception] = {}
        if missing:
            async with self._db.transaction(read_only=True) as tx:
                refused = await self._definitions.load(tx, missing)
        plans: list[Plan] = []
        for due in dues:
            if due.schedule_id in refused:
                self._give_up(due, refused[due.schedule_id], look, tally)
                continue
            contract = self._definitions.find(due)
            if contract is None:
                continue
            try:
                planned = plan(due, contract, now=look.now)
            except Exception as error:  # noqa: BLE001 - one bad schedule must not stop the others
                self._give_up(due, error, look, tally)
            else:
                if planned is None:
                    look.left.append(due)
                else:
                    plans.append(planned)
        return plans

    async def _fire(
        self, plans: list[Plan], leases: Mapping[int, Lease], look: Look, tally: Tally
    ) -> None:
        held = {p.due.shard: leases[p.due.shard] for p in plans}
        try:
            async with self._db.transaction() as tx:
                fenced = await hold(tx, held.values())
                result = await fire(fenced, plans)
        except FenceLost as lost:
            self._bus.publish(FenceRefused(shards=lost.shards))
            self._elector.lose(lost.shards)
            rest = [p for p in plans if p.due.shard not in lost.shards]
            if rest:
                await self._fire(rest, leases, look, tally)
        except TemporaryError:
            raise
        except Exception as error:  # noqa: BLE001 - found by halves, so that the others are fired
            if len(plans) == 1:
                self._give_up(plans[0].due, error, look, tally)
                return
            middle = len(plans) // 2
            await self._fire(plans[:middle], leases, look, tally)
            await self._fire(plans[middle:], leases, look, tally)
        else:
            tally.add(result, len(plans))
            look.fired(plans, result)

    async def _look(self, lows: Mapping[int, datetime]) -> Look:
        lead = self._settings.lead
        limit = max(10, -(-self._settings.read // len(lows)))
        async with self._db.transaction(read_only=True) as tx:
            asked_at = self._clock.monotonic()
            reading = await sql.due(tx, lows, lead=lead, limit=limit)
            answered_at = self._clock.monotonic()
        self.server_clock.note(reading.now, asked=asked_at, answered=answered_at)
        stepped = self.server_clock.alarm("scheduler")
        if stepped is not None:
            self._bus.publish(stepped)
        return Look(reading, lows, limit=limit, lead=lead)

    async def _report(self, look: Look, tally: Tally, leases: Mapping[int, Lease]) -> Pass:
        more = self._behind or look.has_more()
        wake_at = None
        if not more:
            async with self._db.transaction(read_only=True) as tx:
                ahead = await sql.next_due_at(tx, list(leases), after=look.horizon)
            looks = [due.due_at for due in look.left]
            if ahead is not None:
                # What comes into sight within a moment is fired together: with a thousand timers a
                # second, a pass for each would take all the time there is.
                looks.append(ahead - self._settings.lead * _GATHERED)
            if tally.refused:
                looks.append(look.now + _SOON)
            wake_at = min(looks, default=None)
        return Pass(tally=tally, lag=look.lag, more=more, wake_at=wake_at)

    def _publish(self, done: Pass) -> None:
        tally = done.tally
        self._bus.publish(
            PassDone(
                fired=tally.fired,
                caught_up=tally.caught_up,
                skipped=tally.skipped,
                missed=tally.missed,
                cancelled=tally.cancelled,
                completed=tally.completed,
                refused=tally.refused,
                lag=done.lag,
                clock_offset=self.server_clock.offset,
            )
        )

    def _is_behind(self, look: Look) -> bool:
        behind = bool(look.full) and look.lag > self._settings.backlog_threshold
        if behind and not self._behind:
            self._bus.publish(FallingBehind(lag=look.lag))
        elif self._behind and not behind:
            self._bus.publish(CaughtUp())
        self._behind = behind
        return behind

    def _is_given_up(self, due: Due) -> bool:
        retry_at = self._failed.get((due.schedule_id, due.version))
        return retry_at is not None and self._clock.monotonic() < retry_at

    def _give_up(self, due: Due, error: Exception, look: Look, tally: Tally) -> None:
        """Leave it alone for a while, or it would fail in every pass and hold the marks down."""
        now = self._clock.monotonic()
        self._failed = {key: at for key, at in self._failed.items() if at > now}
        after = self._settings.retry_failed_after.total_seconds()
        self._failed[due.schedule_id, due.version] = now + after
        tally.failed += 1
        look.given_up.add(due.schedule_id)
        self._bus.publish(PlanFailed(schedule_id=due.schedule_id, version=due.version, error=error))

    def _sweep_in_time(self) -> None:
        now = self._clock.monotonic()
        if now >= self._sweep_at:
            self._marks.forget()
            self._sweep_at = now + self._settings.sweep_interval.total_seconds()

    def _pause(self, done: Pass) -> timedelta:
        """How long to wait: to the next instant of interest, and never longer than a poll."""
        if done.more:
            return _ZERO
        if done.wake_at is None:
            return self._settings.poll_interval
        return min(max(_ZERO, self.server_clock.until(done.wake_at)), self._settings.poll_interval)

    async def _wait(self, pause: timedelta) -> None:
        if self._news is None:
            await self._clock.sleep(pause)
        else:
            self._hear(await self._news.wait(pause))

    def _hear(self, wake: Wake) -> None:
        if wake.cause is Cause.MISSED:
            self._marks.forget()
        else:
            said = [notice.payload for notice in wake.notices]
            self._marks.forget(int(shard) for shard in said if shard.isdecimal())


def _batches(timers: Sequence[Due], size: int) -> Iterator[list[Due]]:
    rest = iter(timers)
    while batch := list(islice(rest, size)):
        yield batch
