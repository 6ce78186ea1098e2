"""The statements that make firings in the queue those of their schedule as it has been edited."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.definition import Definition
    from rota.schedules.schedule import Schedule

# Prepared ahead, by the schedule itself, and not begun as far as anybody can tell from here.
_PREPARED: LiteralString = """
    SELECT scheduled_for FROM queue
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
       AND attempt <= CASE state WHEN 'running' THEN 1 ELSE 0 END AND cancel_reason IS NULL
"""

# Whoever holds one hears of it and lets go of it; claimed again, it is of the new version.
_CARRY_OVER: LiteralString = """
    WITH carried AS (
        UPDATE queue
           SET version = $3, priority = $4, lane = $5, host = $6,
               available_at = scheduled_for + $7::interval
         WHERE schedule_id = $1 AND scheduled_for = ANY ($2::timestamptz[])
           AND triggered_by = 'schedule' AND saga IS NULL
     RETURNING schedule_id, state
    )
    SELECT pg_notify('rota_recall', schedule_id::text)
      FROM (SELECT DISTINCT schedule_id FROM carried WHERE state = 'running') AS held
"""

# Of a schedule that fires when it is asked to: what waits was asked for, and is not the schedule's
# to take back. What has been tried already is tried again as edited only where that sends the same
# ($8): another request under the same idempotency key would be taken for the one before.
_CARRY_OVER_ASKED: LiteralString = """
    WITH carried AS (
        UPDATE queue
           SET version = $2,
               priority = CASE WHEN priority = $3 THEN $4 ELSE priority END,
               lane = CASE WHEN lane = $5 THEN $6 ELSE lane END,
               host = CASE WHEN lane = $5 THEN $7 ELSE host END
         WHERE schedule_id = $1 AND triggered_by <> 'schedule' AND cancel_reason IS NULL
           AND saga IS NULL
           AND ($8 OR attempt = 0
                OR state = 'running' AND attempt = 1 AND available_at > clock_timestamp())
     RETURNING schedule_id, state
    )
    SELECT pg_notify('rota_recall', schedule_id::text)
      FROM (SELECT DISTINCT schedule_id FROM carried WHERE state = 'running') AS held
"""


async def prepared(tx: Tx, schedule_id: UUID, *, after: datetime) -> list[datetime]:
    """The slots after the instant that wait in the queue, or that a worker holds ahead of time."""
    rows = await tx.fetch(_PREPARED, schedule_id, after)
    return [row["scheduled_for"] for row in rows]


async def carry_over(
    tx: Tx, schedule: Schedule, slots: Sequence[datetime], *, spread: timedelta
) -> None:
    """Make the firings of these slots firings of the schedule as it is now."""
    definition = schedule.definition
    await tx.fetch(
        _CARRY_OVER,
        schedule.id,
        list(slots),
        schedule.version,
        definition.priority,
        definition.lane,
        definition.host,
        spread,
    )


async def carry_over_asked(tx: Tx, schedule: Schedule, *, before: Definition) -> None:
    """Make the runs that were asked for, and wait, runs of the schedule as it is now."""
    definition = schedule.definition
    await tx.fetch(
        _CARRY_OVER_ASKED,
        schedule.id,
        schedule.version,
        before.priority,
        definition.priority,
        before.lane,
        definition.lane,
        definition.host,
        definition.sends == before.sends,
    )
