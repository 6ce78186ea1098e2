"""Carrying what runs say about their progress to the database: once a second, all at once."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.queue import heartbeat

if TYPE_CHECKING:
    import asyncio
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.workers.tasks.context import Context

INTERVAL: Final = timedelta(seconds=1)


class Progress:
    """Takes words from any thread; the last of each run counts."""

    def __init__(
        self, db: Database, worker: UUID, *, loop: asyncio.AbstractEventLoop, clock: Clock
    ) -> None:
        self._db = db
        self._worker = worker
        self._loop = loop
        self._clock = clock
        self._said: dict[UUID, heartbeat.Progress] = {}
        self._task: asyncio.Task[None] | None = None

    def say(self, context: Context, fraction: float | None, note: str | None) -> None:
        """Write it down soon. From any thread."""
        id_ = context.firing_id
        earlier = self._said.get(id_)
        if earlier is not None and earlier[1] == context.attempt:
            fraction = earlier[2] if fraction is None else fraction
            note = earlier[3] if note is None else note
        self._said[id_] = (id_, context.attempt, fraction, note)
        if self._task is None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._begin)

    def forget(self, firing_id: UUID) -> None:
        """Its run is over: nobody needs to know how far it was."""
        self._said.pop(firing_id, None)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        if self._task is None and self._said:
            self._task = self._loop.create_task(self._write(), name="rota progress")

    async def _write(self) -> None:
        try:
            while self._said:
                await self._write_once()
                await self._clock.sleep(INTERVAL)
        finally:
            self._task = None

    async def _write_once(self) -> None:
        batch = dict(self._said)
        try:
            async with self._db.transaction() as tx:
                written = await heartbeat.record_progress(tx, self._worker, list(batch.values()))
        except Exception:  # noqa: BLE001 - a word about progress is not worth more than this
            return
        for id_ in written:
            # Unless it has reported more since.
            if self._said.get(id_) == batch[id_]:
                del self._said[id_]
