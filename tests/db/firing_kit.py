"""Schedules with timers where a test wants them, a scheduler to fire them, and what came of it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString

from tests.db.leases_kit import SHARDS, Member, member, write

from rota import ids, timers
from rota.firing import Pass, Scheduler, Settings
from rota.schedules.definition import Definition, encode
from rota.schedules.schedule import shard_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db import Database, Row

LEAD = timedelta(seconds=2)
FAR = timedelta(hours=1)
"""A lead so long that what is ahead of its instant stays so, however slow the test is."""
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)

_TENANT: LiteralString = """
    INSERT INTO tenants (id, name) VALUES ('00000000-0000-0000-0000-00000000000a', 'acme')
        ON CONFLICT DO NOTHING
"""

_SCHEDULE: LiteralString = """
    INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at, definition)
    VALUES ($1, '00000000-0000-0000-0000-00000000000a', $2, $2, 'active', $3, $4, $5)
"""

_TIMER: LiteralString = """
    INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version, fired)
    VALUES ($1, $2, $3, $4, 1, $5)
"""

_LIVE: LiteralString = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       worker, claimed_until, attempt, triggered_by, lane)
    SELECT $1, $2, '00000000-0000-0000-0000-00000000000a', 1, now(), now(), $3,
           CASE WHEN $3 = 'running' THEN gen_random_uuid() END,
           CASE WHEN $3 = 'running' THEN now() + interval '1 h' END,
           CASE WHEN $3 = 'running' THEN 1 ELSE 0 END, 'manual', 'http'
"""


@dataclass
class Fleet:
    """A database with schedules, and one scheduler that holds all shards."""

    db: Database
    member: Member
    scheduler: Scheduler

    async def now(self) -> datetime:
        async with self.db.transaction() as tx:
            return await tx.fetch_value("SELECT clock_timestamp()")

    async def add(
        self,
        *,
        slot: datetime,
        anchor_at: datetime | None = None,
        fired: int = 0,
        **fields: Any,
    ) -> UUID:
        """A schedule whose timer is at `slot`; hourly from there, unless it says otherwise."""
        schedule_id = ids.new(at=slot)
        when = {"cron_expr", "interval", "run_at", "rrule", "text"}
        made: dict[str, Any] = {"target_url": "https://example.com/hook", **fields}
        if not when & fields.keys():
            made["interval"] = "1h"
        key = str(schedule_id)
        definition = Definition(name=key, key=key, **made)
        shard = shard_of(schedule_id, SHARDS)
        due_at = slot + timers.offset(schedule_id, definition.spread_window)
        async with self.db.transaction() as tx:
            await tx.execute(_TENANT)
            await tx.execute(
                _SCHEDULE, schedule_id, key, shard, anchor_at or slot, encode(definition)
            )
            await tx.execute(_TIMER, schedule_id, shard, slot, due_at, fired)
        return schedule_id

    async def live(self, schedule_id: UUID, state: str = "running") -> UUID:
        """A firing of the schedule in the queue, made by hand."""
        firing_id = ids.manual_firing_id(await self.now())
        await write(self.db, _LIVE, firing_id, schedule_id, state)
        return firing_id

    async def queue(self, schedule_id: UUID) -> list[Row]:
        return await self._rows(
            "SELECT * FROM queue WHERE schedule_id = $1 ORDER BY scheduled_for", schedule_id
        )

    async def firings(self, schedule_id: UUID) -> list[Row]:
        return await self._rows(
            "SELECT * FROM firings WHERE schedule_id = $1 ORDER BY scheduled_for", schedule_id
        )

    async def timer(self, schedule_id: UUID) -> Row | None:
        rows = await self._rows("SELECT * FROM timers WHERE schedule_id = $1", schedule_id)
        return rows[0] if rows else None

    async def slot(self, schedule_id: UUID) -> datetime:
        timer = await self.timer(schedule_id)
        assert timer is not None
        return timer["scheduled_for"]

    async def status(self, schedule_id: UUID) -> str:
        rows = await self._rows("SELECT status FROM schedules WHERE id = $1", schedule_id)
        return rows[0]["status"]

    async def drain(self) -> list[Pass]:
        """Passes, until one says that there is nothing more to do at once."""
        passes = [await self.scheduler.run_once()]
        while passes[-1].more:
            passes.append(await self.scheduler.run_once())
        return passes

    async def _rows(self, statement: LiteralString, *args: object) -> list[Row]:
        async with self.db.transaction() as tx:
            return await tx.fetch(statement, *args)


@asynccontextmanager
async def fleet(db: Database, settings: Settings | None = None) -> AsyncGenerator[Fleet]:
    """One scheduler for all shards. Sweeps in every pass, so that a test may write timers."""
    # Leases that outlive the slowest test: nothing here renews them.
    async with member(db, ttl=timedelta(hours=1)) as holder:
        await holder.elector.run_once()
        settings = settings or Settings(lead=LEAD, sweep_interval=timedelta())
        scheduler = Scheduler(db, holder.elector, bus=holder.bus, settings=settings)
        yield Fleet(db, holder, scheduler)
