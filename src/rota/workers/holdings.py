"""All claims in a worker's hands, and the order in which it begins them. No I/O."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rota.workers.held import Phase
from rota.workers.line import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from uuid import UUID

    from rota.queue.claim import Claim
    from rota.workers.held import Held


class Holdings:
    """Claims by firing. Those that are due stand in line: fair between tenants, none with more than
    its share of the slots, and within a tenant by priority, then by their instant.

    What is due but may not begin yet for its host's sake is set aside (`next_due` with `admit`),
    out of everybody's way, until `unpark` brings it back.
    """

    def __init__(self, *, concurrency: int, prefetch: int) -> None:
        self._concurrency = concurrency
        self.prefetch = prefetch
        """How many more it may hold than it has hands for; changed as the worker's rate is."""
        self.spare = prefetch // 4
        """Places beyond the others, for tenants that have less than their share: those who come
        while somebody's backlog has filled all places need not wait for its calls to end."""
        self._by_firing: dict[UUID, Held] = {}
        self._by_tenant: Counter[UUID] = Counter()
        self.weights: dict[UUID, int] = {}
        """Of the tenants whose claims it has."""
        self._line: Line[Held] = Line(slots=concurrency)
        self._parked: dict[str | None, Line[Held]] = {}
        self._admit: Callable[[Held], bool] | None = None
        self.on_probe_left: Callable[[Held], None] = lambda _: None
        """Told of a probe that leaves without having told how its host is."""

    def __len__(self) -> int:
        return len(self._by_firing)

    def __contains__(self, firing_id: UUID) -> bool:
        return firing_id in self._by_firing

    def __iter__(self) -> Iterator[Held]:
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

    def get(self, firing_id: UUID) -> Held | None:
        return self._by_firing.get(firing_id)

    def add(self, held: Held) -> None:
        claim = held.claim
        earlier = self._by_firing.get(claim.id)
        if earlier is not None:
            self.remove(earlier)
        self._by_firing[claim.id] = held
        self._by_tenant[claim.tenant_id] += 1
        self.weights[claim.tenant_id] = claim.weight

    def remove(self, held: Held) -> None:
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
        if held.probe:
            held.probe = False
            self.on_probe_left(held)

    def concerns(self, id_: UUID) -> bool:
        """Whether the id is that of a firing held, or of a schedule of one."""
        return id_ in self._by_firing or any(
            held.claim.schedule_id == id_ for held in self._by_firing.values()
        )

    # Beginning

    def line_up(self, batch: Sequence[Held]) -> None:
        """Their instant has come."""
        run: list[Held] = []
        for held in batch:
            held.phase = Phase.DUE
            if run and not _alike(held.claim, run[0].claim):
                _push(self._line, run)
                run = []
            run.append(held)
        if run:
            _push(self._line, run)

    def next_due(self, admit: Callable[[Held], bool] | None = None) -> Held | None:
        """The next to begin, which takes a slot until it has `ended`; None when none is due, all
        slots are in use, or all that are due have to wait for their tenants' shares.

        What `admit` refuses is set aside under its host. It costs its tenant no turn, and what is
        behind it in line, of whatever tenant or host, comes next.
        """

        if self._line.busy >= self._concurrency:
            return None
        self._admit = admit
        return self._line.take(self._fits, begins=True)

    @property
    def waiting(self) -> int:
        """How many stand in line; some may have been let go of since."""
        return len(self._line)

    @property
    def may_begin(self) -> int:
        """How many of those in line there are slots for, within their tenants' shares."""
        return self._line.may_begin(self._concurrency - self._line.busy)

    def _fits(self, held: Held) -> bool:
        claim = held.claim
        if held.phase is not Phase.DUE or self._by_firing.get(claim.id) is not held:
            return False
        if claim.host is None or self._admit is None or self._admit(held):
            return True
        _push(self._parked.setdefault(claim.host, Line()), [held])
        return False

    def ended(self, held: Held) -> bool:
        """Its attempt is over, or will not be made: its slot is free. Whether more may begin now
        than in that slot: a tenant's end makes the shares of the others grow."""
        return self._line.ended(held.claim.tenant_id)

    @property
    def shared(self) -> bool:
        """Whether it serves several tenants: each has its share."""
        return self._line.others > 0 or len(self._by_tenant) > 1

    @property
    def others(self) -> int:
        """How many tenants there are for this worker, beyond the one that has work (`Line`)."""
        return self._line.others

    @others.setter
    def others(self, count: int) -> None:
        self._line.others = count

    def unpark(self, host: str | None, count: int = 1) -> int:
        """Bring back up to `count` claims that were set aside under this host; how many it were.

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
            kept: Line[Held] = Line()
            while (held := parked.take(self._waits)) is not None:
                _push(kept, [held])
            if kept:
                self._parked[host] = kept
            else:
                del self._parked[host]

    def parked(self, host: str | None) -> int:
        """How many are set aside under this host; some may have been let go of since."""
        return len(self._parked.get(host, ()))

    def _waits(self, held: Held) -> bool:
        return held.phase is Phase.DUE and self._by_firing.get(held.claim.id) is held


def _push(line: Line[Held], alike: Sequence[Held]) -> None:
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
