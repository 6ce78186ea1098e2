"""How many each tenant may take of the places there are. Pure.

Turns come in proportion to weights, by virtual time: a turn moves a tenant on by 1/weight, and the
next turn is for whoever is furthest behind. A worker keeps the times from one claim to the next, so
the proportion holds also when each claim is of one place only. A tenant that comes (back) begins
where the others are: having been away is no credit. What one does not use goes to the others.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field
from math import ceil, log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from uuid import UUID

# A turn in integers: sums of fractions would drift apart over the years.
_TURN: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Want:
    """A tenant that has work."""

    tenant: UUID
    weight: int
    most: int
    """It may take no more than this."""
    missing: int = 0
    """How many it has less than its share."""


def wants_of(weights: Mapping[UUID, int], held: Mapping[UUID, int], *, places: int) -> list[Want]:
    """What each may take until it has its share of all places, those it holds among them."""
    in_all = sum(weights.values())
    wants: list[Want] = []
    for tenant, weight in weights.items():
        has, share = held.get(tenant, 0), places * weight / in_all
        # And one more than its share, rounded up: turns must not be lost by rounding.
        most = ceil(share) - has + 1 if has < share else 0
        wants.append(Want(tenant, weight, most, missing=max(0, int(share) - has)))
    return wants


@dataclass(slots=True)
class Turns:
    """Whose turn it is, over many claims."""

    draw: Callable[[], float] = random.random
    """From 0 to below 1: for who is first among equals."""
    lottery: bool = False
    """Who is first of all has a chance in proportion to its weight. For those who claim once."""
    _times: dict[UUID, int] = field(default_factory=dict["UUID", int], init=False)
    _now: int | None = field(default=None, init=False)

    def allot(self, places: int, wants: Iterable[Want]) -> dict[UUID, int]:
        """Whom the next `places` turns belong to. Nobody has had them yet: see `charge`."""
        line = [
            (self._time(each), self.draw(), n, each)
            for n, each in enumerate(wants)
            if each.most > 0
        ]
        heapq.heapify(line)
        turns: dict[UUID, int] = {}
        for _ in range(places):
            if not line:
                break
            time, draw, n, each = line[0]
            count = turns[each.tenant] = turns.get(each.tenant, 0) + 1
            if count < each.most:
                heapq.heapreplace(line, (time + _TURN // each.weight, draw, n, each))
            else:
                heapq.heappop(line)
        return turns

    def charge(self, turns: Mapping[UUID, int], weights: Mapping[UUID, int]) -> None:
        """So many turns were had."""
        now = self._now or 0
        for tenant, count in turns.items():
            if count:
                stride = _TURN // weights[tenant]
                begun = max(self._times.get(tenant, 0), self._now or 0)
                self._times[tenant] = begun + count * stride
                now = max(now, begun + (count - 1) * stride)
        self._now = now

    def reset(self) -> None:
        """Nobody has work left: whoever comes next, all begin anew."""
        self._now = max((self._now or 0, *self._times.values()))
        self._times.clear()

    def _time(self, want: Want) -> int:
        time = self._times.get(want.tenant)
        if time is not None:
            return max(time, self._now or 0)
        if self._now is not None:
            return self._now
        if not self.lottery:
            return 0
        chance = -log(1.0 - self.draw())
        self._times[want.tenant] = time = int(chance * _TURN) // want.weight
        return time
