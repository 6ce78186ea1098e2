"""Waiting for firings to end: one look at the database for all that a process waits for.

Often at first, for tasks that take a moment, and then less and less. When a worker in this same
process ends one of them, the look is taken at once.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import set_or_late
from rota.errors import TemporaryError
from rota.history.outcomes import outcomes
from rota.workers.events import FiringFinished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from rota.history.outcomes import Outcome
    from rota.library.running import Running

SHORTEST: Final = timedelta(milliseconds=20)
LONGEST: Final = timedelta(seconds=1)
_GROWTH = 1.5


def waiting_of(running: Running) -> Waiting:
    """The one of this process and this database."""
    return running.db.companion(Waiting, lambda: Waiting(running))


class Waiting:
    """All that somebody in this process waits for. Belongs to one loop."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._wanted: dict[UUID, set[asyncio.Future[Outcome | None]]] = {}
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._interval = SHORTEST

    async def outcome(self, firing_id: UUID) -> Outcome | None:
        """How the firing ended, once it has; None when nobody knows of it."""
        future: asyncio.Future[Outcome | None] = asyncio.get_running_loop().create_future()
        self._wanted.setdefault(firing_id, set()).add(future)
        self._interval = SHORTEST
        self._look.set()
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="rota results")
        try:
            return await future
        finally:
            others = self._wanted.get(firing_id)
            if others is not None:
                others.discard(future)
                if not others:
                    del self._wanted[firing_id]

    async def outcomes(self, firing_ids: Sequence[UUID]) -> list[Outcome | None]:
        """The same of many, in order."""
        return await asyncio.gather(*(self.outcome(each) for each in firing_ids))

    async def _run(self) -> None:
        unsubscribe = self._listen()
        try:
            while self._wanted:
                self._look.clear()
                await self._look_once()
                if self._wanted:
                    await set_or_late(self._look, self._interval, self._running.clock)
                    self._interval = min(self._interval * _GROWTH, LONGEST)
        finally:
            unsubscribe()
            self._task = None

    def _listen(self) -> Callable[[], None]:
        def heard(event: FiringFinished) -> None:
            if event.firing_id in self._wanted:
                self._look.set()

        return self._running.bus.subscribe(FiringFinished, heard)

    async def _look_once(self) -> None:
        wanted = list(self._wanted)
        try:
            seen = await self._running.db.run(lambda tx: outcomes(tx, wanted), read_only=True)
        except TemporaryError:
            return  # the next look may do better
        except Exception as error:  # noqa: BLE001 - whoever waits is told
            for id_ in wanted:
                self._tell(id_, error)
            return
        for id_, outcome in seen.ended.items():
            self._tell(id_, outcome)
        for id_ in seen.unknown:
            self._tell(id_, None)

    def _tell(self, firing_id: UUID, what: Outcome | Exception | None) -> None:
        for each in self._wanted.pop(firing_id, ()):
            if each.done():
                continue
            if isinstance(what, Exception):
                each.set_exception(what)
            else:
                each.set_result(what)
