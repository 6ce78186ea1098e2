"""Arming, parking and disarming timers, whole batches in one statement."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.timers import sql

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.timers.timer import Armed, Timer

CHANNEL: Final = "rota_timers"
"""Told the shard of a timer that has come to be due soon."""

SOON: Final = timedelta(seconds=5)
"""Due within this is worth waking somebody for; what is later, the next look finds in time."""


async def arm(tx: Tx, timers: Sequence[Armed]) -> None:
    """Set these timers, new ones and ones there are.

    Wakes, when the transaction commits, whoever holds a shard that has one due soon.
    """
    if timers:
        await sql.arm(tx, timers, soon=SOON)


async def lock(tx: Tx, schedule_id: UUID) -> Timer | None:
    """The schedule's timer, ours until the transaction ends; None when it has none.

    Whoever changes a schedule does this first: firing locks timers before all else, and waiting
    for one another in the same order is what keeps the two out of a deadlock.
    """
    return await sql.lock(tx, schedule_id)


async def lock_all(tx: Tx, schedule_ids: Sequence[UUID]) -> list[Timer]:
    """The same for many schedules: the timers of those that have one."""
    return await sql.lock_all(tx, schedule_ids)


async def touch(tx: Tx, schedule_id: UUID) -> bool:
    """Make any pass that read the timer before now look again; False when there is no timer."""
    return await sql.touch(tx, schedule_id) == 1


async def touch_all(tx: Tx, schedule_ids: Sequence[UUID]) -> None:
    """The same for the timers of many schedules, which are ours until the transaction ends."""
    await sql.touch_all(tx, schedule_ids)


async def park(tx: Tx, schedule_id: UUID) -> bool:
    """Due never, until it is armed again; False when there is no timer."""
    return await sql.park(tx, schedule_id) == 1


async def uncount(tx: Tx, schedule_id: UUID, firings: int) -> None:
    """So many of those that it has fired were taken back, and do not count (max_firings)."""
    if firings:
        await sql.uncount(tx, schedule_id, firings)


async def disarm(tx: Tx, schedule_id: UUID) -> bool:
    """No slot any more; False when there was no timer."""
    return await sql.disarm(tx, schedule_id) == 1
