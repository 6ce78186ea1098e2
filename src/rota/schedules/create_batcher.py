"""Group commit of concurrent creates.

A durable commit costs the same for one schedule as for a hundred. Creates that arrive while others
are being written wait and share the next transaction; a create that arrives alone starts at once.
What is wrong with one of them is told to its caller alone.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.clock import SystemClock
from rota.db.server_clock import DatabaseClock
from rota.db.tx import ENGINE
from rota.errors import CallerError, TemporaryError
from rota.schedules.bulk_parser import ParseCache
from rota.schedules.create import create_each
from rota.targets import OPEN, TargetPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.schedules.create import Saved
    from rota.tenants.tenant import Tenant

MAX_BATCH: Final = 100
"""Few enough that parsing them does not keep the loop from firing."""
MAX_TRANSACTIONS: Final = 3
"""Of a tenant at once: some are parsed and answered while others are written."""

# Between two questions ours tells the database's clock: a round trip less for most.
_CLOCK_TTL: Final = timedelta(seconds=1)


@dataclass(slots=True, eq=False)
class _CreateRequest:
    """A schedule to create, and the caller's future."""

    tenant: Tenant
    given: Mapping[str, object]
    actor: str
    result: asyncio.Future[Saved]


@dataclass(slots=True)
class _Pending:
    """A tenant's requests that no transaction has taken yet, and how many are being written."""

    requests: deque[_CreateRequest] = field(default_factory=deque[_CreateRequest])
    tasks: int = 0
    is_starting: bool = False
    """Whether there is a task that has yet to take what waits."""
    in_flight: int = 0
    """Requests in transactions that have not ended."""

    @property
    def is_enough(self) -> bool:
        """Whether what waits is worth a transaction: anything is while there is no other.

        A transaction costs the same for few as for many. So next to others there is one more when
        as many wait as are being written: small batches would stay small otherwise.
        """
        return bool(self.requests) and len(self.requests) >= self.in_flight

    def take(self) -> list[_CreateRequest]:
        """The next batch; it is in flight until `end`."""
        self.is_starting = False
        batch = _next(self.requests) if self.is_enough else []
        self.in_flight += len(batch)
        return batch

    def end(self, batch: Sequence[_CreateRequest]) -> None:
        self.in_flight -= len(batch)


class CreateBatcher:
    """Creates single schedules of many callers, several in one transaction."""

    def __init__(self, db: Database, *, shards: int, targets: TargetPolicy = OPEN) -> None:
        self._db = db
        self._shards = shards
        self._targets = targets
        self._caches: dict[TargetPolicy, ParseCache] = {}
        """One for all tenants with the same rules about targets."""
        self._clock = DatabaseClock(SystemClock())
        self._pending: dict[UUID, _Pending] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def create(
        self, tenant: Tenant, given: Mapping[str, object], *, actor: str = ENGINE
    ) -> Saved:
        """As `create.create`, in a transaction of the tenant that other creates may share."""
        request = _CreateRequest(tenant, given, actor, asyncio.get_running_loop().create_future())
        pending = self._pending.setdefault(tenant.id, _Pending())
        pending.requests.append(request)
        if not pending.is_starting and pending.tasks < MAX_TRANSACTIONS and pending.is_enough:
            pending.is_starting = True
            pending.tasks += 1
            task = asyncio.create_task(self._run(tenant.id, pending), name="rota creating")
            # The loop keeps no reference of its own: the task could be collected half-way.
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await request.result

    def cache(self, tenant: Tenant) -> ParseCache:
        """What was parsed for this tenant and for those with the same rules about targets."""
        return self._caches.setdefault(self._targets.of_tenant(tenant.id), ParseCache())

    async def _run(self, tenant_id: UUID, pending: _Pending) -> None:
        try:
            while batch := pending.take():
                try:
                    await self._commit(batch)
                finally:
                    pending.end(batch)
        finally:
            pending.tasks -= 1
            if not pending.tasks:
                for left in pending.requests:  # no task is left that would take them
                    left.result.cancel()
                self._pending.pop(tenant_id, None)

    async def _commit(self, batch: Sequence[_CreateRequest]) -> None:
        """One transaction for all; if one of them makes it fail, one for each."""
        tenant = batch[-1].tenant
        try:
            results = await self._db.run(lambda tx: self._create(tx, batch), tenant=tenant.id)
        except Exception as error:  # noqa: BLE001 - the callers get it
            if len(batch) == 1 or isinstance(error, TemporaryError):
                results = [error] * len(batch)
            else:
                # A quota with room for some, say.
                for each in batch:
                    await self._commit([each])
                return
        except BaseException:
            for each in batch:
                each.result.cancel()
            raise
        for each, result in zip(batch, results, strict=True):
            _settle(each.result, result)

    async def _create(self, tx: Tx, batch: Sequence[_CreateRequest]) -> list[Saved | CallerError]:
        if self._clock.age > _CLOCK_TTL:
            await self._clock.ask(tx)
        return await create_each(
            tx,
            batch[-1].tenant,
            [each.given for each in batch],
            shards=self._shards,
            targets=self._targets,
            cache=self.cache(batch[-1].tenant),
            now=self._clock.now(),
            actors=[each.actor for each in batch],
        )


def _next(requests: deque[_CreateRequest]) -> list[_CreateRequest]:
    batch: list[_CreateRequest] = []
    while requests and len(batch) < MAX_BATCH:
        request = requests.popleft()
        if not request.result.done():  # its caller has gone
            batch.append(request)
    return batch


def _settle(future: asyncio.Future[Saved], result: Saved | CallerError | Exception) -> None:
    if future.done():
        return
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
