"""Preparing claims that are held ahead of their instant, in the time that nothing else wants."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Final

from rota.workers.caller import PreparesEarly
from rota.workers.inflight import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.db.server_clock import DatabaseClock
    from rota.workers.caller import Caller
    from rota.workers.inflight import Inflight, InflightClaim

SLICE: Final = 0.002
"""Seconds for which claims are prepared before others have their turn."""
_PAUSE: Final = 0.005
"""While attempts are being started, nothing is prepared."""


class Preparer:
    """Has the calls of claims prepared, one after another, as they came."""

    def __init__(
        self, callers: Mapping[str, Caller], *, inflight: Inflight, time: DatabaseClock
    ) -> None:
        self._callers = {
            lane: each for lane, each in callers.items() if isinstance(each, PreparesEarly)
        }
        self._inflight = inflight
        self._time = time
        self._waiting: deque[InflightClaim] = deque()
        self._timer: asyncio.Handle | None = None

    def add(self, held: InflightClaim) -> None:
        """Prepare it soon."""
        if held.claim.lane in self._callers:
            self._waiting.append(held)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_soon(self._work)

    def close(self) -> None:
        """Prepare nothing more."""
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _work(self) -> None:
        loop = asyncio.get_running_loop()
        if self._inflight.may_begin > 0:
            self._timer = loop.call_later(_PAUSE, self._work)
            return
        until = loop.time() + SLICE
        while self._waiting:
            self._prepare(self._waiting.popleft())
            if loop.time() >= until:
                break
        self._timer = loop.call_later(0, self._work) if self._waiting else None

    def _prepare(self, held: InflightClaim) -> None:
        if held.phase is not Phase.SCHEDULED:
            return
        wait = self._time.until(held.start_at).total_seconds()
        caller = self._callers[held.claim.lane]
        held.call = caller.prepare_early(held.claim, held.schedule, wait)
