"""The last hour of a tenant, minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from rota.history.activity import SPAN, Activity

if TYPE_CHECKING:
    from rota.db import Database

TENANT = UUID(int=7)


async def ended(
    db: Database, at: datetime, *, status: str = "succeeded", late_ms: float = 0, of: UUID = TENANT
) -> None:
    due = at - timedelta(milliseconds=late_ms)
    async with db.transaction() as tx:
        await tx.execute(
            """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                    attempt, triggered_by, started_at, finished_at, due_at)
               VALUES ($1, $1, $2, 1, $3, $4, 1, 'schedule', $5, $5, $3)""",
            uuid4(),
            of,
            due,
            status,
            at,
        )


async def test_minutes_are_counted_by_status_and_lateness(db: Database) -> None:
    async with db.transaction() as tx:
        now = await tx.fetch_value("SELECT clock_timestamp()")
    minute = now.replace(second=0, microsecond=0) - timedelta(minutes=10)
    for late in (1, 2, 300):
        await ended(db, minute + timedelta(seconds=5), late_ms=late)
    await ended(db, minute + timedelta(seconds=59), status="dead", late_ms=5)
    await ended(db, minute + timedelta(seconds=59), of=UUID(int=8))
    async with db.transaction() as tx:
        minutes = await Activity().last_hour(tx, TENANT)
    assert len(minutes) == SPAN
    assert [each.at for each in minutes] == sorted(each.at for each in minutes)
    (found,) = [each for each in minutes if each.total]
    assert (found.at, dict(found.counts)) == (minute, {"succeeded": 3, "dead": 1})
    assert found.late_ms is not None
    assert (round(found.late_ms[0]), round(found.late_ms[1])) == (5, 300)


async def test_a_minute_that_is_over_is_read_once_and_the_current_one_always(db: Database) -> None:
    activity = Activity()
    async with db.transaction() as tx:
        now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
        await activity.last_hour(tx, TENANT)
    await ended(db, now - timedelta(minutes=20))
    await ended(db, now)
    async with db.transaction() as tx:
        minutes = await activity.last_hour(tx, TENANT)
    assert sum(each.total for each in minutes[:-2]) == 0  # remembered as it was
    assert sum(each.total for each in minutes[-2:]) == 1
    async with db.transaction() as tx:
        fresh = await Activity().last_hour(tx, TENANT)
    assert sum(each.total for each in fresh) == 2
    assert all(each.at.tzinfo is UTC or each.at.utcoffset() == timedelta() for each in fresh)
