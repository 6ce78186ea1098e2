"""When a claim that is turned away comes back. Pure: chance is handed in."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

    from rota.queue.circuits import Circuit

_SHORTEST = timedelta(milliseconds=500)
_LONGEST = timedelta(minutes=1)


def back_at(circuit: Circuit, now: datetime, *, first: bool, draw: float) -> datetime:
    """The first of them when the circuit half-opens, to try; the others after that, spread.

    They must not come as a herd to a host that has just recovered, nor before it is known whether
    it has. `draw` is from 0 to 1.
    """
    opens_at = now if circuit.open_until is None else max(now, circuit.open_until)
    if first and opens_at > now:
        return opens_at
    return opens_at + _width(circuit) * (0.1 + 0.5 * draw)


def crowded(now: datetime, *, draw: float) -> datetime:
    """For what has waited in vain for room at its host."""
    return now + timedelta(seconds=2 + 4 * draw)


def _width(circuit: Circuit) -> timedelta:
    """In proportion to how long the circuit was open: the longer, the more will have gathered."""
    if circuit.open_until is None or circuit.opened_at is None:
        return _SHORTEST
    return min(max(circuit.open_until - circuit.opened_at, _SHORTEST), _LONGEST)
