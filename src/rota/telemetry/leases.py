"""Leases come and go by the dozen: told together, as one line for all the shards of a moment."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from rota.leases import LeaseLost, LeaseResigned, LeaseTaken

if TYPE_CHECKING:
    from collections.abc import Callable

LEASES = (LeaseTaken, LeaseLost, LeaseResigned)

_Lease = LeaseTaken | LeaseLost | LeaseResigned


class Together:
    """Gathers the lease events of one turn of the event loop, and tells each kind as a line."""

    def __init__(self, tell: Callable[[int, str], None]) -> None:
        """`tell` is given the level and the line."""
        self._tell = tell
        self._gathered: dict[tuple[int, str], list[int]] = {}

    def add(self, event: _Lease) -> None:
        """Note an event; it is told with the others when the loop comes round."""
        if not self._gathered:
            asyncio.get_running_loop().call_soon(self.flush)
        self._gathered.setdefault((_level(event), _kind(event)), []).append(event.shard)

    def flush(self) -> None:
        """Tell what was gathered."""
        gathered, self._gathered = self._gathered, {}
        for (level, kind), shards in gathered.items():
            self._tell(level, f"{kind} count={len(shards)} shards={ranges(shards)}")


def ranges(numbers: list[int]) -> str:
    """1,2,3,7 as 1-3,7."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ",".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _level(event: _Lease) -> int:
    """Giving up a share is in order; losing a lease otherwise is not."""
    lost = isinstance(event, LeaseLost) and event.reason != "share"
    return logging.WARNING if lost else logging.INFO


def _kind(event: _Lease) -> str:
    match event:
        case LeaseTaken():
            return f"leases_taken node={event.node} previous={event.previous}"
        case LeaseLost():
            return f"leases_lost node={event.node} reason={event.reason}"
        case LeaseResigned():
            return f"leases_resigned node={event.node}"
