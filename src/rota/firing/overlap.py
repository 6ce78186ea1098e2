"""What a firing does when the one before it has not ended. Pure.

Decided when the slot comes due, not when it is looked at ahead of time, and valid only if the
schedule still is as busy, or as idle, when it is written: the statement that fires compares.
"""

from __future__ import annotations

import enum
from typing import Final, Literal

Policy = Literal["skip", "queue", "cancel_previous", "allow"]

MOST_LIVE: Final = 100
"""With so many live firings no further one is queued behind them (I12): a schedule whose runs take
longer than its period would fill the database, and never come to an end."""


class Entry(enum.Enum):
    """How a firing enters the queue."""

    FREE = "free"
    """It waits for nothing but a worker."""
    BEHIND = "behind"
    """It is blocked until what is live has ended."""
    SKIPPED = "skipped"
    """It does not: it is recorded as skipped."""
    INSTEAD = "instead"
    """What is live is cancelled; it is blocked until that has ended."""


def entry(policy: Policy, *, live: int, catch_up: bool) -> Entry:
    """How the firings of a schedule enter, given how many earlier ones are live.

    The catch-up firings of an outage run one after another whatever the policy: it speaks of slots
    as they come due, and they did not come due one by one.
    """
    if not live or policy == "allow":
        return Entry.FREE
    if catch_up or (policy == "queue" and live < MOST_LIVE):
        return Entry.BEHIND
    return Entry.INSTEAD if policy == "cancel_previous" else Entry.SKIPPED


def reason(policy: Policy) -> str:
    """Why a firing of such a schedule was skipped."""
    return "overlap_queue_full" if policy == "queue" else "overlap"


def needs_second_look(policy: Policy, *, live: int, ahead: bool) -> bool:
    """Whether it is too early to decide: what is live now may have ended at the due instant."""
    return live > 0 and ahead and policy != "allow"
