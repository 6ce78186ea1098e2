"""What was handled, is being handled, and by which fence: the memory of a receiver.

The default remembers in this process. With several processes, or to remember over restarts, put
Redis or SQL behind `Store`; its two methods are all that a receiver asks for.
"""

from __future__ import annotations

import enum
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from rota.clock import SystemClock

if TYPE_CHECKING:
    from rota.clock import Clock

SEEN_TTL: Final = timedelta(days=2)
"""Longer than Rota tries a firing again by default."""
BUSY_TTL: Final = timedelta(hours=1)


class Begun(enum.Enum):
    """What becomes of a delivery."""

    STARTED = "started"
    """Handle it, then call `finish`."""
    DUPLICATE = "duplicate"
    """The firing was handled before."""
    BUSY = "busy"
    """The firing is being handled right now."""
    STALE = "stale"
    """A newer fence has been seen for its schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One request that was verified."""

    firing_id: str
    """The same for every attempt; signed."""
    schedule_id: str | None = None
    fence: int | None = None
    """None for a run that somebody asked for."""
    token: str
    """Of this delivery alone: tells two deliveries of one firing apart."""


class Store(Protocol):
    """The contract. Methods may be called by several threads at once, and may wait (for a network).

    Each must be atomic: of two deliveries of a firing that come together, one is STARTED.
    """

    def begin(self, delivery: Delivery) -> Begun:
        """Decide, in this order, and remember what was decided:

        1. DUPLICATE when the firing was finished with `ok`.
        2. BUSY when another delivery of it was started and not finished, for as long as handling
           may take: a process that died must not block its firing for ever.
        3. STALE when `schedule_id` and `fence` are given and a higher fence was started for it.
        4. STARTED otherwise; its token and its fence are remembered.
        """
        ...

    def finish(self, delivery: Delivery, *, ok: bool) -> None:
        """The delivery that was STARTED has come to its end.

        With `ok` its firing counts as handled, and should for longer than Rota tries again.
        Otherwise the firing is free again, unless another token has it by now.
        """
        ...


class _Entry(NamedTuple):
    token: str | None
    """Who handles it; None when it was handled."""
    until: float


class MemoryStore:
    """Remembers in this process: up to `max_firings` firings and `max_schedules` fences.

    Beyond those the oldest are forgotten, so that strangers' traffic cannot fill the memory.
    """

    def __init__(
        self,
        *,
        seen_ttl: timedelta = SEEN_TTL,
        busy_ttl: timedelta = BUSY_TTL,
        max_firings: int = 100_000,
        max_schedules: int = 100_000,
        clock: Clock | None = None,
    ) -> None:
        self._seen_ttl = seen_ttl.total_seconds()
        self._busy_ttl = busy_ttl.total_seconds()
        self._max_firings = max_firings
        self._max_schedules = max_schedules
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._firings: OrderedDict[str, _Entry] = OrderedDict()
        self._fences: OrderedDict[str, int] = OrderedDict()

    def begin(self, delivery: Delivery) -> Begun:
        with self._lock:
            now = self._clock.monotonic()
            entry = self._firings.get(delivery.firing_id)
            if entry is not None and now < entry.until:
                return Begun.DUPLICATE if entry.token is None else Begun.BUSY
            if not self._raise_fence(delivery):
                return Begun.STALE
            self._put(delivery.firing_id, _Entry(delivery.token, now + self._busy_ttl))
            self._forget(now)
            return Begun.STARTED

    def finish(self, delivery: Delivery, *, ok: bool) -> None:
        with self._lock:
            now = self._clock.monotonic()
            if ok:
                self._put(delivery.firing_id, _Entry(None, now + self._seen_ttl))
                return
            entry = self._firings.get(delivery.firing_id)
            if entry is not None and entry.token == delivery.token:
                del self._firings[delivery.firing_id]

    def __len__(self) -> int:
        """How many firings are remembered."""
        return len(self._firings)

    def _put(self, firing_id: str, entry: _Entry) -> None:
        self._firings[firing_id] = entry
        self._firings.move_to_end(firing_id)

    def _raise_fence(self, delivery: Delivery) -> bool:
        """Whether the delivery's fence is the highest so far; it is remembered if so."""
        schedule, fence = delivery.schedule_id, delivery.fence
        if schedule is None or fence is None:
            return True
        if fence < self._fences.get(schedule, fence):
            return False
        self._fences[schedule] = fence
        self._fences.move_to_end(schedule)
        if len(self._fences) > self._max_schedules:
            self._fences.popitem(last=False)
        return True

    def _forget(self, now: float) -> None:
        """The oldest, when there are too many or their time is over: a few each time."""
        while len(self._firings) > self._max_firings:
            self._firings.popitem(last=False)
        for _ in range(2):
            oldest = next(iter(self._firings))
            if self._firings[oldest].until > now:
                return
            del self._firings[oldest]
