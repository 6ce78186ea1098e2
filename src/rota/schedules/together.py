"""Pausing all of a tenant's schedules, or those of a tag, and resuming them.

In batches, each in a transaction of its caller's: a million schedules must not be locked for
minutes. Whoever stops half-way goes on by asking again. What is paused here is marked as paused
together, so that resuming all leaves alone what people have paused by themselves.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota import ids, timers
from rota.schedules import arming, monitoring, sql
from rota.schedules import together_sql as many
from rota.schedules.passed import passed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from rota.db import Tx
    from rota.schedules.passed import Passed
    from rota.schedules.schedule import Schedule
    from rota.timers import Timer

BATCH: Final = 1_000
START: Final = UUID(int=0)
"""Before every schedule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Which schedules, why, and until when."""

    tenant_id: UUID
    tag: str | None = None
    """None for all."""
    reason: str | None = None
    until: datetime | None = None

    @property
    def shown_reason(self) -> str:
        """What people read in `status_reason`."""
        if self.reason is not None:
            return self.reason
        return "paused with all" if self.tag is None else f"paused with all of tag {self.tag}"


@dataclass(frozen=True, slots=True)
class Part:
    """What one batch has done, and where the next begins; None when nothing is left."""

    changed: int
    last: UUID | None
    completed: int = 0
    """Of those resumed: how many have no slot left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resumed:
    """What becomes of a schedule that is resumed."""

    schedule: Schedule
    slot: datetime | None
    gone: Passed | None
    """The slots that have passed meanwhile."""
    fired: int

    @property
    def goes_on(self) -> bool:
        return arming.goes_on(self.schedule, self.slot)


async def pause_some(tx: Tx, wish: Wish, *, after: UUID = START, limit: int = BATCH) -> Part:
    """Pause the next active ones after this id, as a single pause would each."""
    rows = await tx.fetch(many.ACTIVE, wish.tenant_id, wish.tag, after, limit)
    found = [row["id"] for row in rows]
    if not found:
        return Part(0, None)
    await timers.lock_all(tx, found)
    held = [row["id"] for row in await tx.fetch(many.LOCK_ACTIVE, found)]
    await tx.fetch(many.LOCK_LIVE, held)
    count = await tx.fetch_value(many.PAUSE, held, wish.shown_reason, wish.until)
    await monitoring.park(tx, held)
    return Part(count, found[-1])


async def renew_some(tx: Tx, wish: Wish, *, after: UUID = START, limit: int = BATCH) -> Part:
    """Give the next of those that are paused together this reason and this end."""
    rows = await tx.fetch(
        many.RENEW, wish.tenant_id, wish.tag, after, limit, wish.shown_reason, wish.until
    )
    found = [row["id"] for row in rows]
    return Part(len(found), max(found, default=None))


async def resume_some(tx: Tx, wish: Wish, *, after: UUID = START, limit: int = BATCH) -> Part:
    """Resume the next of those that were paused together, as a single resume would each."""
    rows = await tx.fetch(many.TOGETHER, wish.tenant_id, wish.tag, after, limit)
    found = [row["id"] for row in rows]
    return await _resume(tx, found, only_over=False)


async def resume_over(tx: Tx, *, limit: int = BATCH) -> Part:
    """Resume some of those, of whatever tenant, that were paused until an instant that has passed.

    Many processes may do this at the same time; one of them does it.
    """
    if not await tx.fetch_value(many.ONE_AT_A_TIME):
        return Part(0, None)
    found = [row["id"] for row in await tx.fetch(many.OVER, limit)]
    return await _resume(tx, found, only_over=True)


async def _resume(tx: Tx, found: Sequence[UUID], *, only_over: bool) -> Part:
    if not found:
        return Part(0, None)
    armed = {each.schedule_id: each for each in await timers.lock_all(tx, found)}
    rows = await tx.fetch(many.LOCK_TOGETHER, list(found), only_over)
    schedules = await sql.with_calendars(tx, [sql.of_row(row) for row in rows])
    held = [(schedule, row["fired"]) for schedule, row in zip(schedules, rows, strict=True)]
    now = await sql.now(tx)
    known = await _known_slots(tx, [schedule.id for schedule, _ in held], now)
    # In a thread: a thousand triggers would keep everything else in the process waiting.
    resumed = await asyncio.to_thread(
        lambda: [_decide(each, armed.get(each.id), fired, known, now) for each, fired in held]
    )
    await _record(tx, resumed, now)
    active = [replace(each.schedule, status="active") for each in resumed if each.goes_on]
    await monitoring.arm(tx, active, now=now)
    completed = sum(not each.goes_on for each in resumed)
    return Part(len(resumed) - completed, found[-1], completed)


async def _known_slots(
    tx: Tx, schedule_ids: Sequence[UUID], now: datetime
) -> dict[UUID, set[datetime]]:
    known: dict[UUID, set[datetime]] = {}
    for row in await tx.fetch(many.KNOWN_SLOTS, list(schedule_ids), now):
        known.setdefault(row["schedule_id"], set()).add(row["scheduled_for"])
    return known


def _decide(
    schedule: Schedule,
    timer: Timer | None,
    fired: int,
    known: Mapping[UUID, Collection[datetime]],
    now: datetime,
) -> _Resumed:
    """Pure: its first open slot from now on, and the slots that have passed without a firing."""
    fired = timer.fired if timer else fired
    slot = arming.open_slot(schedule, fired=fired, now=now, known=known.get(schedule.id, ()))
    gone = passed(schedule.trigger, timer.scheduled_for, now) if timer else None
    return _Resumed(schedule=schedule, slot=slot, gone=gone, fired=fired)


async def _record(tx: Tx, resumed: Sequence[_Resumed], now: datetime) -> None:
    gone = [(each.schedule, each.gone) for each in resumed if each.gone is not None]
    if gone:
        await tx.execute(
            many.RECORD_PASSED,
            [ids.firing_id(schedule.id, run.first) for schedule, run in gone],
            [schedule.id for schedule, _ in gone],
            [schedule.tenant_id for schedule, _ in gone],
            [schedule.version for schedule, _ in gone],
            [run.first for _, run in gone],
            [run.last if run.count > 1 else None for _, run in gone],
            [run.count for _, run in gone],
        )
    await tx.execute(
        many.RESUME,
        [each.schedule.id for each in resumed],
        [each.goes_on for each in resumed],
        [each.fired for each in resumed],
        now,
    )
    await timers.arm(
        tx,
        [
            arming.timer(replace(each.schedule, status="active"), each.slot, fired=each.fired)
            for each in resumed
            if each.slot is not None
        ],
    )
