"""Recording outcomes in batches, behind the work and never in its way.

The first outcome after a quiet moment is recorded at once; under load one statement takes all that
came within 50 ms, up to 1,000. While the database is away outcomes wait here: those whose claims
expire in the meantime are refused in the end, because another worker has attempted them again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from rota.clock import set_or_late
from rota.errors import TemporaryError
from rota.queue.complete import AttemptRecord, Settled, settle
from rota.queue.dependents import Upstreams
from rota.workers import events
from rota.workers.delivery.capture_budget import CaptureBudget

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from rota.queue.complete import Settlement
    from rota.workers.auto_pause import AutoPause
    from rota.workers.hosts.circuit_cache import CircuitCache
    from rota.workers.prefetch import Prefetch
    from rota.workers.shared import Shared

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


class Completer:
    """Takes settlements, records them, and lets go of their claims.

    Retries within the lead are claimed at once. What was learned of hosts is reported to `circuits`
    before each batch; schedules whose target is gone (410) are paused by `auto_pause`.
    """

    def __init__(
        self,
        shared: Shared,
        *,
        prefetch: Prefetch,
        circuits: CircuitCache,
        auto_pause: AutoPause,
    ) -> None:
        self._db = shared.db
        self._worker = shared.worker
        self._inflight = shared.inflight
        self._rows = shared.rows
        self._clock = shared.clock
        self._bus = shared.bus
        self._lead = shared.settings.lead
        self._prefetch = prefetch
        self._circuits = circuits
        self._auto_pause = auto_pause
        self._pending: deque[tuple[Settlement, int]] = deque()
        """With their sizes."""
        self._taken: deque[list[Settlement]] = deque()
        """Batches that are being recorded: one, or the parts of one that could not be as a whole.
        An outcome is never dropped while there is a chance to record it."""
        self._taken_bytes = 0
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._enough = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()
        self._flushed_at = float("-inf")
        self._upstreams = Upstreams()
        self._captures = CaptureBudget(
            shared.db, shared.clock, default=shared.settings.capture_budget
        )

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
        """Whether so much is waiting that no attempt should start: the executor is woken when that
        is over."""
        return self._bytes >= MAX_PENDING_BYTES

    async def drained(self) -> None:
        """Return when everything that was added has been recorded or refused."""
        await self._empty.wait()

    async def wait(self) -> None:
        """Return when there is something to record."""
        await self._arrived.wait()

    async def run_once(self) -> None:
        """Record a batch. Raises a TemporaryError when the database does not answer; the next pass
        goes on with the same batch."""
        if not self._taken:
            if not self._pending:
                return
            await self._gather()
            batch, self._taken_bytes = self._take()
            self._flushed_at = self._clock.monotonic()
            self._taken.append(await self._admitted(batch))
            # First: a retry may start as soon as its outcome is recorded, and must find the circuit
            # that its failure opened.
            await self._aside(self._circuits.report)
        while self._taken:
            await self._record(self._taken[0])
        await self._aside(self._captures.count)
        was_full = self.full
        self._bytes -= self._taken_bytes
        if was_full and not self.full:
            self._inflight.start_wake.set()
        if not self._pending:
            self._empty.set()

    async def _gather(self) -> None:
        """Let more come, but no longer than the interval after the last time."""
        since = timedelta(seconds=min(self._clock.monotonic() - self._flushed_at, 60.0))
        if since < FLUSH_INTERVAL:
            await set_or_late(self._enough, FLUSH_INTERVAL - since, self._clock)
        if self._inflight.waiting < HERD:
            return
        waited = timedelta()
        # To its end: what is left of a herd is as late as all that is recorded before it is begun.
        while self._inflight.waiting and self._bytes < MAX_BYTES and waited < HERD_INTERVAL:
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

    async def _record(self, batch: list[Settlement]) -> None:
        try:
            settled = await self._settle(batch)
        except TemporaryError:
            raise
        except Exception as error:  # noqa: BLE001 - one bad row must not hold up the others
            self._troubled(error)
            self._taken.popleft()
            self._split(batch)
        else:
            self._taken.popleft()
            self._let_go(batch, settled)

    async def _admitted(self, batch: list[Settlement]) -> list[Settlement]:
        """The batch as far as its tenants' budgets go; as it is while nobody knows of these."""
        try:
            return await self._captures.admit(batch)
        except Exception as error:  # noqa: BLE001 - no budget is worth an outcome
            self._troubled(error)
            return batch

    async def _aside(self, work: Callable[[], Awaitable[None]]) -> None:
        """Apart from the outcomes: no count may hold up a record."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - what was not told is told the next time
            self._troubled(error)

    async def _settle(self, batch: Sequence[Settlement]) -> Settled:
        # One at a time with the heartbeat: both lock the same rows, each in its own order.
        async with self._rows, self._db.transaction() as tx:
            return await settle(tx, self._worker, batch, self._upstreams)

    def _split(self, batch: list[Settlement]) -> None:
        """The database will not take these together: find the one, and record it without detail."""
        if len(batch) > 1:
            self._taken.extendleft([each] for each in reversed(batch))
            return
        bare = _bare(batch[0])
        if bare != batch[0]:
            self._taken.appendleft([bare])
            return
        # Not even so. Its claim expires, and it is rescued.
        self._let_go(batch, Settled(frozenset(), 0))

    def _let_go(self, batch: Sequence[Settlement], settled: Settled) -> None:
        """Their outcomes are recorded, or refused: the claims leave, and there is room for more."""
        inflight, bus, accepted = self._inflight, self._bus, settled.accepted
        self._prefetch.record(len(batch), self._clock.monotonic())
        tells_all = bus.hears(events.FiringFinished)
        for each in batch:
            claim = each.claim
            held = inflight.get(claim.id)
            if held is not None and held.claim.attempt == claim.attempt:
                inflight.remove(held)
            is_accepted = claim.id in accepted
            if is_accepted and each.gone:
                self._auto_pause.add(each)
            if tells_all or not is_accepted or each.status != "succeeded":
                bus.publish(events.of_settlement(each, self._worker, accepted=is_accepted))
        if bus.hears(events.OutcomesRecorded):
            bus.publish(events.OutcomesRecorded(settlements=batch, accepted=accepted))
        inflight.claim_wake.made_room()
        if settled.freed or any(
            each.retry_at is not None and each.retry_at - each.finished_at < self._lead
            for each in batch
        ):
            inflight.claim_wake.look()

    def _troubled(self, error: Exception) -> None:
        text = f"{type(error).__name__}: {error}"
        self._bus.publish(events.WorkerTroubled(worker=self._worker, part="completer", error=text))


def _bare(settlement: Settlement) -> Settlement:
    """The same outcome, without what came from outside."""
    tried = settlement.tried
    if tried is not None:
        tried = AttemptRecord(outcome=tried.outcome, error="the details could not be recorded")
    return msgspec.structs.replace(settlement, tried=tried, excerpt=None)
