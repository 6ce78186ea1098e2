"""Claiming as much as there is room for, as soon as it makes sense."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import set_or_late
from rota.queue.claim import Standing, claim, count_tenants
from rota.queue.extend import release_strays
from rota.queue.shares import Places
from rota.workers.definitions import Definitions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.db.server_clock import DatabaseClock
    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.agenda import Agenda
    from rota.workers.appetite import Appetite
    from rota.workers.holdings import Holdings
    from rota.workers.pace import Pace

MAX_CLAIMS: Final = 1_000
"""Taken by one statement."""

_CLOCK_INTERVAL = timedelta(seconds=1)
_TENANTS_INTERVAL = 1.0
"""Seconds after which it is asked again whether there are several tenants."""
_GATHER_INTERVAL = timedelta(milliseconds=10)


class Claimer:
    """Takes claims for a worker and hands them over, each with its schedule or a reason not to run.

    `hold` is called with all claims of a pass, `clock_set` when the database's clock turned out to
    be set, `others` with the number of tenants beyond the first one that the worker serves.
    """

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        lanes: Collection[str],
        tenants: frozenset[UUID] | None,
        pace: Pace,
        holdings: Holdings,
        agenda: Agenda,
        appetite: Appetite,
        time: DatabaseClock,
        clock: Clock,
        hold: Callable[[Sequence[Claim], Mapping[UUID, Schedule | str]], None],
        clock_set: Callable[[], None],
        others: Callable[[int], None],
    ) -> None:
        self._db = db
        self._worker = worker
        self._lanes = tuple(lanes)
        self._tenants = tenants
        self._pace = pace
        self._holdings = holdings
        self._agenda = agenda
        self._appetite = appetite
        self._time = time
        self._clock = clock
        self._hold = hold
        self._clock_set = clock_set
        self._others = others
        self._tenants_at: float | None = None
        """When it was last asked how many tenants there are."""
        self._definitions = Definitions()
        self._standing = Standing(spare=holdings.spare)
        self._wanted = asyncio.Event()
        self._more = False
        """Whether there may be more to claim than there was room for."""
        self._again = False
        """Whether there may be more to claim than the last statement might take."""
        self._full = False
        """Whether the last statement took as many as one may."""
        self._unsure = False
        """Whether a claim may have been made whose answer we did not get."""
        self._put_back = False
        """Whether claims were let go of that the database still has as ours."""

    def look(self) -> None:
        """There may be something to claim: do not wait for the poll."""
        self._wanted.set()

    def put_back(self) -> None:
        """A claim was let go of: give it back, and look for it at once."""
        self._put_back = True
        self._wanted.set()

    def made_room(self) -> None:
        """Claims were settled; worth a look if there was too little room before."""
        if self._more:
            self._wanted.set()

    async def run_once(self) -> int:
        """Claim as many as there is room for; how many it were."""
        await self.release_strays()
        limit = min(self._room(), MAX_CLAIMS)
        # As it is now, like the room: outcomes are recorded while we claim.
        self._standing.held = dict(self._holdings.by_tenant)
        self._more, self._again = limit <= 0, False
        if limit + self._holdings.spare <= 0:
            return 0
        # Until they are in our hands: a commit whose answer is lost leaves claims nobody knows of.
        self._unsure = True
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
                visibility=self._pace.visibility,
                tenants=self._tenants,
                standing=self._standing,
            )
            schedules = await self._definitions.of(tx, claims)
        self._hold(claims, schedules)
        self._unsure = False
        self._more, self._again = self._standing.more, self._standing.again
        self._full = len(claims) >= MAX_CLAIMS
        return len(claims)

    def _room(self) -> int:
        """Places for what is due: those ahead of their instant have places of their own."""
        holdings, now = self._holdings, self._clock.monotonic()
        # Who has been quick before gets a whole statement at once, if that takes it but a moment.
        whole = min(self._appetite.at_best(now), MAX_CLAIMS)
        holdings.prefetch = max(self._appetite.prefetch(now), whole)
        return holdings.room + len(self._agenda)

    def _lead(self) -> timedelta:
        """How far to look ahead: not at all while it holds as much ahead as it may.

        Where tenants have shares, one that holds its share ahead is not looked ahead for, and the
        others are.
        """
        has_room = len(self._agenda) < self._appetite.ahead(self._clock.monotonic())
        return self._pace.lead if has_room or self._holdings.shared else timedelta()

    async def _count_tenants(self, tx: Tx) -> None:
        """So that the worker knows, a second late at most, that there is a second tenant."""
        now = self._clock.monotonic()
        if self._tenants_at is not None and (
            self._tenants is not None or now - self._tenants_at < _TENANTS_INTERVAL
        ):
            return
        tenants = await count_tenants(tx) if self._tenants is None else len(self._tenants)
        self._others(tenants - 1)
        self._tenants_at = now

    def _places(self) -> Places | None:
        """None when it serves one tenant, who may have them all."""
        holdings, ahead = self._holdings, self._agenda.by_tenant
        if not holdings.shared:
            return None
        return Places(
            count=self._pace.concurrency + holdings.prefetch + holdings.spare,
            due={id_: held - ahead[id_] for id_, held in holdings.by_tenant.items()},
            count_ahead=self._appetite.ahead(self._clock.monotonic()),
            ahead=dict(ahead),
            weights=dict(holdings.weights),
        )

    async def wait(self) -> None:
        """Return when another look makes sense."""
        if not (self._again and self._room() > 0):
            await set_or_late(self._wanted, self._until_next(), self._clock)
        self._wanted.clear()
        # Many attempts end at nearly the same time: claim for all of them together. Where there is
        # room for as many as one statement takes, there is nothing to wait for.
        if not (self._full and self._room() >= MAX_CLAIMS):
            await self._clock.sleep(_GATHER_INTERVAL)

    def _until_next(self) -> timedelta:
        """Until the next poll, or until something that was seen comes into sight: a herd needs all
        the time there is to be claimed before its instant."""
        first_at, poll = self._standing.first_at, self._pace.poll_interval
        if first_at is None:
            return poll
        ahead = self._time.until(first_at) - self._pace.lead
        return min(ahead, poll) if ahead > timedelta() else poll

    async def release_strays(self) -> None:
        """Give back what the database has as ours and we do not know of, if there can be any."""
        if not (self._unsure or self._put_back):
            return
        # Before the request: what is let go of while it is under way is for the next one.
        self._put_back = False
        known = [held.claim.id for held in self._holdings]
        try:
            async with self._db.transaction() as tx:
                await release_strays(tx, self._worker, known=known)
        except BaseException:
            self._put_back = True
            raise
        self._unsure = False
