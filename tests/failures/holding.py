"""Exact crash points: a lock that the engine runs into, held by the test.

Whoever waits for it is in the middle of its transaction: killed there, it has written and has not
committed.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, LiteralString

from tests.cluster.nodes import eventually

from rota import ids
from rota.db import Session, driver

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime

    from tests.cluster.nodes import Process

    from rota.db import Database
    from rota.schedules.schedule import Schedule

# The test keeps its transaction open for as long as it likes.
_PATIENT = Session("rota tests hold", idle_in_transaction_timeout=timedelta(minutes=2))

_WAITERS: LiteralString = """
    SELECT pid FROM pg_stat_activity
     WHERE $1 = ANY (pg_blocking_pids(pid)) AND position($2 IN query) > 0
"""

_SLOT: LiteralString = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane)
    VALUES ($1, $2, $3, 1, $4, $4, 'waiting', 'schedule', 'http')
"""


@dataclass
class Hold:
    """A transaction of the test's own, and those who wait for it."""

    db: Database
    pid: int

    async def runs_into(self, statement: str = "") -> int:
        """The session that waits for this one, in a statement with these words."""

        async def look() -> int | None:
            async with self.db.transaction(read_only=True) as tx:
                return await tx.fetch_value(_WAITERS, self.pid, statement)

        return await eventually(look, within=90)

    async def crash(self, process: Process, session: int) -> None:
        """kill -9, and the server undoes what the session was at.

        By itself it would notice only when the statement is over, and by then it has committed.
        """
        process.kill()
        async with self.db.transaction() as tx:
            await tx.execute("SELECT pg_terminate_backend($1)", session)
        await session_ended(self.db, session)


@asynccontextmanager
async def hold(db: Database, statement: LiteralString, *args: object) -> AsyncGenerator[Hold]:
    """Run the statement and keep what it locks until the block ends; it is never committed."""
    connection = await driver.connect(db.dsn, _PATIENT)
    try:
        await connection.execute("BEGIN")
        await connection.execute(statement, *args)
        yield Hold(db, await connection.fetchval("SELECT pg_backend_pid()"))
    finally:
        await connection.close(timeout=5.0)


@asynccontextmanager
async def hold_slot(db: Database, schedule: Schedule, slot: datetime) -> AsyncGenerator[Hold]:
    """Hold the place in the queue of one slot: only who writes this very firing id waits for it."""
    id_ = ids.firing_id(schedule.id, slot)
    async with hold(db, _SLOT, id_, schedule.id, schedule.tenant_id, slot) as held:
        yield held


async def session_ended(db: Database, pid: int) -> None:
    """Return when the server has undone what a killed process left behind."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid
            )

    await eventually(look)
