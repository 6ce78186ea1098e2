"""Low-water marks: how far the timers of each shard are known to be fired. Pure.

A read past the mark skips the dead entries at the head of the index, which cost hundreds of times
the read itself while some snapshot keeps them from being cleaned up. A timer that appears below the
mark (created to be due at once) is announced by NOTIFY, and found by a sweep if that is lost.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rota.leases import Lease

BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class LowWatermarks:
    """The mark of each shard, for as long as the lease is the same."""

    def __init__(self) -> None:
        self._lows: dict[tuple[int, int], datetime] = {}

    def of(self, leases: Iterable[Lease]) -> dict[int, datetime]:
        """The marks to read past. A lease that is new starts from the beginning."""
        keys = [(lease.shard, lease.fence) for lease in leases]
        self._lows = {key: self._lows.get(key, BEGINNING) for key in keys}
        return {shard: self._lows[shard, fence] for shard, fence in keys}

    def raise_to(self, unfinished: Mapping[int, datetime]) -> None:
        """In these shards, everything due before these instants is done."""
        for key in self._lows:
            if key[0] in unfinished:
                self._lows[key] = unfinished[key[0]] - _TICK

    def forget(self, shards: Iterable[int] | None = None) -> None:
        """Read these (all, when none are named) from the beginning, once."""
        named = None if shards is None else set(shards)
        for key in self._lows:
            if named is None or key[0] in named:
                self._lows[key] = BEGINNING
