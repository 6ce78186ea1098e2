"""The elector: keeps this node's fair share of the leases, and knows which ones it may act on.

One pass says that the node is there, renews what it holds, gives up what is more than its share and
takes what is missing; a node that is much slower than another one holds none (`share`). Each of
these is one statement and one round trip. A lease that could not be renewed is trusted until its
time is up and not a moment longer; a lease that could not be read is not held. There is no state in
which "I do not know" means "I am the leader".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

from rota.backoff import Backoff
from rota.clock import Clock, SystemClock
from rota.errors import TemporaryError
from rota.events import Bus, Event
from rota.leases import share, sql
from rota.leases.lease import Lease
from rota.leases.share import SlowLeader, SlowRule
from rota.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from rota.db import Database
    from rota.leases.node import Node
    from rota.leases.session import NodeSession

_FORGET_AFTER = timedelta(days=1)

LostBecause = Literal["taken", "expired", "fence", "share", "slow"]
"""`taken`: another node has it. `expired`: it could not be renewed in time. `fence`: a write found
a newer holder. `share`: given up so that others get theirs. `slow`: given up because another node
is much closer to the database."""


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
class ResignFailed(Event):
    """The leases could not be given back; they expire instead."""

    node: UUID
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStoodBack(Event):
    """This node is much slower than another one: it gives its leases up and takes none."""

    node: UUID
    round_trip: timedelta
    """The best of the last seconds."""
    other: timedelta
    """The best of the quickest other node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeReturned(Event):
    """A node that had stood back takes leases again: it is quick, or nobody else is there."""

    node: UUID
    schedulers: int
    """How many others there are that take leases."""


class Elector:
    """Who may fire what, on this node."""

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
        slow: SlowRule | None = None,
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
        self._pace = SlowLeader(slow)
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
        candidates = await self._beat()
        survey = await sql.survey(self._db, ttl=self._ttl, grace=self._grace)
        await self._renew()
        if await self._stands_back(candidates, survey.schedulers):
            return
        most = share.fair_share(survey.shards, survey.schedulers)
        await self._give_up(share.excess(self._leases, most))
        # Without the lock in place the others would see a dead node's shards and take them back.
        if self._session.is_held and len(self._leases) < most:
            await self._take(most - len(self._leases))

    def service(self) -> Service:
        """Its passes, as a background service; after it has stopped, `resign`."""
        return Service(
            "elector",
            self.run_once,
            wait=self._look_interval,
            bus=self._bus,
            clock=self._clock,
            backoff=Backoff(max_interval=self._look_interval),
        )

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
            self._bus.publish(ResignFailed(node=self.node.id, error=error))
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

    async def _beat(self) -> list[timedelta]:
        """Say that the node is there, and measure how long that takes."""
        asked_at = self._clock.monotonic()
        candidates = await sql.beat(
            self._db,
            self.node,
            round_trip=self._pace.best(now=asked_at),
            stood_back=self._pace.stands_back,
            seen_within=max(self._ttl / 3, self._look_interval * 4),
        )
        now = self._clock.monotonic()
        self._pace.note(now - asked_at, now=now)
        if now >= self._forget_at:
            async with self._db.transaction() as tx:
                await sql.forget(tx, unseen_for=_FORGET_AFTER)
            self._forget_at = now + timedelta(hours=1).total_seconds()
        return candidates

    async def _stands_back(self, candidates: list[timedelta], schedulers: int) -> bool:
        """Whether this node leaves the leases to others; gives them up when it has just begun to.

        `schedulers` are those that take leases, this node among them unless it has stood back.
        """
        before, now = self._pace.stands_back, self._clock.monotonic()
        others = schedulers if before else max(0, schedulers - 1)
        stands_back = self._pace.decide(candidates, schedulers=others, now=now)
        if stands_back != before:
            self._tell(candidates, others)
            # The others count this node by what it says: without a word they would leave its share.
            await self._beat()
        if stands_back:
            await self._give_up(list(self._leases), "slow")
        return stands_back

    def _tell(self, candidates: list[timedelta], schedulers: int) -> None:
        if not self._pace.stands_back:
            self._bus.publish(NodeReturned(node=self.node.id, schedulers=schedulers))
            return
        own = self._pace.best(now=self._clock.monotonic())
        assert own is not None
        event = NodeStoodBack(node=self.node.id, round_trip=own, other=min(candidates))
        self._bus.publish(event)

    async def _renew(self) -> None:
        # Read before the request: a slow reply must shorten our trust, never stretch it.
        asked_at = self._clock.monotonic()
        if not self._leases or asked_at < self._renew_at:
            return
        fences = _fences(self._leases.values())
        renewed = await sql.renew(self._db, self.node, fences, ttl=self._ttl)
        self._renew_at = asked_at + self._renew_interval.total_seconds()
        self.lose(sql.missing(fences, renewed), "taken")
        for shard in renewed & self._leases.keys():
            lease = self._leases[shard]
            self._leases[shard] = replace(lease, trusted_until=self._trust(asked_at))

    async def _give_up(self, shards: list[int], reason: LostBecause = "share") -> None:
        if not shards:
            return
        fences = {shard: self._leases[shard].fence for shard in shards}
        # Not held from here on, whatever the database answers: it is somebody else's soon.
        self.lose(shards, reason)
        await sql.release(self._db, self.node, fences)

    async def _take(self, most: int) -> None:
        asked_at = self._clock.monotonic()
        grants = await sql.take(
            self._db, self.node, most, known=self._leases, ttl=self._ttl, grace=self._grace
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
