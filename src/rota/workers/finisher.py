"""Recording outcomes in batches, behind the work and never in its way.

The first outcome after a quiet moment is recorded at once; under load one statement takes all that
came within 50 ms, up to 1,000. While the database is away outcomes wait here: those whose claims
run out meanwhile are refused in the end, and somebody else has made them good.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from rota.clock import set_or_late
from rota.db import Backoff
from rota.errors import TemporaryError
from rota.queue.chains import Chains
from rota.queue.finish import Settled, Tried, settle
from rota.workers.capture_budget import CaptureBudget
from rota.workers.events import WorkerTroubled

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database
    from rota.events import Bus
    from rota.queue.finish import Settlement

FLUSH_INTERVAL: Final = timedelta(milliseconds=50)
HERD_INTERVAL: Final = timedelta(milliseconds=500)
"""While a herd is being begun it is not held up by the recording of what is done already: what is
not recorded when a worker is lost is done again, so this is as long as that may last."""
HERD: Final = 10_000
"""So many that are due and not begun are one."""
_GLANCE: Final = timedelta(milliseconds=10)
MAX_ROWS: Final = 1_000
MAX_BYTES: Final = 8 * 1024 * 1024
"""Of one statement: responses may have a megabyte each."""
MAX_PENDING_BYTES: Final = 64 * 1024 * 1024
"""Beyond this, nothing more is begun."""


class Finisher:
    """Takes settlements; says which were accepted.

    `is_herd` says whether at least so many are due and not begun. `report` is called after each
    batch, `made_room` when too much had been waiting and does not any more.
    """

    def __init__(
        self,
        db: Database,
        worker: UUID,
        *,
        rows: asyncio.Lock,
        clock: Clock,
        bus: Bus,
        on_settled: Callable[[Sequence[Settlement], Settled], None],
        is_herd: Callable[[int], bool] = lambda _: False,
        report: Callable[[], Awaitable[None]] | None = None,
        made_room: Callable[[], None] = lambda: None,
        capture_budget: int | None = None,
    ) -> None:
        self._db = db
        self._worker = worker
        self._rows = rows
        self._clock = clock
        self._bus = bus
        self._on_settled = on_settled
        self._is_herd = is_herd
        self._report = report
        self._made_room = made_room
        self._pending: deque[tuple[Settlement, int]] = deque()
        """With their sizes."""
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._enough = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._flushed_at = float("-inf")
        self._backoff = Backoff()
        self._chains = Chains()
        self._captures = CaptureBudget(db, clock, default=capture_budget)

    def add(self, settlement: Settlement) -> None:
        """Record it soon."""
        size = settlement.size
        if not self._pending:
            self._empty.clear()
            self._arrived.set()
        self._pending.append((settlement, size))
        self._bytes += size
        if len(self._pending) >= MAX_ROWS or self._bytes >= MAX_BYTES:
            self._enough.set()

    @property
    def full(self) -> bool:
        """Whether so much is waiting that nobody should make more: `made_room` says when that is
        over."""
        return self._bytes >= MAX_PENDING_BYTES

    async def drained(self) -> None:
        """Return when everything that was added has been recorded or refused."""
        await self._empty.wait()

    async def run(self) -> None:
        """Record what comes, until cancelled."""
        while True:
            await self._arrived.wait()
            await self._gather()
            await self._flush(*self._take())

    async def _gather(self) -> None:
        """Let more come, but no longer than the interval after the last time."""
        since = timedelta(seconds=min(self._clock.monotonic() - self._flushed_at, 60.0))
        if since < FLUSH_INTERVAL:
            await set_or_late(self._enough, FLUSH_INTERVAL - since, self._clock)
        if not self._is_herd(HERD):
            return
        waited = timedelta()
        # To its end: what is left of a herd is as late as all that is recorded before it is begun.
        while self._is_herd(1) and self._bytes < MAX_BYTES and waited < HERD_INTERVAL:
            waited += _GLANCE
            await self._clock.sleep(_GLANCE)

    def _take(self) -> tuple[list[Settlement], int]:
        """As many as one statement takes, and their size."""
        batch: list[Settlement] = []
        total = 0
        while self._pending and len(batch) < MAX_ROWS:
            settlement, size = self._pending[0]
            if batch and total + size > MAX_BYTES:
                break
            self._pending.popleft()
            batch.append(settlement)
            total += size
        if not self._pending:
            self._arrived.clear()
        if len(self._pending) < MAX_ROWS:
            self._enough.clear()
        return batch, total

    async def _flush(self, batch: list[Settlement], size: int) -> None:
        self._flushed_at = self._clock.monotonic()
        await self._record(await self._admitted(batch))
        await self._aside(self._captures.count)
        if self._report is not None:
            await self._aside(self._report)
        was_full = self.full
        self._bytes -= size
        if was_full and not self.full:
            self._made_room()
        if not self._pending:
            self._empty.set()

    async def _record(self, batch: list[Settlement]) -> None:
        """Until it is done: an outcome is never dropped while there is a chance to record it."""
        failures = 0
        while True:
            try:
                settled = await self._settle(batch)
            except TemporaryError as error:
                failures += 1
                self._troubled(error)
                await self._clock.sleep(self._backoff.interval(failures, draw=random.random()))
            except Exception as error:  # noqa: BLE001 - one bad row must not hold up the others
                self._troubled(error)
                await self._record_apart(batch)
                return
            else:
                self._on_settled(batch, settled)
                return

    async def _admitted(self, batch: list[Settlement]) -> list[Settlement]:
        """The batch as far as its tenants' budgets go; as it is while nobody knows of these."""
        try:
            return await self._captures.admit(batch)
        except Exception as error:  # noqa: BLE001 - no budget is worth an outcome
            self._troubled(error)
            return batch

    async def _aside(self, work: Callable[[], Awaitable[None]]) -> None:
        """After the outcomes, and apart from them: no count may hold up a record."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - what was not told is told the next time
            self._troubled(error)

    async def _settle(self, batch: Sequence[Settlement]) -> Settled:
        # One at a time with the heartbeat: both lock the same rows, each in its own order.
        async with self._rows, self._db.transaction() as tx:
            return await settle(tx, self._worker, batch, self._chains)

    async def _record_apart(self, batch: list[Settlement]) -> None:
        """The database will not take these together: find the one, and record it without detail."""
        if len(batch) > 1:
            for each in batch:
                await self._record([each])
            return
        bare = _bare(batch[0])
        if bare != batch[0]:
            await self._record([bare])
            return
        # Not even so. Its claim runs out, and it is rescued.
        self._on_settled(batch, Settled(frozenset(), 0))

    def _troubled(self, error: Exception) -> None:
        self._bus.publish(
            WorkerTroubled(
                worker=self._worker, part="finish", error=f"{type(error).__name__}: {error}"
            )
        )


def _bare(settlement: Settlement) -> Settlement:
    """The same outcome, without what came from outside."""
    tried = settlement.tried
    if tried is not None:
        tried = Tried(outcome=tried.outcome, error="the details could not be recorded")
    return msgspec.structs.replace(settlement, tried=tried, excerpt=None)
