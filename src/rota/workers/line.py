"""Who is next: a line that is fair between tenants, in proportion to their weights. Pure.

Every tenant has a virtual time: how many turns it has had, each counted as 1/weight. The next turn
is for the tenant whose virtual time is least, so turns come in proportion to the weights, and who
has a weight of 1 among thousands still has its turn. A tenant that comes (back) begins at the time
of the others: having been away is no credit. Within a tenant: by the order given.

Turns alone would let one tenant's slow calls take all hands, one turn after another. So a tenant
that has its share of the hands already stands behind those that do not, as long as there are any.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

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
    busy: int = 0
    """How many hands it has."""
    stamp: int = 0
    """Of its one valid entry in the line."""
    behind: bool = False

    @property
    def stride(self) -> int:
        return _TURN // self.weight

    @property
    def active(self) -> bool:
        return bool(self.items) or self.busy > 0


class Line(Generic[T]):
    """Items of tenants, waiting for `hands` (None: without limit). Every step is O(log n)."""

    def __init__(self, *, hands: int | None = None) -> None:
        self._hands = hands
        self._tenants: dict[UUID, _Tenant[T]] = {}
        self._line: list[tuple[int, int, _Tenant[T]]] = []
        self._behind: list[tuple[int, int, _Tenant[T]]] = []
        self._time = 0
        self._latest = 0
        """The time of whoever is furthest on."""
        self._stamp = 0
        self._weights = 0
        """Of all tenants that wait or have hands."""
        self._len = 0

    def __len__(self) -> int:
        return self._len

    def push(self, items: Sequence[T], *, tenant: UUID, weight: int, order: Any) -> None:
        """Let some of one order stand in line; the tenant's weight is this one from now on."""
        if not items:
            return
        one = self._tenants.get(tenant)
        if one is None:
            one = self._tenants[tenant] = _Tenant(tenant, weight, self._time)
        self._weigh(one, weight)
        was_empty = not one.items
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
        if was_empty:
            one.time = max(one.time, self._time)
            self._enter(one)

    def take(self, fits: Callable[[T], bool] | None = None, *, begins: bool = False) -> T | None:
        """The next; None when none is left. One that does not fit leaves the line without a turn.

        `fits` is asked in the order of the line, and must not change the line. With `begins` its
        tenant has one hand more from now on, until `ended`.
        """
        if len(self._line) == 1 and not self._behind:
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
        """The same when one tenant alone waits, as is usual: whoever is before or behind whom."""
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

    def ended(self, tenant: UUID) -> None:
        """The tenant has one hand less."""
        one = self._tenants[tenant]
        one.busy -= 1
        if not one.active:
            self._weights -= one.weight
        elif one.behind and not self._has_share(one):
            # Turns for which it was passed over: a few are made good, so that the proportion holds
            # however its calls happen to end; more would be a credit for slow calls.
            one.time = max(one.time, self._time - _MADE_GOOD * one.stride)
            self._enter(one)

    # The parts

    def _weigh(self, one: _Tenant[T], weight: int) -> None:
        """Before its first item is added."""
        self._weights += weight - one.weight if one.active else weight
        one.weight = weight

    def _enter(self, one: _Tenant[T]) -> None:
        self._stamp += 1
        one.stamp, one.behind = self._stamp, False
        heapq.heappush(self._line, (one.time, self._stamp, one))

    def _left(self, one: _Tenant[T]) -> None:
        one.stamp, one.behind = 0, False
        if not one.active:
            self._weights -= one.weight
        if not self._len:
            # Nobody waits: whoever comes next, all begin anew. There is nothing to remember.
            self._time = self._latest
            self._tenants = {id_: each for id_, each in self._tenants.items() if each.busy}

    def _has_share(self, one: _Tenant[T]) -> bool:
        """And one more: calls do not end in order, and turns must not be lost for that."""
        if self._hands is None:
            return False
        return (one.busy - 1) * self._weights >= self._hands * one.weight

    def _first(self) -> _Tenant[T] | None:
        while self._line:
            time, stamp, one = heapq.heappop(self._line)
            if stamp != one.stamp:
                continue
            if not self._has_share(one):
                return one
            one.behind = True
            heapq.heappush(self._behind, (time, stamp, one))
        while self._behind:
            _, stamp, one = heapq.heappop(self._behind)
            if stamp == one.stamp:
                return one
        return None

    def _draw(self, one: _Tenant[T], fits: Callable[[T], bool] | None) -> T | None:
        while one.orders:
            order = one.orders[0]
            alike = one.items[order]
            while alike:
                item = alike.popleft()
                self._len -= 1
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
