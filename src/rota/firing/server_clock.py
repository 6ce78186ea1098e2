"""The database's clock, as this process can know it between two questions. Pure."""

from __future__ import annotations

from collections import deque
from datetime import datetime, timedelta

_SAMPLES = 50
_STEP = timedelta(milliseconds=500)


class ServerClock:
    """What the database's clock reads, from answers and the monotonic time they took.

    Of the last answers the quickest tells most: it was under way for the shortest time. An answer
    that the others cannot explain means that the server's clock was set, and starts afresh.
    """

    def __init__(self) -> None:
        self._samples: deque[tuple[timedelta, datetime]] = deque(maxlen=_SAMPLES)
        self._zero: datetime | None = None

    def tell(self, *, asked_at: float, answered_at: float, now: datetime) -> None:
        """The server said `now` to a question asked and answered at these monotonic times."""
        took = timedelta(seconds=answered_at - asked_at)
        zero = now - timedelta(seconds=(asked_at + answered_at) / 2)
        if self._zero is not None and abs(zero - self._zero) > took + _STEP:
            self._samples.clear()
        self._samples.append((took, zero))
        self._zero = min(self._samples)[1]

    def now(self, monotonic: float) -> datetime | None:
        """What it reads at this monotonic time; None before the first answer."""
        return None if self._zero is None else self._zero + timedelta(seconds=monotonic)

    def offset(self, *, monotonic: float, local: datetime) -> timedelta:
        """How far it is ahead of the local wall clock; nothing is known as nothing."""
        now = self.now(monotonic)
        return timedelta() if now is None else now - local
