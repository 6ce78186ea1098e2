"""How long to wait before trying again. Pure: the caller draws the random number and waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double from `first_interval` up to `max_interval`."""

    first_interval: timedelta = timedelta(milliseconds=50)
    max_interval: timedelta = timedelta(seconds=2)

    def interval(self, failures: int, *, draw: float) -> timedelta:
        """The wait after `failures` failures in a row (1 or more), for a `draw` in [0, 1).

        Between half and the whole of the doubled interval: processes that failed together must not
        come back together, and none may come back at once.
        """
        if failures < 1:
            raise ValueError(f"expected at least 1 failure, got {failures}")
        # The exponent is bounded so that a long outage cannot overflow a timedelta.
        whole = min(self.first_interval * 2 ** min(failures - 1, 20), self.max_interval)
        return whole * (0.5 + draw / 2)


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a whole transaction is tried, and how the waits between grow."""

    tries: int = 8
    backoff: Backoff = Backoff()

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ValueError(f"expected at least 1 try, got {self.tries}")


ONCE: Final = Retry(tries=1)
"""For loops whose next pass looks again at how things stand by then."""
