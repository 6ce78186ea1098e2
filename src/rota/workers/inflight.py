"""All claims a worker holds, the order in which they start, and the pipeline's two wake-ups.

The stages of a worker call downwards: claimer, delay queue, executor, completer. What a later stage
has to say to an earlier one it says here, by a wake-up. No I/O.
"""

from __future__ import annotations

import asyncio
import enum
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rota.workers.fair_queue import WeightedFairQueue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.schedules.schedule import Schedule
    from rota.workers.caller import Call
    from rota.workers.hosts.circuit_cache import Probe


_STARTS_LIMIT: Final = 0.1
"""Seconds for which what has ended waits for others to start."""


class Phase(enum.Enum):
    """How far it has come; only ever forward, but for what is given a later place by its host."""

    SCHEDULED = "scheduled"
    """Its instant has not come."""
    READY = "ready"
    """Its instant has come; it waits for a free slot."""
    RUNNING = "running"
    COMPLETING = "completing"
    """Its outcome is known here and not yet in the database."""


class Stop(enum.Enum):
    """Why a call was broken off."""

    CANCELLED = "cancelled"
    """Somebody asked for its end."""
    INTERRUPTED = "interrupted"
    """The worker stops, and could not wait any longer."""
    LOST = "lost"
    """The claim is not ours any more."""


@dataclass(slots=True, eq=False)
class InflightClaim:
    """A claim, its schedule, and what the worker does with it."""

    claim: Claim
    schedule: Schedule
    trusted_until: datetime
    """By the database's clock; somebody else may have it after that."""
    epoch: int = 0
    """Of the node's session when it was claimed (`right_to_begin`)."""
    phase: Phase = Phase.SCHEDULED
    stop: Stop | None = None
    stop_reason: str | None = None
    place_at: datetime | None = None
    """The instant at which its host takes it, where the rate is limited."""
    probe: Probe | None = field(default=None, repr=False)
    """Of the one that tries whether its host answers again."""
    postponed: bool = False
    """It is on its way back to the queue, for later."""
    task: asyncio.Task[None] | None = field(default=None, repr=False)
    call: Call | None = field(default=None, repr=False)
    """The one that is being made, and since when; or one that is ready to be."""
    started_at: datetime | None = None
    withheld: bool = False
    """Its attempt was not begun after all: its right had ended, or what it needs was not there."""
    given_up: bool = False
    """It was settled although its call went on: what comes of that is of no interest."""
    lingers: asyncio.Future[None] | None = field(default=None, repr=False)
    """Of a function that goes on although its attempt is over: done when its slot is free."""

    @property
    def start_at(self) -> datetime:
        """When it may begin."""
        return self.claim.available_at if self.place_at is None else self.place_at

    @property
    def unstarted(self) -> bool:
        return self.phase is Phase.SCHEDULED or self.phase is Phase.READY

    def break_off(self, stop: Stop, reason: str | None = None) -> bool:
        """End the call that is being made or about to be; the attempt goes on to its settlement.

        Whether there is one, and nobody has before. It may not end all the same (`stuck`).
        """
        if self.phase is not Phase.RUNNING or self.stop is not None:
            return False
        self.stop, self.stop_reason = stop, reason
        # Before its first step a task would end without ever running; it looks at `stop` instead.
        if self.task is not None:
            self.task.cancel()
        return True


class ClaimWake:
    """Wakes the claimer, and says why. Set by whichever stage knows; cleared by the claimer."""

    __slots__ = ("event", "has_strays", "is_urgent", "may_be_unseen", "wants_room")

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.wants_room = False
        """Set by the claimer: there is more to claim than there was room for."""
        self.is_urgent = False
        """Something may be due now: claim at once, without gathering."""
        self.may_be_unseen = False
        """Rows may have entered the queue behind the claimer's low-water marks."""
        self.has_strays = False
        """Claims were dropped here that the database still has as this worker's."""

    def look(self) -> None:
        """There may be something to claim: do not wait for the poll."""
        self.may_be_unseen = self.is_urgent = True
        self.event.set()

    def dropped(self) -> None:
        """A claim was dropped: give it back, and look for it at once."""
        self.may_be_unseen = self.has_strays = True
        self.event.set()

    def made_room(self) -> None:
        """Claims have left; worth a look if there was too little room before."""
        if self.wants_room:
            self.event.set()


class Inflight:
    """Claims by firing. Those that are due stand in line: fair between tenants, none with more than
    its share of the slots, and within a tenant by priority, then by their instant.

    What is due but may not begin yet for its host's sake is set aside (`next_due` with `admit`),
    out of everybody's way, until `unpark` brings it back.
    """

    def __init__(self, *, concurrency: int, prefetch: int) -> None:
        self._concurrency = concurrency
        self.prefetch = prefetch
        """How many more it may hold than it has slots; adapted to the worker's throughput."""
        self.spare = prefetch // 4
        """Places beyond the others, for tenants that have less than their share: those who come
        while somebody's backlog has filled all places need not wait for its calls to end."""
        self._by_firing: dict[UUID, InflightClaim] = {}
        self._by_tenant: Counter[UUID] = Counter()
        self.weights: dict[UUID, int] = {}
        """Of the tenants whose claims it has."""
        self._line: WeightedFairQueue[InflightClaim] = WeightedFairQueue(slots=concurrency)
        self._parked: dict[str | None, WeightedFairQueue[InflightClaim]] = {}
        self._admit: Callable[[InflightClaim], bool] | None = None
        self._ended: list[asyncio.Future[None]] = []
        """Those that wait to be judged until nothing waits that may start."""
        self._starts_limit: asyncio.TimerHandle | None = None
        self._starts_until = float("-inf")
        """By the loop's clock: an instant has come, and what has ended waits for its starts."""
        self.claim_wake = ClaimWake()
        """Wakes the claimer."""
        self.start_wake = asyncio.Event()
        """Wakes the executor: something may start that could not before."""

    def __len__(self) -> int:
        return len(self._by_firing)

    def __contains__(self, firing_id: UUID) -> bool:
        return firing_id in self._by_firing

    def __iter__(self) -> Iterator[InflightClaim]:
        return iter(tuple(self._by_firing.values()))

    @property
    def calling(self) -> int:
        """How many attempts are under way."""
        return self._line.busy

    @property
    def room(self) -> int:
        """How many more may be claimed. Outcomes not yet recorded count: they hold back claims.

        Below zero when some of the `spare` places are taken.
        """
        return self._concurrency + self.prefetch - len(self._by_firing)

    @property
    def by_tenant(self) -> Mapping[UUID, int]:
        """How many claims of each tenant it has."""
        return self._by_tenant

    def get(self, firing_id: UUID) -> InflightClaim | None:
        return self._by_firing.get(firing_id)

    def add(self, held: InflightClaim) -> None:
        claim = held.claim
        earlier = self._by_firing.get(claim.id)
        if earlier is not None:
            self.remove(earlier)
        self._by_firing[claim.id] = held
        self._by_tenant[claim.tenant_id] += 1
        self.weights[claim.tenant_id] = claim.weight

    def remove(self, held: InflightClaim) -> None:
        """Forget it, unless a newer claim of the same firing has taken its place."""
        claim = held.claim
        if self._by_firing.get(claim.id) is not held:
            return
        del self._by_firing[claim.id]
        tenant = claim.tenant_id
        left = self._by_tenant[tenant] - 1
        self._by_tenant[tenant] = left
        if not left:
            del self._by_tenant[tenant], self.weights[tenant]
        if held.probe is not None:
            probe, held.probe = held.probe, None
            probe.abandon()

    def concerns(self, id_: UUID) -> bool:
        """Whether the id is that of a firing held, or of a schedule of one."""
        return id_ in self._by_firing or any(
            held.claim.schedule_id == id_ for held in self._by_firing.values()
        )

    # Beginning

    def at_instant(self, batch: Sequence[InflightClaim]) -> None:
        """Their instant has come at this moment: for a while, starts come before endings."""
        self._starts_until = asyncio.get_running_loop().time() + _STARTS_LIMIT
        self.line_up(batch)

    def line_up(self, batch: Sequence[InflightClaim]) -> None:
        """They may start."""
        run: list[InflightClaim] = []
        for held in batch:
            held.phase = Phase.READY
            if run and not _alike(held.claim, run[0].claim):
                _push(self._line, run)
                run = []
            run.append(held)
        if run:
            _push(self._line, run)
            self.start_wake.set()

    def next_due(
        self, admit: Callable[[InflightClaim], bool] | None = None
    ) -> InflightClaim | None:
        """The next to begin, which takes a slot until it has `ended`; None when none is due, all
        slots are in use, or all that are due have to wait for their tenants' shares.

        What `admit` refuses is set aside under its host. It costs its tenant no turn, and what is
        behind it in line, of whatever tenant or host, comes next.
        """

        self._admit = admit
        found: InflightClaim | None = None
        if self._line.busy < self._concurrency:
            found = self._line.take(self._fits, begins=True)
        if self._ended and (found is None or self.may_begin <= 0):
            self._tell_starts_over()
        return found

    @property
    def waiting(self) -> int:
        """How many stand in line; some may have been let go of since."""
        return len(self._line)

    @property
    def may_begin(self) -> int:
        """How many of those in line there are slots for, within their tenants' shares."""
        return self._line.may_begin(self._concurrency - self._line.busy)

    @property
    def is_starting(self) -> bool:
        """Whether claims whose instant has just come wait to start. A backlog does not count: it is
        late already, and what has ended need not wait for it."""
        if asyncio.get_running_loop().time() >= self._starts_until:
            return False
        return self.may_begin > 0

    async def starts_over(self) -> None:
        """Return when nothing waits that may start now, or after a moment: what has ended is judged
        and recorded after the starts, which are due."""
        loop = asyncio.get_running_loop()
        if self._starts_limit is None:
            self._starts_limit = loop.call_later(_STARTS_LIMIT, self._tell_starts_over)
        # One for each: who is cancelled while it waits must not end the wait of the others.
        waiter: asyncio.Future[None] = loop.create_future()
        self._ended.append(waiter)
        await waiter

    def _tell_starts_over(self) -> None:
        if self._starts_limit is not None:
            self._starts_limit.cancel()
            self._starts_limit = None
        ended, self._ended = self._ended, []
        for waiter in ended:
            if not waiter.done():
                waiter.set_result(None)

    def _fits(self, held: InflightClaim) -> bool:
        claim = held.claim
        if held.phase is not Phase.READY or self._by_firing.get(claim.id) is not held:
            return False
        if claim.host is None or self._admit is None or self._admit(held):
            return True
        _push(self._parked.setdefault(claim.host, WeightedFairQueue()), [held])
        return False

    def ended(self, held: InflightClaim) -> None:
        """Its attempt is over, or will not be made: its slot is free.

        The task that made the attempt starts the next one in that slot. The executor is woken when
        more may start: a tenant's end makes the shares of the others grow.
        """
        if self._line.ended(held.claim.tenant_id):
            self.start_wake.set()

    @property
    def shared(self) -> bool:
        """Whether it serves several tenants: each has its share."""
        return self._line.others > 0 or len(self._by_tenant) > 1

    @property
    def others(self) -> int:
        """How many tenants there are for this worker, beyond the one that has work."""
        return self._line.others

    @others.setter
    def others(self, count: int) -> None:
        if count != self._line.others:
            self._line.others = count
            self.start_wake.set()

    def unpark(self, host: str | None, count: int = 1) -> int:
        """Bring back up to `count` claims that were set aside under this host. Returns how many.

        They come fairly too: in turn by tenant.
        """
        parked = self._parked.get(host)
        if parked is None:
            return 0
        found = 0
        while found < count and (held := parked.take(self._waits)) is not None:
            _push(self._line, [held])
            found += 1
        if not parked:
            del self._parked[host]
        return found

    def tidy(self) -> None:
        """Forget what was let go of while it was set aside: a host that hangs would gather more and
        more of it, each time its claims come back."""
        for host, parked in tuple(self._parked.items()):
            kept: WeightedFairQueue[InflightClaim] = WeightedFairQueue()
            while (held := parked.take(self._waits)) is not None:
                _push(kept, [held])
            if kept:
                self._parked[host] = kept
            else:
                del self._parked[host]

    def parked(self, host: str | None) -> int:
        """How many are set aside under this host; some may have been let go of since."""
        return len(self._parked.get(host, ()))

    def _waits(self, held: InflightClaim) -> bool:
        return held.phase is Phase.READY and self._by_firing.get(held.claim.id) is held


def _push(line: WeightedFairQueue[InflightClaim], alike: Sequence[InflightClaim]) -> None:
    claim = alike[0].claim
    # Those of one instant stay as they came: in the order of the claim, which is that of their ids.
    order = (-claim.priority, claim.available_at)
    line.push(alike, tenant=claim.tenant_id, weight=claim.weight, order=order)


def _alike(one: Claim, other: Claim) -> bool:
    """Whether they stand in the same place: a herd is most often one tenant's."""
    return (
        one.available_at == other.available_at
        and one.priority == other.priority
        and one.tenant_id == other.tenant_id
        and one.weight == other.weight
    )
