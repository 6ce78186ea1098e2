"""How many requests a tenant may make (S12): one limit over all nodes, kept over restarts.

Nodes take tokens out of the tenant's bucket by the handful; whoever finds its purse empty waits for
one statement, together with all others who do. A node that dies takes its handful along: the tenant
gets less then, never more.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import OrderedDict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.errors import CallerError, RotaError
from rota.tenants.bucket import Bucket, Purse, Taken

if TYPE_CHECKING:
    from uuid import UUID

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.tenants.tenant import Tenant

ITEMS: Final = 100
"""So many slots, schedules or rows count as one request."""
BYTES: Final = 64 * 1024
"""So many bytes of a body count as a request more."""
BURST_SECONDS: Final = 2.0
"""What a bucket holds when nothing else is said: so many seconds of its rate."""
_MOST_REMEMBERED: Final = 10_000

# Locked until the new value commits: two nodes cannot both take the last one.
_LOCK: LiteralString = """
    SELECT spent_until, clock_timestamp() AS now FROM request_pace WHERE tenant_id = $1 FOR UPDATE
"""

_ENSURE: LiteralString = """
    INSERT INTO request_pace (tenant_id, spent_until)
    SELECT id, clock_timestamp() FROM tenants WHERE id = $1
    ON CONFLICT DO NOTHING
"""

_SPEND: LiteralString = "UPDATE request_pace SET spent_until = $2 WHERE tenant_id = $1"


_CLEAR: LiteralString = "DELETE FROM request_pace WHERE tenant_id = $1"


class TooManyRequests(CallerError):
    """More than the tenant may ask; `retry_after` is when it may go on, in whole seconds."""

    def __init__(self, rate: float, retry_after: float) -> None:
        self.retry_after = max(1, math.ceil(retry_after))
        super().__init__(
            f"expected at most {rate:g} requests a second of this tenant, got more "
            "(a long request counts as several). "
            f"Try again in {self.retry_after} s"
        )


class RequestPace:
    """The requests of all tenants that one node may answer.

    `rate` is for tenants that have none of their own; 0 for no limit. `burst` is how many may come
    at once at that rate, and in proportion at another.
    """

    def __init__(
        self, db: Database, *, clock: Clock, rate: float, burst: int | None = None
    ) -> None:
        self._db = db
        self._clock = clock
        self._rate = rate
        self._burst_seconds = burst / rate if burst and rate else BURST_SECONDS
        self._purses: OrderedDict[UUID, tuple[Bucket, Purse]] = OrderedDict()
        self._leases: dict[UUID, asyncio.Task[None]] = {}

    async def spend_more(self, tenant: Tenant, count: int) -> None:
        """Count a request of the tenant, which was counted as one, as so many more.

        `TooManyRequests`, and nothing is counted, when it may not have as many now. One that costs
        more than the tenant may save up is let through when all of that is there.
        """
        bucket = self._bucket(tenant)
        if bucket is None or count <= 0:
            return
        purse = self._purse(tenant.id, bucket)
        count = min(count, bucket.burst - 1)
        own = purse.take(count, self._clock.monotonic())
        try:
            await self._take_all(tenant.id, bucket, purse, count - own)
        except BaseException:
            purse.tokens += own
            raise

    async def _take_all(self, tenant_id: UUID, bucket: Bucket, purse: Purse, count: int) -> None:
        if count <= 0:
            return
        wait = purse.wait_for(count, self._clock.monotonic())
        if wait is None:
            # A commit in doubt is made again: at worst these are lost.
            taken = await self._db.run(
                lambda tx: take(tx, tenant_id, bucket, count, least=count), repeatable=True
            )
            if taken.count:
                return
            wait = taken.retry_after
            purse.refused(count, self._clock.monotonic(), wait)
        raise TooManyRequests(bucket.rate, wait)

    async def spend(self, tenant: Tenant) -> None:
        """Count one request of the tenant; `TooManyRequests` when it may have none now."""
        bucket = self._bucket(tenant)
        if bucket is None:
            return
        purse = self._purse(tenant.id, bucket)
        while not purse.spend(self._clock.monotonic()):
            wait = purse.wait(self._clock.monotonic())
            if wait is not None:
                raise TooManyRequests(bucket.rate, wait)
            # Shielded: who hangs up must not take the others' handful along.
            await asyncio.shield(self._lease(tenant.id, bucket, purse))
        if purse.is_low(self._clock.monotonic()):
            self._lease(tenant.id, bucket, purse)

    def _bucket(self, tenant: Tenant) -> Bucket | None:
        rate = tenant.request_rate or self._rate
        if not rate:
            return None
        return Bucket(rate=rate, burst=max(1, int(rate * self._burst_seconds)))

    def _purse(self, tenant_id: UUID, bucket: Bucket) -> Purse:
        """A new one after a change of the rate: what the old one has, or was refused, is void."""
        filled_from, purse = self._purses.get(tenant_id, (None, None))
        if purse is None or filled_from != bucket:
            purse = Purse()
            self._purses[tenant_id] = bucket, purse
        self._purses.move_to_end(tenant_id)
        while len(self._purses) > _MOST_REMEMBERED:
            self._purses.popitem(last=False)
        return purse

    def _lease(self, tenant_id: UUID, bucket: Bucket, purse: Purse) -> asyncio.Task[None]:
        """The one lease of this tenant that is under way; begun if there is none."""
        lease = self._leases.get(tenant_id)
        if lease is None:
            lease = asyncio.create_task(self._fill(tenant_id, bucket, purse))
            self._leases[tenant_id] = lease
            lease.add_done_callback(_heard)
        return lease

    async def _fill(self, tenant_id: UUID, bucket: Bucket, purse: Purse) -> None:
        wanted = min(purse.handful, bucket.handful)
        try:
            # A commit in doubt is made again: at worst a handful is lost.
            taken = await self._db.run(
                lambda tx: take(tx, tenant_id, bucket, wanted), repeatable=True
            )
            purse.fill(self._clock.monotonic(), taken, bucket.handful)
        finally:
            # Not in a done callback: until that ran, `spend` would await a task that has ended,
            # which does not yield to the loop, and so busy-loop for good.
            del self._leases[tenant_id]


async def take(tx: Tx, tenant_id: UUID, bucket: Bucket, wanted: int, *, least: int = 1) -> Taken:
    """Up to so many tokens out of the tenant's bucket, by the database's clock."""
    row = await tx.fetch_row(_LOCK, tenant_id)
    if row is None:
        await tx.execute(_ENSURE, tenant_id)
        row = await tx.fetch_row(_LOCK, tenant_id)
    if row is None:
        # The tenant is being deleted; its key is refused in a moment.
        return Taken(least, 0.0, 0.0)
    spent_until: datetime = row["spent_until"]
    now: datetime = row["now"]
    ahead = (spent_until - now).total_seconds()
    taken = bucket.take(wanted, ahead=ahead, least=least)
    if taken.count or taken.ahead < ahead:
        await tx.execute(_SPEND, tenant_id, now + timedelta(seconds=taken.ahead))
    return taken


async def clear(tx: Tx, tenant_id: UUID) -> None:
    """Fill the tenant's bucket, whose rate has changed: what was spent was counted at the old."""
    await tx.execute(_CLEAR, tenant_id)


def _heard(lease: asyncio.Task[None]) -> None:
    """Perhaps nobody waits for it: trouble is told to the next request that needs a token."""
    with contextlib.suppress(RotaError, asyncio.CancelledError):
        lease.result()
