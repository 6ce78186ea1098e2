"""Long polls: requests that wait for work, without a connection to the database while they do.

News (NOTIFY) wakes those who wait for its lane. News is a hint: what the schedule itself puts into
the queue makes none, so whoever waits looks again from time to time, and when the next is due.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from datetime import timedelta
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, Protocol
from uuid import UUID, uuid4

from rota.api.problems import Refused
from rota.db import Cause
from rota.db.locks import QUEUE
from rota.schedules.schedule_cache import ScheduleCache

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from rota.db import Wake

MOST: Final = 500
MOST_OF_TENANT: Final = 100
_INTERVAL: Final = timedelta(milliseconds=500)
_LOOKS_A_SECOND: Final = 100
_HEAR_INTERVAL: Final = timedelta(minutes=1)


class News(Protocol):
    """Where news comes from: a subscription to `QUEUE`."""

    async def wait(self, timeout: timedelta, /) -> Wake:  # noqa: ASYNC109 - a subscription's
        """The next news, or none in time."""
        ...


class Polls:
    """The requests of one process that wait for work, and in whose name they claim it."""

    def __init__(self, *, most: int = MOST, most_of_tenant: int = MOST_OF_TENANT) -> None:
        self.worker: Final[UUID] = uuid4()
        """Holds what this process hands out. It has no row in `nodes`: what it holds is not lost
        with the process, but only when its time runs out."""
        self.cache = ScheduleCache()
        self.is_closed = False
        self._most = most
        self._most_of_tenant = most_of_tenant
        self._bells: dict[str, set[asyncio.Event]] = {}
        self._waiting: Counter[UUID] = Counter()
        self._heard: Wake | None = None

    def __len__(self) -> int:
        """How many wait."""
        return self._waiting.total()

    @property
    def interval(self) -> timedelta:
        """How long to wait between two looks: longer when many wait, or they would do no else."""
        return max(_INTERVAL, timedelta(seconds=len(self) / _LOOKS_A_SECOND))

    @contextmanager
    def waiting(self, tenant_id: UUID, lane: str) -> Generator[asyncio.Event]:
        """A place to wait in, with a bell that rings for the lane; refused when all are taken."""
        if len(self) >= self._most or self._waiting[tenant_id] >= self._most_of_tenant:
            raise _full(self._most_of_tenant)
        bell = asyncio.Event()
        self._waiting[tenant_id] += 1
        self._bells.setdefault(lane, set()).add(bell)
        try:
            yield bell
        finally:
            self._waiting[tenant_id] -= 1
            self._waiting += Counter()  # forgets those at zero
            self._bells[lane].discard(bell)
            if not self._bells[lane]:
                del self._bells[lane]

    async def hear(self, news: News) -> None:
        """Wait for news; `pass_on` rings the bells."""
        self._heard = await news.wait(_HEAR_INTERVAL)

    async def pass_on(self) -> None:
        """Wake those whom the last news concerns."""
        heard, self._heard = self._heard, None
        if heard is None:
            return
        if heard.cause is Cause.MISSED:
            self.ring(list(self._bells))
        else:
            self.ring({each.payload for each in heard.notices if each.channel == QUEUE})

    def ring(self, lanes: Iterable[str]) -> None:
        """Wake all who wait for one of these lanes."""
        for lane in lanes:
            for bell in self._bells.get(lane, ()):
                bell.set()

    def close(self) -> None:
        """The process is about to stop: nobody waits any longer."""
        self.is_closed = True
        self.ring(list(self._bells))


def _full(most: int) -> Refused:
    return Refused(
        HTTPStatus.TOO_MANY_REQUESTS,
        f"expected at most {most} requests of a tenant that wait for work here, got more: "
        'ask with "wait": 0, or later',
        headers={"Retry-After": "1"},
    )
