"""Waiting for pings: what is past its deadline is recorded as missed, and the next one awaited."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.queue.record import UnfiredSlots, record_unfired
from rota.schedules import schedule as schedules
from rota.schedules.monitor import Overdue, overdue
from rota.watch import monitors_sql as sql
from rota.watch.monitor_events import MonitorOverdue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Row, Tx
    from rota.events import Bus
    from rota.schedules.schedule import Schedule

LONGEST: Final = timedelta(seconds=2)
"""Between two looks: a monitor may have come to be due while nobody looked."""

_BATCH = 500
_SHORTEST = timedelta(milliseconds=20)


@dataclass(frozen=True, slots=True)
class Missed:
    """What was missed of one monitor."""

    schedule: Schedule
    overdue: Overdue
    is_news: bool
    """It was well, or nothing was known of it, until now."""

    @property
    def event(self) -> MonitorOverdue:
        return MonitorOverdue(
            schedule_id=self.schedule.id,
            tenant_id=self.schedule.tenant_id,
            key=self.schedule.key,
            slot_at=self.overdue.first,
        )


class Monitors:
    """Any number of nodes may have one: each monitor that is due is some one's."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus
        self._left: timedelta | None = None

    async def run_once(self) -> int:
        """Record all that is past its deadline; how many monitors it were."""
        count = 0
        self._left = await self._until_next()
        if self._left is None or self._left > timedelta():
            return 0
        # What was recorded in a commit in doubt has moved on, and is not found again.
        while found := await self._db.run(_miss_some, repeatable=True):
            count += len(found)
            for each in found:
                if each.is_news:
                    self._bus.publish(each.event)
        self._left = await self._until_next()
        return count

    async def _until_next(self) -> timedelta | None:
        async with self._db.reading() as tx:
            return await tx.fetch_value(sql.NEXT)

    async def wait(self, clock: Clock) -> None:
        """Until the next deadline, as far as it is known."""
        left = self._left
        await clock.sleep(LONGEST if left is None else min(max(left, _SHORTEST), LONGEST))


async def _miss_some(tx: Tx) -> list[Missed]:
    rows = await tx.fetch(sql.DUE, _BATCH)
    if not rows:
        return []
    due = await schedules.with_calendars(tx, [schedules.of_row(row) for row in rows])
    # In a thread: some hundred triggers would keep everything else in the process waiting.
    missed = await asyncio.to_thread(
        lambda: [_decide(schedule, row) for schedule, row in zip(due, rows, strict=True)]
    )
    await record(tx, missed)
    return missed


def _decide(schedule: Schedule, row: Row) -> Missed:
    """Pure: what is missed by now."""
    return missed_by(schedule, row["expected_at"], row["state"], row["now"])


def missed_by(schedule: Schedule, expected_at: datetime, state: str, now: datetime) -> Missed:
    """What is missed of a monitor whose expected slot's window has ended."""
    monitor = schedule.definition.monitor
    assert monitor is not None
    found = overdue(schedule.slots, monitor.grace, expected_at, now)
    return Missed(schedule, found, state != "down")


async def record(tx: Tx, missed: Sequence[Missed]) -> None:
    """Write down what was missed, and wait for what follows."""
    runs = [(each.schedule, each.overdue) for each in missed]
    await record_unfired(
        tx,
        [
            UnfiredSlots(
                schedule_id=schedule.id,
                tenant_id=schedule.tenant_id,
                version=schedule.version,
                first=run.first,
                last=run.last,
                count=run.count,
                status="missed",
                reason="no ping",
            )
            for schedule, run in runs
        ],
    )
    await tx.execute(
        sql.MOVE_ON,
        [schedule.id for schedule, _ in runs],
        [run.following and run.following.slot for _, run in runs],
        [run.following and run.following.deadline for _, run in runs],
    )
