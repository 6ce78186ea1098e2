"""What targets took on and did not complete in time: an attempt that timed out, judged as one.

So is the end of what was cancelled in the meantime. Every worker looks, so that any one is enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rota import durations
from rota.queue.complete import settle
from rota.queue.external_claims import overdue
from rota.queue.rescue import is_queue_empty
from rota.queue.states import DETACHED, WITHDRAW_REASONS
from rota.schedules import schedule as schedules
from rota.schedules import schedule_cache
from rota.workers import completing, sagas
from rota.workers.caller import Reply
from rota.workers.events import FiringOverdue

if TYPE_CHECKING:
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.queue.complete import Settlement
    from rota.queue.external_claims import ExternalClaim
    from rota.schedules.schedule import Schedule


class AsyncTimeouts:
    """Ends or retries claims that were left to their targets for too long."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus

    async def run_once(self) -> int:
        """Settle some of what is overdue. Returns how many."""
        async with self._db.reading() as tx:
            if await is_queue_empty(tx):
                return 0
        async with self._db.transaction() as tx:
            settlements = await _judged(tx, await overdue(tx))
            if settlements:
                await settle(tx, DETACHED, settlements)
        for each in settlements:
            self._publish(each)
        return len(settlements)

    def _publish(self, settlement: Settlement) -> None:
        claim, tried = settlement.claim, settlement.tried
        cancelled = settlement.status == "cancelled"
        self._bus.publish(
            FiringOverdue(
                firing_id=claim.id,
                schedule_id=claim.schedule_id,
                tenant_id=claim.tenant_id,
                attempt=claim.attempt,
                state=settlement.status or "retrying",
                error=None if cancelled or tried is None else tried.error,
            )
        )


async def _judged(tx: Tx, late: list[ExternalClaim]) -> list[Settlement]:
    if not late:
        return []
    now = await schedules.now(tx)
    known = await schedule_cache.load(tx, sorted({each.claim.schedule_id for each in late}))
    judged: list[Settlement] = []
    for held in late:
        claim, schedule = sagas.at_step(held.claim, known.get(held.claim.schedule_id))
        each = replace(held, claim=claim)
        reason = claim.cancel_reason
        if reason is not None and reason not in WITHDRAW_REASONS:
            settlement = completing.cancelled(each, reason, now=now)
        else:
            settlement = completing.failed(each, schedule, _late(schedule), now=now)
        judged.append(sagas.carry_on(settlement, schedule))
    return judged


def _late(schedule: Schedule | None) -> Reply:
    within = "in time"
    if schedule is not None:
        within = f"within {durations.compact(schedule.definition.async_timeout)}"
    return Reply(error=f"the target took it on and did not complete it {within}", timed_out=True)
