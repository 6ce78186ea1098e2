"""Claiming as much as there is room for, as soon as it makes sense."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import set_or_late
from rota.queue.claim import Standing, claim, count_tenants, sweep
from rota.queue.heartbeat import release_strays
from rota.queue.rescue import is_queue_empty
from rota.queue.shares import Places
from rota.schedules.prepared import give_back_recalled

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule_cache import ScheduleCache
    from rota.workers.delay_queue import DelayQueue
    from rota.workers.executor import Executor
    from rota.workers.intake import Intake
    from rota.workers.prefetch import Prefetch
    from rota.workers.right_to_begin import RightToBegin
    from rota.workers.shared import Shared

MAX_CLAIMS: Final = 1_000
"""Taken by one statement."""

_CLOCK_INTERVAL = timedelta(seconds=1)
_TENANTS_INTERVAL = 1.0
"""Seconds after which it is asked again whether there are several tenants."""
_GATHER_INTERVAL = timedelta(milliseconds=10)


class Claimer:
    """Takes claims for a worker and passes them on, each with its schedule or a reason not to run.

    As it asks, it measures the database's clock, and counts the tenants that share the worker.
    """

    def __init__(
        self,
        shared: Shared,
        *,
        lanes: Collection[str],
        tenants: frozenset[UUID] | None,
        delay_queue: DelayQueue,
        prefetch: Prefetch,
        right: RightToBegin,
        intake: Intake,
        executor: Executor,
        cache: ScheduleCache,
    ) -> None:
        self._db = shared.db
        self._worker = shared.worker
        self._settings = shared.settings
        self._inflight = shared.inflight
        self._time = shared.time
        self._clock = shared.clock
        self._bus = shared.bus
        self._lanes = tuple(lanes)
        self._tenants = tenants
        self._delay_queue = delay_queue
        self._prefetch = prefetch
        self._right = right
        self._intake = intake
        self._executor = executor
        self._tenants_at: float | None = None
        """When it was last asked how many tenants there are."""
        self._cache = cache
        self._standing = Standing(spare=shared.inflight.spare)
        self._wake = shared.inflight.claim_wake
        self._sweep_wanted = asyncio.Event()
        self._again = False
        """Whether there may be more to claim than the last statement might take."""
        self._full = False
        """Whether the last statement took as many as one may."""
        self._unsure = False
        """Whether a claim may have been made whose answer we did not get."""
        self._woken = True
        """Whether there may be something to claim that the last look did not see."""

    def hear(self, lane: str | None) -> None:
        """Something has entered the queue, in this lane; None when that may be so, in any."""
        if lane is None or lane in self._lanes:
            self._wake.look()

    async def run_once(self) -> int:
        """Claim as many as there is room for; returns how many."""
        if not self._right.may_claim:
            # The others would take it for gone, and rescue what it claims.
            return 0
        await self.release_strays()
        if self._wake.may_be_unseen:
            self._wake.may_be_unseen = False
            self._standing.marks.suspect()
        limit = min(self._room(), MAX_CLAIMS)
        # As it is now, like the room: outcomes are recorded while we claim.
        self._standing.held = dict(self._inflight.by_tenant)
        self._wake.wants_room, self._again = limit <= 0, False
        if limit + self._inflight.spare <= 0:
            return 0
        if await self._is_idle():
            return 0
        # Until they are held here: a commit whose answer is lost leaves claims nobody knows of.
        self._unsure = True
        epoch = self._right.epoch
        async with self._db.transaction() as tx:
            if self._time.age > _CLOCK_INTERVAL and await self._time.ask(tx):
                self._clock_set()
            await self._count_tenants(tx)
            self._standing.places = self._places()
            claims = await claim(
                tx,
                self._lanes,
                self._worker,
                limit=limit,
                lead=self._lead(),
                visibility=self._settings.visibility,
                tenants=self._tenants,
                standing=self._standing,
            )
            schedules = await self._cache.of_claims(tx, claims)
        if self._right.epoch != epoch:
            # Declared gone since: they may be somebody else's. Given back by the next pass.
            self._wake.event.set()
            return 0
        self._intake.hold(claims, schedules, epoch)
        if claims:
            self._right.is_confirmed()
        self._unsure = False
        self._wake.wants_room, self._again = self._standing.more, self._standing.again
        self._full = len(claims) >= MAX_CLAIMS
        if self._standing.marks.sweep_is_due:
            self._sweep_wanted.set()
        return len(claims)

    async def sweep(self) -> None:
        """Look for what claims do not see while they look past low-water marks."""
        self._sweep_wanted.clear()
        if not self._standing.marks.sweep_is_due:
            return
        async with self._db.reading() as tx:
            found = await sweep(
                tx,
                self._lanes,
                lead=self._settings.lead,
                tenants=self._tenants,
                standing=self._standing,
            )
        if found:
            self._wake.event.set()

    def _clock_set(self) -> None:
        """The database's clock is not where it should be: wait by the new time, and say so."""
        self._delay_queue.rearm()
        stepped = self._time.alarm("worker")
        if stepped is not None:
            self._bus.publish(stepped)

    async def until_sweep(self) -> None:
        """Return when a sweep is due: claims tell, so that who claims nothing sweeps nothing."""
        await self._sweep_wanted.wait()

    async def _is_idle(self) -> bool:
        """Whether the queue is as empty as at the last look: one round trip, not three.

        Asked only by a poll that expects nothing; who was woken expects something.
        """
        if self._woken or self._standing.first_at is not None or self._tenants_at is None:
            return False
        if self._standing.marks.in_use:
            # Whether the queue is empty takes a walk over all dead rows; a look past them does not.
            return False
        async with self._db.reading() as tx:
            if self._time.age > _CLOCK_INTERVAL and await self._time.ask(tx):
                self._clock_set()
            return await is_queue_empty(tx)

    def _room(self) -> int:
        """Places for what is due: those ahead of their instant have places of their own."""
        inflight, now = self._inflight, self._clock.monotonic()
        # Who has been quick before gets a whole statement at once, if that takes it but a moment.
        whole = min(self._prefetch.peak(now), MAX_CLAIMS)
        inflight.prefetch = max(self._prefetch.prefetch(now), whole)
        return inflight.room + len(self._delay_queue)

    def _lead(self) -> timedelta:
        """How far to look ahead: not at all while it holds as much ahead as it may.

        Where tenants have shares, one that holds its share ahead is not looked ahead for, and the
        others are.
        """
        has_room = len(self._delay_queue) < self._prefetch.ahead(self._clock.monotonic())
        return self._settings.lead if has_room or self._inflight.shared else timedelta()

    async def _count_tenants(self, tx: Tx) -> None:
        """So that the worker knows, a second late at most, that there is a second tenant."""
        now = self._clock.monotonic()
        if self._tenants_at is not None and (
            self._tenants is not None or now - self._tenants_at < _TENANTS_INTERVAL
        ):
            return
        tenants = await count_tenants(tx) if self._tenants is None else len(self._tenants)
        self._executor.set_others(tenants - 1)
        self._tenants_at = now

    def _places(self) -> Places | None:
        """None when it serves one tenant, who may have them all."""
        inflight, ahead = self._inflight, self._delay_queue.by_tenant
        if not inflight.shared:
            return None
        return Places(
            count=self._settings.concurrency + inflight.prefetch + inflight.spare,
            due={id_: held - ahead[id_] for id_, held in inflight.by_tenant.items()},
            count_ahead=self._prefetch.ahead(self._clock.monotonic()),
            ahead=dict(ahead),
            weights=dict(inflight.weights),
        )

    async def wait(self) -> None:
        """Return when another look makes sense."""
        if not (self._again and self._room() > 0):
            await set_or_late(self._wake.event, self._until_next(), self._clock)
        self._woken = self._again or self._wake.event.is_set()
        self._wake.event.clear()
        urgent, self._wake.is_urgent = self._wake.is_urgent, False
        # Many attempts end at nearly the same time: claim for all of them together. Where there is
        # room for as many as one statement takes, or something is to begin now, nothing is waited
        # for.
        if not (urgent or (self._full and self._room() >= MAX_CLAIMS)):
            await self._clock.sleep(_GATHER_INTERVAL)

    def _until_next(self) -> timedelta:
        """Until the next poll, or until something that was seen comes into sight: a herd needs all
        the time there is to be claimed before its instant."""
        first_at, poll = self._standing.first_at, self._settings.poll_interval
        if first_at is None:
            return poll
        ahead = self._time.until(first_at) - self._settings.lead
        return min(ahead, poll) if ahead > timedelta() else poll

    async def release_strays(self) -> None:
        """Give back what the database has as ours and we do not know of, if there can be any."""
        if not (self._unsure or self._wake.has_strays):
            return
        # Before the request: what is dropped while it is under way is for the next one.
        self._wake.has_strays = False
        known = [held.claim.id for held in self._inflight]
        try:
            async with self._db.transaction() as tx:
                await give_back_recalled(tx, self._worker, known=known)
                await release_strays(tx, self._worker, known=known)
        except BaseException:
            self._wake.has_strays = True
            raise
        self._unsure = False
