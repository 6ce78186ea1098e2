"""The kinds of trouble, and which of a channel's events each is told as. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ChannelEvent = Literal[
    "dead",
    "missed",
    "overdue",
    "moved",
    "limit",
    "recovered",
    "succeeded",
    "failing",
    "slow",
    "installation",
]
"""What a channel can subscribe to."""

Event = ChannelEvent | Literal["test"]
"""What a channel is notified of: a test is sent when it is asked for."""

DEFAULT_EVENTS: Final[tuple[Event, ...]] = (
    "dead",
    "missed",
    "overdue",
    "moved",
    "limit",
    "recovered",
)
INSTALLATION: Final[Event] = "installation"
"""Of the whole installation, and so for its operator alone."""
EVENTS: Final[tuple[Event, ...]] = (*DEFAULT_EVENTS, "succeeded", "failing", "slow", INSTALLATION)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of trouble."""

    name: str
    event: Event
    means: str
    """In a few words, for a title."""
    of_monitor: str = ""
    """The same of a monitor, where that differs."""
    is_notice: bool = False
    """It happened once: there is nothing to recover from."""

    @property
    def is_installation(self) -> bool:
        return self.event == INSTALLATION


KINDS: Final = {
    each.name: each
    for each in (
        Kind("dead", "dead", "firings have failed for good", "a ping reported a failure"),
        Kind("missed", "missed", "slots were missed", "an expected ping did not arrive"),
        Kind("overdue", "overdue", "a slot has passed and has not been fired"),
        Kind("unexplained", "overdue", "slots were not fired and not recorded", is_notice=True),
        Kind("unarmed", "overdue", "it was active and nothing was armed", is_notice=True),
        Kind("moved", "moved", "the next slot was moved by new rules of its zone", is_notice=True),
        Kind("failing", "failing", "many firings fail"),
        Kind("slow", "slow", "firings take almost as long as they may"),
        Kind("capture", "limit", "only excerpts of requests and responses are kept today"),
        Kind("stalled", INSTALLATION, "shards stand still"),
        Kind("behind", INSTALLATION, "a scheduler has fallen behind"),
        Kind("circuit", INSTALLATION, "a host fails, and is left alone"),
        Kind("flapping", INSTALLATION, "leases change hands too often"),
        Kind("deep", INSTALLATION, "too much waits for a worker"),
        Kind("double", INSTALLATION, "outcomes were refused: a target may have been called twice"),
        Kind("away", INSTALLATION, "the database was away"),
        Kind("outdated", INSTALLATION, "a scheduler has older zone rules than the installation"),
    )
}
OF_OUTCOMES: Final = ("dead", "missed")
"""Those that begin with a recorded outcome, and end with one that succeeded."""
NOTICES: Final = tuple(each.name for each in KINDS.values() if each.is_notice)
