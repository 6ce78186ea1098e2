"""What the tests of schedules share: a tenant, the verbs in a transaction each, and rows."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.deadlines import patience

from rota import ids
from rota.db import Database, Listener
from rota.schedules import create, pause, run_now, update
from rota.schedules import list as listing
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db import Row
    from rota.schedules.create import Saved
    from rota.schedules.run_now import Run
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

SHARDS = 64
TASK: dict[str, Any] = {"name": "resize", "interval": "1h", "job_type": "images.resize"}


@dataclass(frozen=True)
class Office:
    """One tenant's schedules."""

    db: Database
    tenant: Tenant

    @staticmethod
    async def open(db: Database, *, min_interval: timedelta = timedelta(seconds=1)) -> Office:
        async with db.transaction() as tx:
            tenant = await tenants.default_tenant(tx, min_interval=min_interval)
        return Office(db, tenant)

    async def create(self, **fields: Any) -> Schedule:
        async with self.db.transaction() as tx:
            whole = {**TASK, **fields}
            whole = {name: value for name, value in whole.items() if value is not None}
            return (await create.create(tx, self.tenant, whole, shards=SHARDS)).schedule

    async def upsert(self, key: str, /, **fields: Any) -> Saved:
        async with self.db.transaction() as tx:
            whole = {**TASK, **fields}
            return await update.upsert_by_key(tx, self.tenant, key, whole, shards=SHARDS)

    async def update(self, schedule: Schedule, **changes: Any) -> Saved:
        async with self.db.transaction() as tx:
            return await update.update(tx, self.tenant, schedule.id, changes)

    async def pause(self, schedule: Schedule) -> Schedule:
        async with self.db.transaction() as tx:
            return await pause.pause(tx, self.tenant, schedule.id)

    async def resume(self, schedule: Schedule) -> Schedule:
        async with self.db.transaction() as tx:
            return await update.resume(tx, self.tenant, schedule.id)

    async def delete(self, schedule: Schedule) -> None:
        async with self.db.transaction() as tx:
            await update.delete(tx, self.tenant, schedule.id)

    async def trigger(self, schedule: Schedule, **more: Any) -> Run:
        async with self.db.transaction() as tx:
            return await run_now.trigger_now(tx, self.tenant, schedule.id, **more)

    async def standing(self, schedule: Schedule) -> listing.Standing:
        async with self.db.transaction(read_only=True) as tx:
            found = await listing.find(tx, self.tenant.id, schedule.id)
        assert found is not None
        return found

    async def now(self) -> datetime:
        async with self.db.transaction() as tx:
            return await tx.fetch_value("SELECT clock_timestamp()")

    async def timer(self, schedule: Schedule) -> Row | None:
        async with self.db.transaction() as tx:
            return await tx.fetch_row(
                "SELECT *, due_at = 'infinity' AS parked FROM timers WHERE schedule_id = $1",
                schedule.id,
            )

    async def set_timer(self, schedule: Schedule, slot: datetime) -> None:
        """As if the schedule had been waiting for this slot, which may have passed."""
        async with self.db.transaction() as tx:
            await tx.execute(
                """UPDATE timers SET scheduled_for = $2,
                          due_at = CASE WHEN due_at = 'infinity' THEN due_at ELSE $2 END
                    WHERE schedule_id = $1""",
                schedule.id,
                slot,
            )

    async def enqueue(
        self,
        schedule: Schedule,
        *,
        state: str = "waiting",
        slot: datetime | None = None,
        attempt: int = 0,
    ) -> UUID:
        """A firing of the schedule in the queue, as a pass would have put it there."""
        slot = slot or await self.now() - timedelta(seconds=1)
        id_ = ids.firing_id(schedule.id, slot)
        async with self.db.transaction() as tx:
            await tx.execute(
                """INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for,
                                      available_at, state, triggered_by, lane, attempt)
                   VALUES ($1, $2, $3, $4, $5, $5, $6, 'schedule', 'default', $7)""",
                id_,
                schedule.id,
                schedule.tenant_id,
                schedule.version,
                slot,
                state,
                attempt,
            )
        return id_

    async def queue(self, schedule: Schedule) -> list[Row]:
        async with self.db.transaction() as tx:
            return await tx.fetch(
                "SELECT * FROM queue WHERE schedule_id = $1 ORDER BY scheduled_for", schedule.id
            )

    async def firings(self, schedule: Schedule) -> list[Row]:
        async with self.db.transaction() as tx:
            return await tx.fetch(
                "SELECT * FROM firings WHERE schedule_id = $1 ORDER BY scheduled_for", schedule.id
            )


@asynccontextmanager
async def heard(db: Database, channel: str) -> AsyncGenerator[list[str]]:
    """What is said on a channel while the block runs: filled when it ends, in no order."""
    payloads: list[str] = []
    async with Listener(db.dsn, [channel]) as listener:
        subscription = listener.subscribe(channel)
        await subscription.wait(timedelta(seconds=patience(60)))
        yield payloads
        async with db.transaction() as tx:
            await tx.execute("SELECT pg_notify($1, 'the end')", channel)
        while "the end" not in payloads:
            wake = await subscription.wait(timedelta(seconds=patience(60)))
            payloads += [notice.payload for notice in wake.notices]
    payloads.remove("the end")
