"""Taking back what a schedule has in the queue, when it is paused, edited or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rota.schedules import live_sql

if TYPE_CHECKING:
    from rota.db import Tx
    from rota.schedules.schedule import Schedule

Reason = Literal["paused", "edited", "deleted"]


async def take_back(tx: Tx, schedule: Schedule, reason: Reason, *, but: int | None = None) -> int:
    """End what no worker has, and ask for what none has begun; `but` those of this version.

    How many slots of its own will not be fired after all. A worker that does not hear in time
    begins its claim all the same: one firing above max_firings, where not counting would be one
    below it after every pause.
    """
    lock = live_sql.lock_paused if reason == "paused" else live_sql.lock_live
    if not await lock(tx, schedule.id):
        return 0
    if reason == "paused":
        await live_sql.hold_enqueued(tx, schedule.id)
    taken = await live_sql.take(tx, schedule.id, but=but, enqueued=reason != "paused")
    await live_sql.record(tx, schedule, taken, status="skipped", reason=reason)
    unbegun = sum(each.triggered_by == "schedule" and each.attempt == 0 for each in taken)
    return unbegun + await live_sql.recall(tx, schedule.id, reason, but=but)
