"""Rows for tests of the queue, the workers and history: written directly, as firing would."""

from __future__ import annotations

import asyncio
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID, uuid4

from tests.deadlines import patience

from rota import ids
from rota.db import Session, driver
from rota.queue import complete_fast
from rota.queue.claim import Claim, claim
from rota.queue.complete import AttemptRecord, Settlement
from rota.schedules import definition as definitions
from rota.schedules.definition import Definition
from rota.schedules.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database, Row, Tx

SECOND = timedelta(seconds=1)
VISIBILITY = timedelta(seconds=30)

_TENANT = "INSERT INTO tenants (id, name) VALUES ($1, $2)"
_SCHEDULE = """
    INSERT INTO schedules (id, tenant_id, key, name, status, version, shard, anchor_at, definition,
                           created_at, updated_at)
    VALUES ($1, $2, $3, $3, $4, $5, 0, $6, $7, $6, $6)
"""
_FIRE = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, fence,
                       attempt, priority, catch_up, state, triggered_by, lane, payload, host)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
"""


async def database_now(db: Database) -> datetime:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT clock_timestamp()")


async def make_schedule(
    db: Database,
    *,
    status: Any = "active",
    version: int = 1,
    at: datetime | None = None,
    tenant_id: UUID | None = None,
    **fields: Any,
) -> Schedule:
    """A schedule of a tenant of its own."""
    now = at or await database_now(db)
    id_, key = ids.new(at=now), secrets.token_hex(4)
    fields = {"cron_expr": "* * * * *", "target_url": "http://127.0.0.1:9/"} | fields
    definition = Definition(name=key, key=key, **fields)
    tenant = tenant_id or ids.new(at=now)
    async with db.transaction() as tx:
        if tenant_id is None:
            await tx.execute(_TENANT, tenant, key)
        stored = definitions.encode(definition)
        await tx.execute(_SCHEDULE, id_, tenant, key, status, version, now, stored)
    return Schedule(
        id=id_,
        tenant_id=tenant,
        key=key,
        name=key,
        status=status,
        version=version,
        shard=0,
        anchor_at=now,
        definition=definition,
        created_at=now,
        updated_at=now,
    )


@dataclass(frozen=True, kw_only=True)
class QueueRow:
    """A row of the queue to be."""

    state: str = "waiting"
    attempt: int = 0
    priority: int = 5
    catch_up: bool = False
    triggered_by: str = "schedule"
    lane: str = "http"
    payload: str | None = None
    available_in: timedelta = field(default=timedelta())


async def fire(
    db: Database, schedule: Schedule, slot: datetime | None = None, **fields: Any
) -> UUID:
    """Put a firing of the schedule into the queue; by default of a slot that is now."""
    row = QueueRow(**fields)
    now = await database_now(db)
    slot = slot or now
    id_ = ids.firing_id(schedule.id, slot)
    async with db.transaction() as tx:
        await tx.execute(
            _FIRE,
            id_,
            schedule.id,
            schedule.tenant_id,
            schedule.version,
            slot,
            now + row.available_in,
            7,
            row.attempt,
            row.priority,
            row.catch_up,
            row.state,
            row.triggered_by,
            row.lane,
            row.payload,
            schedule.definition.host,
        )
    return id_


async def take(
    db: Database,
    worker: UUID,
    *,
    limit: int = 1_000,
    lead: timedelta = timedelta(),
    visibility: timedelta = VISIBILITY,
    lanes: tuple[str, ...] = ("http",),
) -> list[Claim]:
    """Claim in a transaction of its own."""
    async with db.transaction() as tx:
        return await claim(tx, lanes, worker, limit=limit, lead=lead, visibility=visibility)


def ended(each: Claim, status: Any = "succeeded", **fields: Any) -> Settlement:
    """A claim's end after an attempt."""
    outcome = "succeeded" if status == "succeeded" else "failed"
    usual: dict[str, Any] = {
        "started_at": each.available_at,
        "finished_at": each.available_at + SECOND,
        "status": status,
        "tried": AttemptRecord(outcome=outcome),
    }
    return Settlement(claim=each, **usual | fields)


async def queue_rows(db: Database) -> dict[UUID, Row]:
    async with db.transaction() as tx:
        return {row["id"]: row for row in await tx.fetch("SELECT * FROM queue")}


async def firing_rows(db: Database) -> dict[UUID, Row]:
    async with db.transaction() as tx:
        return {row["id"]: row for row in await tx.fetch("SELECT * FROM firings")}


ATTEMPTS: LiteralString = f"""
    SELECT * FROM (SELECT * FROM attempts UNION ALL {complete_fast.FAST_ATTEMPTS}) AS a
     ORDER BY firing_id, attempt
"""


async def attempt_rows(db: Database) -> list[Row]:
    """All attempts, those that a firing tells of by itself among them."""
    async with db.transaction() as tx:
        return await tx.fetch(ATTEMPTS)


async def register_node(tx: Tx, node: UUID, lock_key: int) -> None:
    await tx.execute(
        "INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key) "
        "VALUES ($1, '{worker}', 'here', 1, '0', 1919906913, $2)",
        node,
        lock_key,
    )


def some_worker() -> UUID:
    return uuid4()


async def until_waiting(tx: Tx, count: int) -> None:
    """Until so many sessions of this database wait for a lock."""
    async with asyncio.timeout(patience(5)):
        while count > await tx.fetch_value(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ):
            await tx.execute("SELECT pg_sleep(0.01), pg_stat_clear_snapshot()")


@asynccontextmanager
async def pinned(dsn: str) -> AsyncGenerator[None]:
    """A snapshot is open elsewhere: what is dead from here on is not vacuumed."""
    connection = await driver.connect(dsn, Session())
    try:
        await connection.execute("SET idle_in_transaction_session_timeout = 0")
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        await connection.execute("SELECT count(*) FROM tenants")
        yield
    finally:
        await connection.close()


_LEAVE_DEAD: tuple[LiteralString, ...] = (
    "UPDATE queue SET state = 'running', claimed_until = clock_timestamp() WHERE tenant_id = $1",
    "DELETE FROM queue WHERE tenant_id = $1",
)
_ENTER_MANY = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane)
    SELECT gen_random_uuid(), gen_random_uuid(), $1, 1, a.at, a.at, 'waiting', 'schedule', 'http'
      FROM generate_series(1, $2) AS n
     CROSS JOIN LATERAL (SELECT clock_timestamp() + $3 + n * interval '1 us') AS a(at)
"""


async def leave_dead(db: Database, tenant: UUID, count: int, *, after: timedelta) -> None:
    """What so many firings of the tenant leave behind, once claimed and finished."""
    async with db.transaction() as tx:
        await tx.execute(_ENTER_MANY, tenant, count, after)
    async with db.transaction() as tx:
        for each in _LEAVE_DEAD:
            await tx.execute(each, tenant)
