"""Outcomes that went wrong, as alerts: taken from where the recording transaction left them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from rota import ids
from rota.tenants import sql as tenants_sql
from rota.watch import alerts, outbox
from rota.watch.alerts import Trouble

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Row, Tx
    from rota.events import Bus
    from rota.watch.events import AlertOpened

_BATCH: Final = 1_000

# Each is somebody's alone: two nodes may take at the same time, and neither counts one twice. Of a
# tenant that is gone there is nobody to tell; an alert of it could not even be written.
_TAKE: LiteralString = """
    WITH taken AS (
        DELETE FROM unnoticed
         WHERE id = ANY (ARRAY(
               SELECT id FROM unnoticed ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED))
     RETURNING tenant_id, schedule_id, firing_id, scheduled_for, status, reason, slot_count,
               finished_at
    )
    SELECT taken.* FROM taken JOIN tenants ON tenants.id = taken.tenant_id
"""

# Asked every second by every node, mostly in vain: one round trip, of steps into small indexes.
_IS_ANY: LiteralString = """
    SELECT EXISTS (SELECT FROM unnoticed)
        OR EXISTS (SELECT FROM alerts
                    WHERE closed_at IS NULL AND count > told_count
                      AND (told_at IS NULL OR told_at <= clock_timestamp() - interval '1 minute'))
        OR EXISTS (SELECT FROM channels WHERE enabled AND 'succeeded' = ANY (events))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A firing, or a run of slots, that went wrong."""

    tenant_id: UUID
    schedule_id: UUID
    scheduled_for: datetime
    status: str
    reason: str | None
    slots: int
    finished_at: datetime


def troubles(outcomes: Iterable[Outcome], status: str) -> list[Trouble]:
    """One for each schedule, with how many there are and what the newest says. Pure."""
    of: dict[UUID, list[Outcome]] = {}
    for each in outcomes:
        if each.status == status:
            of.setdefault(each.schedule_id, []).append(each)
    return [_trouble(some) for some in of.values()]


def _trouble(some: list[Outcome]) -> Trouble:
    newest = max(some, key=lambda each: each.finished_at)
    count = sum(each.slots for each in some)
    return Trouble(
        tenant_id=newest.tenant_id,
        subject=ids.to_text(ids.Kind.SCHEDULE, newest.schedule_id),
        schedule_id=newest.schedule_id,
        detail=_detail(newest),
        count=count,
        seen_at=newest.finished_at,
    )


def _detail(each: Outcome) -> str:
    slot = each.scheduled_for.isoformat(timespec="seconds").replace("+00:00", "Z")
    which = f"the slot of {slot}" if each.slots == 1 else f"{each.slots} slots from {slot} on"
    return f"{which}: {each.reason or each.status}"


class Noticer:
    """Takes what was recorded, opens alerts and says what there is to say. On any node."""

    def __init__(self, db: Database, bus: Bus) -> None:
        self._db = db
        self._bus = bus

    async def run_once(self) -> int:
        """All there is by now, a batch at a time; how many outcomes it were."""
        async with self._db.reading() as tx:
            if not await tx.fetch_value(_IS_ANY):
                return 0
        total = 0
        while True:
            # Not repeatable: a commit in doubt may have been made, and what it took is gone then.
            count, opened = await self._db.run(_notice)
            for each in opened:
                self._bus.publish(each)
            total += count
            if count < _BATCH:
                return total


async def _notice(tx: Tx) -> tuple[int, list[AlertOpened]]:
    taken = [_outcome(row) for row in await tx.fetch(_TAKE, _BATCH)]
    opened: list[AlertOpened] = []
    if taken:
        for status in ("dead", "missed"):
            opened += await alerts.open_(tx, status, troubles(taken, status))
    await alerts.tell(tx)
    await outbox.say_successes(tx, at=await tenants_sql.now(tx))
    return len(taken), opened


def _outcome(row: Row) -> Outcome:
    return Outcome(
        tenant_id=row["tenant_id"],
        schedule_id=row["schedule_id"],
        scheduled_for=row["scheduled_for"],
        status=row["status"],
        reason=row["reason"],
        slots=row["slot_count"],
        finished_at=row["finished_at"],
    )
