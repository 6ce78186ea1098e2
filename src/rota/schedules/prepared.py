"""Slots that were prepared ahead of their instant, given back to their timers.

A slot is put into the queue up to two seconds ahead, on what was live then. When something else of
its schedule enters before the slot's instant, that decision does not hold any more. The slot goes
back to its timer, and the scheduler decides at its instant: then it is skipped, queued or fired in
place of what runs, as the overlap policy says. Nothing is recorded here: a slot has either a row in
the queue or its timer, never both and never neither.

What a worker holds already is asked back, and goes back to its timer once the worker has let go of
it; what entered is blocked until then. A worker that has begun by that time keeps it: what entered
waits for its end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota import timers
from rota.queue import withdraw
from rota.schedules import next_slot
from rota.schedules import schedule as sql

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.overlap import Live
    from rota.schedules.schedule import Schedule


async def give_back(tx: Tx, schedules: Iterable[tuple[Schedule, Live]]) -> None:
    """Give back what is prepared of these: something else of them enters.

    To be called with the schedules, their timers and their firings locked.
    """
    found = [(schedule, live) for schedule, live in schedules if live.prepared or live.held]
    if not found:
        return
    slots = await withdraw.take_prepared(tx, [id_ for _, live in found for id_ in live.prepared])
    await _rewind(tx, {schedule.id: schedule for schedule, _ in found}, slots)
    await withdraw.recall_prepared(tx, [id_ for _, live in found for id_ in live.held])


async def give_back_recalled(tx: Tx, worker: UUID, *, known: Collection[UUID]) -> None:
    """Give back what the worker was asked for and has let go of: all that it does not know."""
    found = await withdraw.recalled(tx, worker, known=known)
    if not found:
        return
    wanted = sorted({schedule_id for _, schedule_id in found})
    await timers.lock(tx, wanted)
    schedules = {each.id: each for each in await sql.lock_many(tx, wanted)}
    # Of a schedule that is no more there is no timer: its end takes the usual way.
    ids = [id_ for id_, schedule_id in found if schedule_id in schedules]
    await _rewind(tx, schedules, await withdraw.take_recalled(tx, worker, ids))


async def _rewind(
    tx: Tx, schedules: Mapping[UUID, Schedule], slots: Sequence[tuple[UUID, datetime]]
) -> None:
    """Set the timers back to these slots, which have not been fired after all."""
    by_schedule: dict[UUID, list[datetime]] = {}
    for schedule_id, slot in slots:
        by_schedule.setdefault(schedule_id, []).append(slot)
    if not by_schedule:
        return
    armed = await timers.lock(tx, by_schedule)
    rewound: list[timers.Armed] = []
    for schedule_id, theirs in by_schedule.items():
        schedule, timer = schedules[schedule_id], armed.get(schedule_id)
        fired = timer.fired if timer else await sql.fired(tx, schedule_id)
        if schedule.status == "completed":
            # The slot was its last, and is to come again.
            now = await sql.now(tx)
            await sql.set_status(tx, schedule_id, "active", at=now)
            schedule = replace(schedule, status="active")
        first = min([*theirs, timer.scheduled_for] if timer else theirs)
        rewound.append(next_slot.timer(schedule, first, fired=max(fired - len(theirs), 0)))
    await timers.arm(tx, rewound)
