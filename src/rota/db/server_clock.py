"""The database's clock, as far as it can be known from here.

The server reads its clock at some moment between our question and its answer. So the time that has
passed since the *answer* gives an instant the server's clock has certainly reached: a lower bound,
at most one round trip behind. Whoever starts by it is never early.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.events import Event

if TYPE_CHECKING:
    from rota.clock import Clock
    from rota.db.tx import Tx

_ASK: LiteralString = "SELECT clock_timestamp()"

# Long enough to catch a quick round trip, short enough that two clocks do not drift apart in it.
_WINDOW = 10.0
# A disagreement beyond what drift can do within the window: somebody has set the clock.
_STEP = 0.05

ALARMING_STEP: Final = timedelta(seconds=1)
"""Steps beyond this are told: what was due in between comes late, or is waited for again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockStepped(Event):
    """The database's clock went forward or back, as seen by our monotonic one.

    Somebody has set it, NTP has stepped it, or this machine slept meanwhile.
    """

    by: timedelta
    """At least; positive when it went forward."""
    seen_by: str
    """scheduler or worker."""


@dataclass(frozen=True, slots=True)
class _Sample:
    server_at: datetime
    asked: float
    answered: float

    @property
    def round_trip(self) -> float:
        return self.answered - self.asked


class DatabaseClock:
    """Tells the database's time between questions, by the local monotonic clock."""

    def __init__(self, clock: Clock) -> None:
        self.local = self._clock = clock
        self._samples: deque[_Sample] = deque(maxlen=50)
        self._best: _Sample | None = None
        self._origin: datetime | None = None
        """What the database's clock showed, by the best answer, at the monotonic clock's start."""
        self._origin_seconds: float | None = None
        """The same in seconds since 1970."""
        self._step = timedelta()

    def now(self) -> datetime:
        """An instant that the database's clock has reached; the local one's until it was asked."""
        if self._origin is None:
            return self._clock.now()
        # By position: it is asked several times for each firing, and a keyword takes as long again.
        return self._origin + timedelta(0, self._clock.monotonic())

    def now_seconds(self) -> int:
        """`now` in whole seconds since 1970, for those who need no more of it."""
        if self._origin_seconds is None:
            return int(self._clock.now().timestamp())
        return int(self._origin_seconds + self._clock.monotonic())

    @property
    def offset(self) -> timedelta:
        """How far the database's clock is ahead of the local wall clock."""
        return self.now() - self._clock.now()

    def until(self, instant: datetime) -> timedelta:
        """How long to wait until the database's clock has certainly reached the instant."""
        return instant - self.now()

    @property
    def age(self) -> timedelta:
        """How long ago the database was last asked."""
        if not self._samples:
            return timedelta.max
        return timedelta(seconds=self._clock.monotonic() - self._samples[-1].answered)

    def alarm(self, seen_by: str) -> ClockStepped | None:
        """What there is to tell of the last answer; None when the clock went as it should."""
        if abs(self._step) <= ALARMING_STEP:
            return None
        return ClockStepped(by=self._step, seen_by=seen_by)

    async def ask(self, tx: Tx) -> bool:
        """Ask the database; whether its clock turned out to have been set."""
        asked = self._clock.monotonic()
        server_at: datetime = await tx.fetch_value(_ASK)
        return self.note(server_at, asked=asked, answered=self._clock.monotonic())

    def note(self, server_at: datetime, *, asked: float, answered: float) -> bool:
        """Take in an answer; whether the clock turned out to have been set."""
        sample = _Sample(server_at, asked, answered)
        self._step = timedelta() if self._best is None else self._step_between(self._best, sample)
        stepped = self._step != timedelta()
        if stepped:
            self._samples.clear()
        self._samples.append(sample)
        while self._samples[0].answered < answered - _WINDOW:
            self._samples.popleft()
        # The quickest answer leaves the least room for error.
        self._best = best = min(self._samples, key=lambda each: each.round_trip)
        self._origin = best.server_at - timedelta(seconds=best.answered)
        self._origin_seconds = best.server_at.timestamp() - best.answered
        return stepped

    @staticmethod
    def _at(sample: _Sample, monotonic: float) -> datetime:
        return sample.server_at + timedelta(seconds=monotonic - sample.answered)

    def _step_between(self, known: _Sample, fresh: _Sample) -> timedelta:
        """How far the clock was set, at least: as much as neither round trip can explain.

        Nothing when that is no more than drift can do.
        """
        ahead = (fresh.server_at - self._at(known, fresh.answered)).total_seconds()
        beyond = ahead - max(-fresh.round_trip, min(ahead, known.round_trip))
        return timedelta(seconds=beyond) if abs(beyond) > _STEP else timedelta()
