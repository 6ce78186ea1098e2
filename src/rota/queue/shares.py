"""How many slots of a shared pool one tenant may use. Pure.

Where several tenants share a pool, each may use slots in proportion to its weight among the tenants
that have work, counted as if one more tenant of the default weight had work too. So room for one
more tenant is always left: calls that hang for minutes cannot keep the next tenant from starting.

Running attempts are never interrupted. After tenants have come one by one, each up to what was its
share then, shares alone would not keep that room free. So the last few slots, `reserve`, are only
for tenants that use none. Every tenant may use one slot while any is free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

DEFAULT_WEIGHT: Final = 1
"""A tenant's weight unless the operator sets one; the weight of the one more tenant."""
_RESERVED: Final = 16
"""One slot in so many is reserved."""


def share(slots: int, weight: int, weights: int) -> int:
    """The most slots a tenant may use. `weights` is the sum over tenants with work, it included."""
    return max(1, slots * weight // (weights + DEFAULT_WEIGHT))


def reserve(slots: int, weights: int) -> int:
    """How many slots are only for tenants that use none: a part of the room for one more."""
    room = -(-slots * DEFAULT_WEIGHT // (weights + DEFAULT_WEIGHT))
    return min(room, max(1, slots // _RESERVED))


def may_add(slots: int, *, used: int, own: int, weight: int, weights: int) -> int:
    """How many more slots a tenant may take that uses `own` of the `used` ones."""
    first = 1 if own == 0 and used < slots else 0
    more = min(share(slots, weight, weights) - own, slots - reserve(slots, weights) - used)
    return max(first, more)


def fits_below(slots: int, weight: int, own: int) -> int:
    """The greatest sum of weights at which a tenant that uses `own` slots, at least one, may use
    one more."""
    return slots * weight // (own + 1) - DEFAULT_WEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The places for claims of a worker that serves several tenants, and who has how many.

    The claims of one tenant must not keep those of another from being claimed: shares hold for the
    `due` ones, which run or may, and for those `ahead` of their instant.
    """

    count: int
    due: Mapping[UUID, int]
    count_ahead: int
    ahead: Mapping[UUID, int]
    weights: Mapping[UUID, int]
    """Of all tenants that have any."""

    def with_contenders(self, contenders: Mapping[UUID, int]) -> int:
        """The sum of the weights of all tenants with work, those with claims and these."""
        return sum({**self.weights, **contenders}.values())

    def may_claim(self, tenant: UUID, weight: int, weights: int) -> int:
        """How many more the tenant may have of what is due."""
        used, own = sum(self.due.values()), self.due.get(tenant, 0)
        return may_add(self.count, used=used, own=own, weight=weight, weights=weights)

    def may_claim_together(self, contenders: Mapping[UUID, int]) -> int:
        """How many more all these tenants may have, with the reserve for the next one left. Those
        that have none may have one each."""
        new = sum(not self.due.get(tenant) for tenant in contenders)
        used, weights = sum(self.due.values()), self.with_contenders(contenders)
        return max(new, self.count - reserve(self.count, weights) - used)

    def may_claim_ahead(self, tenant: UUID, weight: int, weights: int) -> bool:
        """Whether the tenant may have more of what is ahead of its instant."""
        return self.ahead.get(tenant, 0) < share(self.count_ahead, weight, weights)

    def for_any(self) -> int:
        """How many more any tenant may have, whoever it is, of what is due or ahead."""
        weights = sum(self.weights.values()) + DEFAULT_WEIGHT
        most_ahead = max(self.ahead.values(), default=0)
        if most_ahead >= share(self.count_ahead, DEFAULT_WEIGHT, weights):
            return 0
        used, most = sum(self.due.values()), max(self.due.values(), default=0)
        return may_add(self.count, used=used, own=most, weight=DEFAULT_WEIGHT, weights=weights)
