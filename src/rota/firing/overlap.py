"""What a firing does when the one before it has not ended. Pure.

Decided when the slot comes due, not when it is looked at ahead of time, and valid only if the
schedule still is as busy, or as idle, when it is written: the statement that fires compares.
"""

from __future__ import annotations

import enum
from typing import Literal

Policy = Literal["skip", "queue", "cancel_previous", "allow"]


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


def entry(policy: Policy, *, live: bool, catch_up: bool) -> Entry:
    """How the firings of a schedule enter, given whether an earlier one is live.

    The catch-up firings of an outage run one after another whatever the policy: it speaks of slots
    as they come due, and they did not come due one by one.
    """
    if not live or policy == "allow":
        return Entry.FREE
    if catch_up or policy == "queue":
        return Entry.BEHIND
    return Entry.SKIPPED if policy == "skip" else Entry.INSTEAD


def needs_second_look(policy: Policy, *, live: bool, ahead: bool) -> bool:
    """Whether it is too early to decide: what is live now may have ended at the due instant."""
    return live and ahead and policy != "allow"
