"""Ending runs whose time is up, with one timer for all of them.

A timer for each run would cost as much as a short task itself. Here a run is a member of a set, and
the one timer is set for the earliest end; most runs are gone long before that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.workers.tasks.run import Run


class Deadlines:
    """The runs that are under way. Belongs to one loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: set[Run] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._set_for = float("inf")

    def add(self, run: Run) -> None:
        """End it (`Run.time_out`) when its deadline has come, unless it is removed before."""
        self._runs.add(run)
        if run.ends < self._set_for:
            self._arm(run.ends)

    def remove(self, run: Run) -> None:
        self._runs.discard(run)

    def close(self) -> None:
        self._runs.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, at: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._set_for = at
        wait = max(0.0, at - self._clock.monotonic())
        self._timer = asyncio.get_running_loop().call_later(wait, self._ring)

    def _ring(self) -> None:
        self._timer, self._set_for = None, float("inf")
        now = self._clock.monotonic()
        for run in [each for each in self._runs if each.ends <= now]:
            self._runs.discard(run)
            run.time_out()
        # Extended ones are among the rest: they are looked at again when their new time has come.
        rest = min((each.ends for each in self._runs), default=None)
        if rest is not None:
            self._arm(rest)
