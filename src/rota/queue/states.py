"""The states of a firing, and which may follow which. Written down once, here."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Mapping

State = Literal["waiting", "running", "retrying", "blocked"]
"""Of a live firing, a row of `queue`: `running` is claimed, perhaps ahead of its instant."""

Status = Literal["succeeded", "dead", "skipped", "missed", "cancelled"]
"""Of a firing that has ended, a row of `firings`."""

LIVE: Final[tuple[State, ...]] = ("waiting", "running", "retrying", "blocked")
ENDED: Final[tuple[Status, ...]] = ("succeeded", "dead", "skipped", "missed", "cancelled")

TRANSITIONS: Final[Mapping[str, frozenset[str]]] = MappingProxyType(
    {
        # Behind another firing of its schedule; freed when that one ends.
        "blocked": frozenset({"waiting", "skipped", "cancelled"}),
        "waiting": frozenset({"running", "skipped", "cancelled"}),
        # Back to waiting when it was given back or its worker is gone.
        "running": frozenset({"waiting", "retrying", *ENDED} - {"missed"}),
        "retrying": frozenset({"running", "skipped", "cancelled"}),
        # An end is an end. A missed slot was never in the queue at all.
        **{status: frozenset[str]() for status in ENDED},
    }
)

WITHDRAW_REASONS: Final = frozenset({"paused", "edited", "deleted"})
"""Withdraw a firing only while its attempt has not begun. Any other reason ends a running one too.
"""

DETACHED: Final = UUID(int=0)
"""The holder of a claim whose target has accepted the work and reports its end later.

The row stays `running`, so that the overlap policy sees it, but no worker holds it: it uses no
slot, no heartbeat extends it, and it is not rescued before its time is up (`external_claims`).
"""
