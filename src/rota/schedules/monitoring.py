"""What is expected next of each monitor: armed from now on whenever its schedule is made, edited or
resumed; parked while it is paused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from rota.schedules.monitor import expected_after

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule


# What was known of it before stays known: an edit is no ping. Parked, or without a slot left, it
# has no deadline: what it waits for, if anything, is when it was armed.
_ARM: LiteralString = """
    INSERT INTO monitors AS m (schedule_id, tenant_id, version, expected_at, deadline_at, state)
    SELECT x.schedule_id, x.tenant_id, x.version, coalesce(x.expected_at, $6),
           coalesce(x.deadline_at, 'infinity'), 'waiting'
      FROM unnest($1::uuid[], $2::uuid[], $3::integer[], $4::timestamptz[], $5::timestamptz[])
           AS x(schedule_id, tenant_id, version, expected_at, deadline_at)
        ON CONFLICT (schedule_id) DO UPDATE
       SET version = excluded.version,
           expected_at = excluded.expected_at,
           deadline_at = excluded.deadline_at
"""

_PARK: LiteralString = """
    UPDATE monitors SET deadline_at = 'infinity' WHERE schedule_id = ANY ($1::uuid[])
"""

_FORGET: LiteralString = "DELETE FROM monitors WHERE schedule_id = $1"


async def arm(tx: Tx, schedules: Sequence[Schedule], *, now: datetime) -> None:
    """Wait for the next ping of those that are monitors; the others are passed over."""
    waiting = [each for each in schedules if each.definition.monitor is not None]
    if not waiting:
        return
    expected = [_expected(each, now) for each in waiting]
    await tx.execute(
        _ARM,
        [each.id for each in waiting],
        [each.tenant_id for each in waiting],
        [each.version for each in waiting],
        [slot for slot, _ in expected],
        [deadline for _, deadline in expected],
        now,
    )


async def park(tx: Tx, schedule_ids: Sequence[UUID]) -> None:
    """Expect nothing, until they are armed again."""
    await tx.execute(_PARK, list(schedule_ids))


async def forget(tx: Tx, schedule_id: UUID) -> None:
    """It is no monitor any more."""
    await tx.execute(_FORGET, schedule_id)


def _expected(schedule: Schedule, now: datetime) -> tuple[datetime | None, datetime | None]:
    monitor = schedule.definition.monitor
    assert monitor is not None
    found = expected_after(schedule.slots, monitor.grace, now)
    if found is None:
        return None, None
    return found.slot, None if schedule.status == "paused" else found.deadline
