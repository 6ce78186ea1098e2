"""Who is next: a queue that is fair between tenants, in proportion to their weights. Pure.

Every tenant has a virtual time: how many turns it has had, each counted as 1/weight. The next turn
is for the tenant whose virtual time is least, so turns come in proportion to the weights, and who
has a weight of 1 among thousands still has its turn. A tenant that comes (back) begins at the time
of the others: having been away is no credit. Within a tenant: by the order given.

Turns alone would let one tenant's slow calls take all slots, one turn after another. So where
several tenants share the slots, none gets more than its share of them (`shares`): a tenant that has
its share waits, out of the way of those behind it, until one of its attempts ends or its share
grows.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from rota.queue.shares import fits_below, reserve, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

T = TypeVar("T")

# A turn in integers: sums of fractions would drift apart over the years.
_TURN: Final = 1 << 40
_MADE_GOOD: Final = 8


@dataclass(slots=True, eq=False)
class _Tenant(Generic[T]):
    id: UUID
    weight: int
    time: int
    """Virtual: when its next turn is."""
    orders: deque[Any] = field(default_factory=deque[Any])
    """Of its items, in order. They nearly always come so, and one more goes to the end."""
    items: dict[Any, deque[T]] = field(default_factory=dict[Any, "deque[T]"])
    """By their order; those that share one, as they came."""
    waiting: int = 0
    """How many items."""
    busy: int = 0
    """How many slots it uses."""
    stamp: int = 0
    """Of its one valid entry in a heap."""
    blocked: bool = False
    """It waits for its share, in the heap of those that do."""

    @property
    def stride(self) -> int:
        return _TURN // self.weight

    @property
    def active(self) -> bool:
        return bool(self.items) or self.busy > 0


_Heap = list[tuple[int, int, _Tenant[T]]]


class WeightedFairQueue(Generic[T]):
    """Items of tenants, waiting for `slots` (None: without limit). Every step is O(log n).

    The caller that takes items with `begins` keeps the number in use within `slots`.
    """

    def __init__(self, *, slots: int | None = None) -> None:
        self._slots = slots
        self._others = 0
        self._limited = False
        """Whether tenants are held to their shares."""
        self._tenants: dict[UUID, _Tenant[T]] = {}
        self._line: _Heap[T] = []
        """By virtual time: tenants that may have a turn."""
        self._idle: _Heap[T] = []
        """While shares hold, in place of the line: tenants that use no slot. The last slots are
        for them alone."""
        self._blocked: _Heap[T] = []
        """Tenants that have their share, by the negative of the sum of weights they fit below."""
        self._time = 0
        self._latest = 0
        """The time of the tenant that is furthest on."""
        self._stamp = 0
        self._active = 0
        self._weights = 0
        """Of all tenants that wait or use slots."""
        self._len = 0
        self.busy = 0
        """How many slots are in use."""

    def __len__(self) -> int:
        return self._len

    @property
    def others(self) -> int:
        """How many tenants there are beyond the one that has work: none means no shares.

        Known from outside and a moment old. Two tenants with work are several in any case.
        """
        return self._others

    @others.setter
    def others(self, count: int) -> None:
        self._others = count
        self._set_limited()

    def push(self, items: Sequence[T], *, tenant: UUID, weight: int, order: Any) -> None:
        """Let some of one order stand in line; the tenant's weight is this one from now on."""
        if not items:
            return
        one = self._tenants.get(tenant)
        if one is None:
            one = self._tenants[tenant] = _Tenant(tenant, weight, self._time)
        was_empty = not one.items
        if weight != one.weight or (was_empty and not one.busy):
            self._weigh(one, weight)
        alike = one.items.get(order)
        if alike is not None:
            alike.extend(items)
        else:
            one.items[order] = deque(items)
            if was_empty or one.orders[-1] < order:
                one.orders.append(order)
            else:
                insort(one.orders, order)
        self._len += len(items)
        one.waiting += len(items)
        if was_empty:
            one.time = max(one.time, self._time)
            self._enter(one)

    def take(self, fits: Callable[[T], bool] | None = None, *, begins: bool = False) -> T | None:
        """The next; None when none may have a turn. One that does not fit leaves without a turn.

        `fits` is asked in the order of the line, and must not change the line. With `begins` its
        tenant uses one slot more from now on, until `ended`.
        """
        if not self._limited and len(self._line) == 1:
            return self._take_alone(fits, begins=begins)
        while (tenant := self._first()) is not None:
            item = self._draw(tenant, fits)
            if item is not None:
                self._has_turn(tenant, begins=begins)
            if tenant.items:
                self._enter(tenant)
            else:
                self._left(tenant)
            if item is not None:
                return item
        return None

    def _take_alone(self, fits: Callable[[T], bool] | None, *, begins: bool) -> T | None:
        """The same when one tenant alone waits, as is usual."""
        _, stamp, tenant = self._line[0]
        if stamp != tenant.stamp:
            self._line.clear()
            return None
        item = self._draw(tenant, fits)
        if item is not None:
            self._has_turn(tenant, begins=begins)
        if tenant.items:
            self._line[0] = (tenant.time, stamp, tenant)
        else:
            self._line.clear()
            self._left(tenant)
        return item

    def _has_turn(self, one: _Tenant[T], *, begins: bool) -> None:
        self._time = max(self._time, one.time)
        one.time += one.stride
        self._latest = max(self._latest, one.time)
        if begins:
            one.busy += 1
            self.busy += 1

    def ended(self, tenant: UUID) -> bool:
        """The tenant uses one slot less. Whether more than that one slot's worth may begin now."""
        one = self._tenants[tenant]
        one.busy -= 1
        self.busy -= 1
        if not one.active:
            return self._inactive(one)
        if self._limited and one.items and (one.blocked or not one.busy):
            if one.blocked:
                # Turns for which it was passed over: a few are made good, so that the proportion
                # holds however its calls happen to end; more would be a credit for slow calls.
                one.time = max(one.time, self._time - _MADE_GOOD * one.stride)
            self._enter(one)
        return False

    def may_begin(self, most: int) -> int:
        """How many could begin now, counted up to `most`, the number of free slots."""
        if not self._limited:
            return min(self._len, most)
        found = 0
        full = self._is_reserved()
        for _, stamp, one in self._idle if full else chain(self._idle, self._line):
            if found >= most:
                return most
            if stamp == one.stamp:
                found += 1 if full else max(0, min(one.waiting, self._share(one) - one.busy))
        return min(found, most)

    # Who has work

    def _weigh(self, one: _Tenant[T], weight: int) -> None:
        """Before its first item is added, or when its weight has changed."""
        if one.active:
            self._weights += weight - one.weight
        else:
            self._weights += weight
            self._active += 1
        one.weight = weight
        self._set_limited()
        if one.blocked:
            self._enter(one)
        self._unblock()

    def _left(self, one: _Tenant[T]) -> None:
        one.stamp, one.blocked = 0, False
        if not one.active:
            self._inactive(one)
        if not self._len:
            # Nobody waits: those that come next all start at the same time.
            self._time = self._latest
            self._tenants = {id_: each for id_, each in self._tenants.items() if each.busy}

    def _inactive(self, one: _Tenant[T]) -> bool:
        """It has no work any more: the shares of the others grow. Whether one may go on that had
        to wait."""
        self._weights -= one.weight
        self._active -= 1
        return self._set_limited() | self._unblock()

    # Shares

    def _set_limited(self) -> bool:
        """Whether that ended somebody's wait for its share."""
        limited = self._slots is not None and (self._others > 0 or self._active > 1)
        if limited == self._limited:
            return False
        self._limited = limited
        waited = bool(self._blocked)
        for one in self._tenants.values():
            if one.items:
                self._enter(one)
        if not limited:
            self._idle.clear()
            self._blocked.clear()
        return waited and not limited

    def _share(self, one: _Tenant[T]) -> int:
        assert self._slots is not None, "there are shares"
        return share(self._slots, one.weight, self._weights)

    def _is_reserved(self) -> bool:
        """Whether all slots that are free are for tenants that use none."""
        if not self._limited or self._slots is None:
            return False
        return self.busy >= self._slots - reserve(self._slots, self._weights)

    def _block(self, one: _Tenant[T]) -> None:
        assert self._slots is not None, "there are shares"
        self._stamp += 1
        one.stamp, one.blocked = self._stamp, True
        key = -fits_below(self._slots, one.weight, one.busy)
        heapq.heappush(self._blocked, (key, self._stamp, one))

    def _unblock(self) -> bool:
        """Let those back into the line whose share has grown; whether there were any."""
        found = False
        while (first := _top(self._blocked)) is not None and self._weights <= -first[0]:
            heapq.heappop(self._blocked)
            self._enter(first[2])
            found = True
        return found

    # Whose turn it is

    def _enter(self, one: _Tenant[T]) -> None:
        self._stamp += 1
        one.stamp, one.blocked = self._stamp, False
        heap = self._idle if self._limited and not one.busy else self._line
        heapq.heappush(heap, (one.time, self._stamp, one))

    def _first(self) -> _Tenant[T] | None:
        """The tenant whose turn it is, taken out of the heaps."""
        reserved = self._is_reserved()
        while True:
            idle = _top(self._idle)
            first = None if reserved else _top(self._line)
            if first is None and idle is None:
                return None
            if first is None or (idle is not None and idle < first):
                return heapq.heappop(self._idle)[2]
            one = heapq.heappop(self._line)[2]
            if not self._limited or one.busy < self._share(one):
                return one
            self._block(one)

    def _draw(self, one: _Tenant[T], fits: Callable[[T], bool] | None) -> T | None:
        while one.orders:
            order = one.orders[0]
            alike = one.items[order]
            while alike:
                item = alike.popleft()
                self._len -= 1
                one.waiting -= 1
                if fits is None or fits(item):
                    break
            else:
                item = None
            if not alike:
                del one.items[order]
                one.orders.popleft()
            if item is not None:
                return item
        return None


def _top(heap: _Heap[T]) -> tuple[int, int, _Tenant[T]] | None:
    """The first valid entry."""
    while heap:
        _, stamp, one = heap[0]
        if stamp == one.stamp:
            return heap[0]
        heapq.heappop(heap)
    return None
