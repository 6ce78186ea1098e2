"""How much a worker asks of one host."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from rota.queue.circuits import Rules

_SECOND = timedelta(seconds=1)
# A busy loop is late by some milliseconds: a place must be good for as long, or it is never met.
_SHORTEST = timedelta(milliseconds=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The same for every host."""

    rate: int = 0
    """Requests a second, over all workers and tenants; 0 for no limit."""
    concurrency: int = 100
    """Requests at once from this worker; 0 for no limit."""
    circuit: Rules = field(default_factory=Rules)

    @property
    def lateness(self) -> timedelta:
        """How long a place stays good: started later, it might meet with the next ones."""
        return max(_SECOND // self.rate, _SHORTEST)

    @property
    def interval(self) -> timedelta:
        """From one place to the next, where the rate is limited.

        A little more than a part of a second when places stay good for longer than that: then even
        with the latest of one second and the promptest of the next, no second has more than the
        rate, and one.
        """
        # Rounded up to a microsecond: rounded down, the cap would be passed in the long run.
        return -(-(_SECOND + self.lateness - _SECOND // self.rate) // self.rate)
