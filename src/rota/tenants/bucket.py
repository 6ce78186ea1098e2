"""Token buckets: how many requests there may be, on average and at once. Pure.

Two of them, one behind the other. The `Bucket` is the tenant's, kept in the database for all
nodes: it fills at the tenant's rate, up to its burst. A `Purse` is what one node has taken out of
it by the handful, so that a request costs a subtraction and not a question to the database.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple

GROW_SECONDS: Final = 0.1
"""A handful that was spent within this was too small: the next is twice as large."""
SHRINK_SECONDS: Final = 1.0
"""A handful that lasted this long was too large: what one node hoards, others lack."""
KEEP_SECONDS: Final = 5.0
"""What a node has not spent by then is lost: a burst of old tokens would come on top of the new."""
ASK_SECONDS: Final = 1.0
"""However long a tenant has to wait, the bucket is asked again after this: its rate may be new."""
MOST: Final = 100
"""The largest handful."""

_SLACK = 1e-6  # of a token: what floating point loses must not cost a whole one


@dataclass(frozen=True, slots=True)
class Taken:
    """What a bucket gave."""

    count: int
    ahead: float
    """By how many seconds the bucket is behind a full one, afterwards."""
    retry_after: float
    """Seconds until there are as many as were needed, or one more; 0 when there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """`rate` tokens a second, of which at most `burst` are kept."""

    rate: float
    burst: int

    def __post_init__(self) -> None:
        if not (self.rate > 0 and self.burst >= 1):
            got = f"{self.rate} and {self.burst}"
            raise ValueError(f"expected a rate above 0 and a burst from 1, got {got}")

    @property
    def handful(self) -> int:
        """The most that one node takes at once: a tenth of a second's, so that others get some."""
        return max(1, min(MOST, int(self.rate * GROW_SECONDS)))

    def take(self, wanted: int, *, ahead: float, least: int = 1) -> Taken:
        """Up to so many tokens out of a bucket that lacks `ahead` seconds of being full.

        None when there are not at least so many: whoever needs them all waits for them all.
        """
        # Never emptier than empty: after a slower rate, or a step of the clock, it would stay shut.
        ahead = min(max(0.0, ahead), self.burst / self.rate)
        there = math.floor(self.burst - ahead * self.rate + _SLACK)
        count = min(wanted, there) if there >= least else 0
        ahead += count / self.rate
        missing = ((1 if count else least) - (self.burst - ahead * self.rate)) / self.rate
        return Taken(count, ahead, missing if missing > _SLACK else 0.0)


class _Refused(NamedTuple):
    """How many tokens there were not, and until when that is believed."""

    needed: int
    retry_at: float
    ask_at: float


class Purse:
    """One node's tokens of one tenant. `now` is any clock that never goes back, in seconds."""

    __slots__ = ("_ask_at", "_filled_at", "_many", "_retry_at", "handful", "tokens")

    def __init__(self) -> None:
        self.tokens = 0
        self.handful = 1
        """How many to ask for next."""
        self._filled_at = -math.inf
        self._retry_at = -math.inf
        self._ask_at = -math.inf
        self._many = _Refused(0, -math.inf, -math.inf)

    def spend(self, now: float) -> bool:
        """Whether there was a token; it is gone."""
        if now - self._filled_at > KEEP_SECONDS:
            self.tokens = 0
        if self.tokens == 0:
            return False
        self.tokens -= 1
        return True

    def wait(self, now: float) -> float | None:
        """For how many seconds there is nothing to be had; None when the bucket may be asked."""
        return None if now >= self._ask_at else max(0.0, self._retry_at - now)

    def take(self, most: int, now: float) -> int:
        """Up to so many tokens; they are gone."""
        if now - self._filled_at > KEEP_SECONDS:
            self.tokens = 0
        taken = min(most, self.tokens)
        self.tokens -= taken
        return taken

    def refused(self, count: int, now: float, retry_after: float) -> None:
        """Note that the bucket had fewer than so many."""
        ask_at = now + min(retry_after, ASK_SECONDS)
        self._many = _Refused(count, now + retry_after, ask_at)

    def wait_for(self, count: int, now: float) -> float | None:
        """For how many seconds there are not so many; None when the bucket may be asked."""
        last = self._many
        known = count >= last.needed and now < last.ask_at
        return max(0.0, last.retry_at - now) if known else None

    def is_low(self, now: float) -> bool:
        """Whether to ask for more before the last is spent, so that nobody waits for it."""
        return self.handful > 1 and self.tokens <= self.handful // 2 and now >= self._ask_at

    def fill(self, now: float, taken: Taken, most: int) -> None:
        """Put in what the bucket gave. The next handful is as large as this one went fast."""
        lasted = now - self._filled_at
        if taken.count == 0:
            self._retry_at = now + taken.retry_after
            self._ask_at = now + min(taken.retry_after, ASK_SECONDS)
            return
        if lasted < GROW_SECONDS:
            self.handful *= 2
        elif lasted > SHRINK_SECONDS:
            self.handful //= 2
        self.handful = max(1, min(self.handful, most))
        self.tokens += taken.count
        self._filled_at = now
