"""Creating one schedule for each of many callers, and all of them together for the database.

A commit that is on the disk costs the same for one schedule as for a hundred. Whoever comes while
others are being written waits for their turn to end and goes with all that have come meanwhile; who
comes alone goes at once. What one of them has wrong is its own affair.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.errors import CallerError, TemporaryError
from rota.schedules import creating
from rota.schedules.alike_kept import Memory
from rota.targets import OPEN, TargetPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.schedules.saved import Saved
    from rota.tenants.tenant import Tenant

MOST: Final = 100
"""In one transaction: few enough that the loop is not kept from firing while they are read."""
AT_ONCE: Final = 3
"""Transactions of a tenant: some are read and answered while others are written."""

# Between two questions the database's clock is told by ours: a round trip less for most.
_CLOCK_TTL: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    """A schedule that somebody waits for."""

    tenant: Tenant
    given: Mapping[str, object]
    result: asyncio.Future[Saved]


@dataclass(slots=True)
class _Line:
    """Those of one tenant that have not begun."""

    waiting: deque[_Wish] = field(default_factory=deque[_Wish])
    workers: int = 0


class Gatherer:
    """Creates schedules, many callers' at a time."""

    def __init__(self, db: Database, *, shards: int, targets: TargetPolicy = OPEN) -> None:
        self._db = db
        self._shards = shards
        self._targets = targets
        self._memories: dict[TargetPolicy, Memory] = {}
        """Of all that was read under the same rules about targets: not all tenants have the same,
        and what was read for one is not read again for another."""
        self._clock = DatabaseClock(SystemClock())
        self._lines: dict[UUID, _Line] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def create(self, tenant: Tenant, given: Mapping[str, object]) -> Saved:
        """As `creating.create`, in a transaction of the tenant's that others may share."""
        wish = _Wish(tenant, given, asyncio.get_running_loop().create_future())
        line = self._lines.setdefault(tenant.id, _Line())
        line.waiting.append(wish)
        if line.workers < AT_ONCE:
            line.workers += 1
            task = asyncio.create_task(self._work(tenant.id, line), name="rota creating")
            # The loop itself would let it be thrown away half-way.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await wish.result

    def memory(self, tenant: Tenant) -> Memory:
        """Of what was read for this tenant and for those with the same rules."""
        return self._memories.setdefault(self._targets.of_tenant(tenant.id), Memory())

    async def _work(self, tenant_id: UUID, line: _Line) -> None:
        try:
            while batch := _next(line.waiting):
                await self._carry_out(batch)
        finally:
            line.workers -= 1
            if not line.workers:
                for left in line.waiting:  # nobody else would come for them
                    left.result.cancel()
                self._lines.pop(tenant_id, None)

    async def _carry_out(self, batch: Sequence[_Wish]) -> None:
        """One transaction for all; where one stands in the way of all, one for each."""
        tenant = batch[-1].tenant
        try:
            results = await self._db.run(lambda tx: self._create(tx, batch), tenant=tenant.id)
        except Exception as error:  # noqa: BLE001 - it is told to whoever waits
            if len(batch) == 1 or isinstance(error, TemporaryError):
                results = [error] * len(batch)
            else:
                # A quota with room for some, say.
                for each in batch:
                    await self._carry_out([each])
                return
        except BaseException:
            for each in batch:
                each.result.cancel()
            raise
        for each, result in zip(batch, results, strict=True):
            _settle(each.result, result)

    async def _create(self, tx: Tx, batch: Sequence[_Wish]) -> list[Saved | CallerError]:
        if self._clock.age > _CLOCK_TTL:
            await self._clock.ask(tx)
        return await creating.create_each(
            tx,
            batch[-1].tenant,
            [each.given for each in batch],
            shards=self._shards,
            targets=self._targets,
            memory=self.memory(batch[-1].tenant),
            now=self._clock.now(),
        )


def _next(waiting: deque[_Wish]) -> list[_Wish]:
    batch: list[_Wish] = []
    while waiting and len(batch) < MOST:
        wish = waiting.popleft()
        if not wish.result.done():  # whoever waited has gone
            batch.append(wish)
    return batch


def _settle(future: asyncio.Future[Saved], result: Saved | CallerError | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
