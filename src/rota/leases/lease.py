"""A lease, as its holder knows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to fire the timers of one shard."""

    shard: int
    fence: int
    """One more than the holder before had."""
    trusted_until: float
    """On the holder's monotonic clock. Past it, the holder acts as if it had no lease."""

    def is_trusted(self, monotonic: float) -> bool:
        """Whether its holder may still act on it."""
        return monotonic < self.trusted_until
