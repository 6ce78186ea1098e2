"""The statements on a schedule's live firings, by those who change or run the schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota import ids

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.passed import Passed
    from rota.schedules.schedule import Schedule

# Until the transaction ends no worker claims, ends or frees one of these; and none can be added, as
# whoever adds one has the timer or the schedule, which are ours: but for a program that enqueues,
# which asks nobody (`queue.held_sql`). In the order of their ids, as workers end them: of delayed
# runs that is not the order of their instants. Blocked ones last: an end frees a blocked one,
# perhaps of an older slot (a backfill's), and two that wait for each other's rows would wait for
# ever.
#
# One that has come past its first step is under way, also between two of them: a change of its
# schedule leaves it alone (`saga`), and only an end that is asked for turns it back.
_LOCK_LIVE: LiteralString = """
    SELECT CASE WHEN saga IS NULL THEN state ELSE 'running' END AS state FROM queue
     WHERE schedule_id = $1 ORDER BY state = 'blocked', id FOR UPDATE
"""

# A pause leaves alone what a program has enqueued and a worker has: neither does it wait for that,
# as `queue.plain_sql.PLAIN` ends many of these at once in an order that nobody knows.
_LOCK_PAUSED: LiteralString = """
    SELECT FROM queue
     WHERE schedule_id = $1 AND (triggered_by <> 'enqueue' OR state <> 'running')
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""

_KNOWN_SLOTS: LiteralString = """
    SELECT scheduled_for FROM queue
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
     UNION
    SELECT scheduled_for FROM firings
     WHERE schedule_id = $1 AND scheduled_for > $2 AND triggered_by = 'schedule'
"""

_TAKE: LiteralString = """
    DELETE FROM queue
     WHERE schedule_id = $1 AND state <> 'running' AND version IS DISTINCT FROM $2
       AND saga IS NULL AND ($3 OR triggered_by <> 'enqueue')
 RETURNING id, version, scheduled_for, attempt, triggered_by, catch_up, replay_of, payload
"""

# What a program has enqueued is not the schedule's to take back: while that is paused, it waits.
# (`rota.enqueue` enters it so as well, and `together_sql` does the same for many.)
_HOLD_ENQUEUED: LiteralString = """
    UPDATE queue
       SET available_at = 'infinity'
     WHERE schedule_id = $1 AND triggered_by = 'enqueue' AND state IN ('waiting', 'retrying')
"""

_FREE_ENQUEUED: LiteralString = """
    WITH freed AS (
        UPDATE queue
           SET available_at = greatest(scheduled_for, clock_timestamp())
         WHERE schedule_id = $1 AND triggered_by = 'enqueue' AND available_at = 'infinity'
     RETURNING lane
    )
    SELECT pg_notify('rota_queue', lane) FROM (SELECT DISTINCT lane FROM freed) AS l
"""

# Held ahead of its instant, so not begun: whoever holds it gives it back if that is still true.
_RECALL: LiteralString = """
    WITH held AS (
        UPDATE queue
           SET cancel_reason = coalesce(cancel_reason, $2)
         WHERE schedule_id = $1 AND state = 'running'
           AND (available_at > clock_timestamp() OR $2 = 'deleted')
           AND version IS DISTINCT FROM $3 AND saga IS NULL
           AND NOT ($2 = 'paused' AND triggered_by = 'enqueue')
     RETURNING schedule_id, triggered_by, attempt
    ), asked AS MATERIALIZED (
        SELECT pg_notify('rota_recall', schedule_id::text)
          FROM (SELECT DISTINCT schedule_id FROM held) AS h
    )
    SELECT (SELECT count(*) FROM held WHERE triggered_by = 'schedule' AND attempt = 1),
           (SELECT count(*) FROM asked)
"""

# Whoever holds one is told to end it, begun or not: that outdoes a recall, which would let a
# running attempt go on (`queue.states.RECALLS`, as in `queue.sql.CANCEL`). What is left to its
# target (held by the nil UUID, `queue.states.NOBODY`) has its time cut to now: the next look for
# what is overdue ends it.
_CANCEL: LiteralString = """
    UPDATE queue
       SET cancel_reason = CASE WHEN saga -> 'back' = 'true' THEN cancel_reason
                                WHEN cancel_reason IN ('paused', 'edited', 'deleted') THEN $2
                                ELSE coalesce(cancel_reason, $2) END,
           claimed_until = CASE WHEN worker = '00000000-0000-0000-0000-000000000000'
                                 AND saga -> 'back' IS DISTINCT FROM 'true'
                                THEN clock_timestamp() ELSE claimed_until END,
           available_at = CASE WHEN state = 'running' THEN available_at
                               ELSE least(available_at, clock_timestamp()) END
     WHERE schedule_id = $1 AND (state = 'running' OR saga IS NOT NULL)
 RETURNING pg_notify('rota_cancel', id::text)
"""

_RECORD: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, catch_up, started_at, finished_at, replay_of,
                         payload)
    SELECT x.id, $1, $2, x.version, x.scheduled_for, $3, $4, x.attempt, x.triggered_by, x.catch_up,
           CASE WHEN x.attempt > 0 THEN
                (SELECT min(a.started_at) FROM attempts a
                  WHERE a.firing_id = x.id AND a.scheduled_for = x.scheduled_for) END,
           clock_timestamp(), x.replay_of, x.payload
      FROM unnest($5::uuid[], $6::integer[], $7::timestamptz[], $8::smallint[], $9::text[],
                  $10::boolean[], $11::uuid[], $12::jsonb[])
           AS x(id, version, scheduled_for, attempt, triggered_by, catch_up, replay_of, payload)
        ON CONFLICT DO NOTHING
"""

_RECORD_PASSED: LiteralString = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, last_slot_at,
                         slot_count, status, reason, triggered_by, finished_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, 'skipped', $8, 'schedule', clock_timestamp())
        ON CONFLICT DO NOTHING
"""

# A manual run is rare, so it may wake the workers; a scheduled one never does.
_ENQUEUE: LiteralString = """
    WITH entered AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                           priority, state, triggered_by, lane, host, payload)
        VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9, $10, $11)
        RETURNING lane
    )
    SELECT pg_notify('rota_queue', lane) FROM entered
"""


# One after another, in the order of their slots: only the first may go at once.
_ENQUEUE_CHAIN: LiteralString = """
    WITH entered AS (
        INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                           priority, catch_up, state, triggered_by, lane, host)
        SELECT x.id, $1, $2, $3, x.slot, clock_timestamp(), $4, true,
               CASE WHEN x.n = 1 AND NOT $5 THEN 'waiting' ELSE 'blocked' END, 'backfill', $6, $7
          FROM unnest($8::uuid[], $9::timestamptz[]) WITH ORDINALITY AS x(id, slot, n)
        RETURNING lane
    )
    SELECT pg_notify('rota_queue', lane) FROM (SELECT DISTINCT lane FROM entered) AS l
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A firing that was in the queue and that no worker had."""

    id: UUID
    version: int
    scheduled_for: datetime
    attempt: int
    triggered_by: str
    catch_up: bool
    replay_of: UUID | None = None
    payload: str | None = None


async def lock_live(tx: Tx, schedule_id: UUID) -> list[str]:
    """The states of its firings in the queue, which stay so until the transaction ends.

    To be called with the schedule and its timer locked, and before what follows is asked.
    """
    return [row["state"] for row in await tx.fetch(_LOCK_LIVE, schedule_id)]


async def lock_paused(tx: Tx, schedule_id: UUID) -> bool:
    """The same for those that a pause of the schedule concerns; whether there are any."""
    return bool(await tx.fetch(_LOCK_PAUSED, schedule_id))


async def known_slots(tx: Tx, schedule_id: UUID, *, after: datetime) -> set[datetime]:
    """The slots after the instant that are in the queue or have their outcome already."""
    rows = await tx.fetch(_KNOWN_SLOTS, schedule_id, after)
    return {row["scheduled_for"] for row in rows}


async def take(
    tx: Tx, schedule_id: UUID, *, but: int | None = None, enqueued: bool = True
) -> list[Taken]:
    """Take the firings that no worker has out of the queue, but for those of this version.

    Without `enqueued` those stay that a program has enqueued.
    """
    rows = await tx.fetch(_TAKE, schedule_id, but, enqueued)
    return [Taken(**dict(row.items())) for row in rows]


async def hold_enqueued(tx: Tx, schedule_id: UUID) -> None:
    """Let what was enqueued, and has not begun, wait until the schedule is resumed."""
    await tx.execute(_HOLD_ENQUEUED, schedule_id)


async def free_enqueued(tx: Tx, schedule_id: UUID) -> None:
    """Let what was held go."""
    await tx.fetch(_FREE_ENQUEUED, schedule_id)


async def recall(tx: Tx, schedule_id: UUID, reason: str, *, but: int | None = None) -> int:
    """Ask for those back that a worker has and has not begun, but for those of this version.

    How many slots of the schedule's own that is.
    """
    count: int = await tx.fetch_value(_RECALL, schedule_id, reason, but)
    return count


async def cancel(tx: Tx, schedule_id: UUID, reason: str) -> None:
    """Ask for an end of those that a worker has."""
    await tx.fetch(_CANCEL, schedule_id, reason)


async def record(
    tx: Tx, schedule: Schedule, taken: Sequence[Taken], *, status: str, reason: str
) -> None:
    """Write down what became of firings."""
    if not taken:
        return
    await tx.execute(
        _RECORD,
        schedule.id,
        schedule.tenant_id,
        status,
        reason,
        [each.id for each in taken],
        [each.version for each in taken],
        [each.scheduled_for for each in taken],
        [each.attempt for each in taken],
        [each.triggered_by for each in taken],
        [each.catch_up for each in taken],
        [each.replay_of for each in taken],
        [each.payload for each in taken],
    )


async def record_passed(tx: Tx, schedule: Schedule, passed: Passed, *, reason: str) -> None:
    """Write down, as one row, slots that passed and were not to fire."""
    several = passed.count > 1
    await tx.execute(
        _RECORD_PASSED,
        ids.firing_id(schedule.id, passed.first),
        schedule.id,
        schedule.tenant_id,
        schedule.version,
        passed.first,
        passed.last if several else None,
        passed.count,
        reason,
    )


async def enqueue(
    tx: Tx,
    schedule: Schedule,
    *,
    id_: UUID,
    at: datetime,
    state: str,
    triggered_by: str,
    payload: str | None,
) -> None:
    """Put a run that somebody asked for into the queue."""
    definition = schedule.definition
    await tx.fetch(
        _ENQUEUE,
        id_,
        schedule.id,
        schedule.tenant_id,
        schedule.version,
        at,
        definition.priority,
        state,
        triggered_by,
        definition.lane,
        definition.host,
        payload,
    )


async def enqueue_chain(
    tx: Tx, schedule: Schedule, slots: Sequence[tuple[UUID, datetime]], *, behind: bool
) -> None:
    """Put firings of past slots into the queue, each behind the one before.

    `behind` what is live already, too.
    """
    definition = schedule.definition
    await tx.fetch(
        _ENQUEUE_CHAIN,
        schedule.id,
        schedule.tenant_id,
        schedule.version,
        definition.priority,
        behind,
        definition.lane,
        definition.host,
        [id_ for id_, _ in slots],
        [slot for _, slot in slots],
    )
