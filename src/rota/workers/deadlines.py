"""Ending what has run out of time, with one timer for all of it.

A timer for each call would cost as much as a short task itself. Here a call is a member of a set,
and the one timer is set for the earliest end; most calls are gone long before that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable


class Ending(Protocol):
    """Something with an end in time. It is told apart by its identity."""

    ends: float
    """By the clock of its `Deadlines`. May be set later while it is a member, never sooner."""

    def time_out(self) -> None:
        """Its time is up."""
        ...


E = TypeVar("E", bound=Ending)


class Deadlines(Generic[E]):
    """What is under way. Belongs to one loop. `now` reads the clock by which its ends are told."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._members: set[E] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = float("inf")

    def add(self, member: E) -> None:
        """End it (`time_out`) when its deadline has come, unless it is removed before."""
        self._members.add(member)
        if member.ends < self._set_for:
            self._arm(member.ends)

    def remove(self, member: E) -> None:
        self._members.discard(member)

    def close(self) -> None:
        self._members.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._set_for = at
        wait = max(0.0, at - self._now())
        self._timer = asyncio.get_running_loop().call_later(wait, self._ring)

    def _ring(self) -> None:
        self._timer, self._set_for = None, float("inf")
        now = self._now()
        for member in [each for each in self._members if each.ends <= now]:
            self._members.discard(member)
            member.time_out()
        # Extended ones are among the rest: they are looked at again when their new time has come.
        rest = min((each.ends for each in self._members), default=None)
        if rest is not None:
            self._arm(rest)
