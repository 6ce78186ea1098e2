"""The elector: keeps this node's fair share of the leases, and knows which ones it may act on.

One pass says that the node is there, renews what it holds, gives up what is more than its share and
takes what is missing. A lease that could not be renewed is trusted until its time is up and not a
moment longer; a lease that could not be read is not held. There is no state in which "I do not
know" means "I am the leader".
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from rota.clock import Clock, SystemClock
from rota.db import Backoff
from rota.errors import TemporaryError
from rota.events import Bus, Event
from rota.leases import share, sql
from rota.leases.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from rota.db import Database
    from rota.leases.node import Node
    from rota.leases.session import NodeSession

_FORGET_AFTER = timedelta(days=1)

LostBecause = Literal["taken", "expired", "fence", "share"]
"""`taken`: another node has it. `expired`: it could not be renewed in time. `fence`: a write found
a newer holder. `share`: given up so that others get theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTaken(Event):
    """This node may fire the shard's timers."""

    node: UUID
    shard: int
    fence: int
    previous: UUID | None
    """Whose lease had run out or whose session was gone; None when the shard was free."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLost(Event):
    """This node may not fire the shard's timers any more."""

    node: UUID
    shard: int
    fence: int
    reason: LostBecause


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseResigned(Event):
    """Given back in order, so that others can take it at once."""

    node: UUID
    shard: int
    fence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionFailed(Event):
    """A pass did not come to its end; the next one follows."""

    node: UUID
    error: Exception


class Elector:
    """Who may fire what, on this node. `run` passes until it is cancelled; then `resign`."""

    def __init__(
        self,
        db: Database,
        session: NodeSession,
        node: Node,
        *,
        bus: Bus | None = None,
        clock: Clock | None = None,
        ttl: timedelta = timedelta(seconds=15),
        renew_interval: timedelta = timedelta(seconds=5),
        look_interval: timedelta = timedelta(milliseconds=500),
        margin: timedelta = timedelta(seconds=2),
        grace: timedelta = timedelta(seconds=1),
    ) -> None:
        if not margin + renew_interval < ttl:
            raise ValueError(
                f"expected a lease longer than renewal and margin together, got {ttl} against "
                f"{renew_interval} + {margin}"
            )
        self._db = db
        self._session = session
        self.node = node
        self._bus = bus or Bus()
        self._clock = clock or SystemClock()
        self._ttl = ttl
        self._renew_interval = renew_interval
        self._look_interval = look_interval
        self._margin = margin
        self._grace = grace
        self._backoff = Backoff(max_interval=look_interval)
        self._leases: dict[int, Lease] = {}
        self._renew_at = float("-inf")
        self._forget_at = float("-inf")
        self._resigned = False

    def held(self) -> tuple[Lease, ...]:
        """The leases that may be acted on at this moment."""
        self._drop_expired()
        return tuple(self._leases.values())

    def is_held(self, lease: Lease) -> bool:
        """Whether this very lease may still be acted on, renewed or not (LE5)."""
        current = self._leases.get(lease.shard)
        return (
            current is not None
            and current.fence == lease.fence
            and current.is_trusted(self._clock.monotonic())
        )

    async def run_once(self) -> None:
        """One pass. Raises a TemporaryError when the database does not answer."""
        if self._resigned:
            return
        self._drop_expired()
        survey = await self._beat_and_survey()
        await self._renew()
        most = share.fair_share(survey.shards, survey.schedulers)
        await self._give_up(share.excess(self._leases, most))
        # Without the lock in place the others would see a dead node's shards and take them back.
        if self._session.is_held and len(self._leases) < most:
            await self._take(most - len(self._leases))

    async def run(self) -> None:
        """Pass until cancelled. What goes wrong is published, and the next pass follows."""
        failures = 0
        while True:
            try:
                await self.run_once()
            except Exception as error:  # noqa: BLE001 - an elector that dies leaves shards unled
                self._bus.publish(ElectionFailed(node=self.node.id, error=error))
                failures += 1
                pause = self._backoff.interval(failures, draw=random.random())
            else:
                failures = 0
                pause = self._look_interval
            await self._clock.sleep(pause)

    async def resign(self) -> None:
        """Give everything back at once and take nothing any more. Never raises TemporaryError.

        Whoever acts on a lease must have stopped before. When the database does not answer, the
        leases run out by themselves.
        """
        self._resigned = True
        leases, self._leases = self._leases, {}
        try:
            async with self._db.transaction() as tx:
                await sql.release_all(tx, self.node)
                await sql.retire(tx, self.node)
        except TemporaryError as error:
            self._bus.publish(ElectionFailed(node=self.node.id, error=error))
        for lease in leases.values():
            event = LeaseResigned(node=self.node.id, shard=lease.shard, fence=lease.fence)
            self._bus.publish(event)

    def lose(self, shards: Iterable[int], reason: LostBecause = "fence") -> None:
        """Stop acting on these: whoever wrote with them was refused."""
        for shard in shards:
            lease = self._leases.pop(shard, None)
            if lease is not None:
                self._bus.publish(
                    LeaseLost(node=self.node.id, shard=shard, fence=lease.fence, reason=reason)
                )

    async def _beat_and_survey(self) -> sql.Survey:
        now = self._clock.monotonic()
        async with self._db.transaction() as tx:
            await sql.beat(tx, self.node)
            if now >= self._forget_at:
                await sql.forget(tx, unseen_for=_FORGET_AFTER)
                self._forget_at = now + timedelta(hours=1).total_seconds()
            return await sql.survey(tx, ttl=self._ttl, grace=self._grace)

    async def _renew(self) -> None:
        # Read before the request: a slow reply must shorten our trust, never stretch it.
        asked_at = self._clock.monotonic()
        if not self._leases or asked_at < self._renew_at:
            return
        fences = _fences(self._leases.values())
        async with self._db.transaction() as tx:
            renewed = await sql.renew(tx, self.node, fences, ttl=self._ttl)
        self._renew_at = asked_at + self._renew_interval.total_seconds()
        self.lose(sql.missing(fences, renewed), "taken")
        for shard in renewed & self._leases.keys():
            lease = self._leases[shard]
            self._leases[shard] = replace(lease, trusted_until=self._trust(asked_at))

    async def _give_up(self, shards: list[int]) -> None:
        if not shards:
            return
        fences = {shard: self._leases[shard].fence for shard in shards}
        # Not held from here on, whatever the database answers: it is somebody else's soon.
        self.lose(shards, "share")
        async with self._db.transaction() as tx:
            await sql.release(tx, self.node, fences)

    async def _take(self, most: int) -> None:
        asked_at = self._clock.monotonic()
        async with self._db.transaction() as tx:
            grants = await sql.take(
                tx, self.node, most, known=self._leases, ttl=self._ttl, grace=self._grace
            )
        for grant in grants:
            # Our own lease, run out and taken again: the fence has moved on all the same.
            self.lose([grant.shard], "expired")
            self._leases[grant.shard] = Lease(
                shard=grant.shard, fence=grant.fence, trusted_until=self._trust(asked_at)
            )
            self._bus.publish(
                LeaseTaken(
                    node=self.node.id,
                    shard=grant.shard,
                    fence=grant.fence,
                    previous=grant.previous,
                )
            )

    def _drop_expired(self) -> None:
        now = self._clock.monotonic()
        self.lose([s for s, lease in self._leases.items() if not lease.is_trusted(now)], "expired")

    def _trust(self, asked_at: float) -> float:
        return asked_at + (self._ttl - self._margin).total_seconds()


def _fences(leases: Iterable[Lease]) -> dict[int, int]:
    return {lease.shard: lease.fence for lease in leases}
