"""Withdrawing firings: before they run, by schedule; and cancelling them, by id.

For one or for thousands alike. What no worker holds ends here: its row goes, and its outcome is
recorded. What a worker holds and has not begun is recalled: the worker gives it back if that is
still so, and what the worker says is what is recorded. What runs is asked to end.

Nothing is recorded as skipped whose target was called (`record.withdrawn`).
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, LiteralString

from rota.db import locks
from rota.queue import record
from rota.queue.states import DETACHED
from rota.queue.unblock import FREE_NEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx

Reason = Literal["paused", "edited", "deleted"]
"""Why the firings of a schedule are withdrawn (`states.WITHDRAW_REASONS`)."""


def unreached(now: LiteralString) -> LiteralString:
    """That the row `q` waits for an instant after `now`, and was never begun.

    `began_at` is the first instant it had: one that was postponed, for its host's sake for example,
    has reached that one.
    """
    return (
        """(
               q.saga IS NULL AND q.state IN ('waiting', 'running')
               AND q.attempt = CASE q.state WHEN 'running' THEN 1 ELSE 0 END
               AND coalesce(q.began_at, q.available_at) > """
        + now
        + """)
"""
    )


def asked_to_end(reason: LiteralString) -> LiteralString:
    """What to set in the rows `q` of firings that are under way and are to end.

    An end that is asked for replaces a recall (`states.WITHDRAW_REASONS`), which would let a
    running attempt go on. A detached one (`states.DETACHED`, the nil UUID) has its time cut to now,
    so that it is found overdue and ended. Between two steps, the next claim turns the firing back
    at once. A compensation goes on undisturbed, its backoff too: otherwise each overlapping slot
    would use up one of its attempts.
    """
    return (
        """
               cancel_reason = CASE WHEN q.saga -> 'back' = 'true' THEN q.cancel_reason
                                    WHEN q.cancel_reason IN ('paused', 'edited', 'deleted')
                                    THEN """
        + reason
        + """
                                    ELSE coalesce(q.cancel_reason, """
        + reason
        + """) END,
               claimed_until = CASE WHEN q.worker = '00000000-0000-0000-0000-000000000000'
                                     AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                    THEN clock_timestamp() ELSE q.claimed_until END,
               available_at = CASE WHEN q.state IN ('waiting', 'retrying')
                                    AND q.saga -> 'back' IS DISTINCT FROM 'true'
                                   THEN least(q.available_at, clock_timestamp())
                                   ELSE q.available_at END
"""
    )


def cancel_waiting(schedules: LiteralString, *, now: LiteralString) -> LiteralString:
    """Take from the queue what the firings that enter now replace, and no worker holds.

    `schedules` is an array of ids: a plan cached while the queue was empty would walk all of a
    join. What waits for an instant after `now` is not live yet, and stays. Returns what
    `record.withdrawn` needs.
    """
    return (
        """
        DELETE FROM queue q
         WHERE q.schedule_id = ANY ("""
        + schedules
        + """) AND q.state <> 'running' AND q.saga IS NULL
           AND NOT """
        + unreached(now)
        + """
     RETURNING """
        + record.WITHDRAWN_COLUMNS
    )


def cancel_running(schedules: LiteralString, *, now: LiteralString) -> LiteralString:
    """Ask for the end of what the firings that enter now replace, and that is under way.

    The caller notifies `locks.CANCEL` of each id returned.
    """
    return (
        """
        UPDATE queue q
           SET """
        + asked_to_end("'overlap'")
        + """
         WHERE q.schedule_id = ANY ("""
        + schedules
        + """) AND (q.state = 'running' OR q.saga IS NOT NULL)
           AND NOT """
        + unreached(now)
        + """
     RETURNING q.id, q.schedule_id
"""
    )


# In the order of `db.locks`, so that no claim comes in between. A pause leaves alone what a program
# has enqueued and a worker holds, and does not wait for it either: `complete_fast` ends many of
# these at once in no known order.
_LOCK: LiteralString = """
    SELECT FROM queue
     WHERE schedule_id = ANY ($1::uuid[])
       AND ($2 OR triggered_by <> 'enqueue' OR state <> 'running')
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""

# A firing past its first step is under way, also between two steps: a change of its schedule does
# not concern it (`saga`). A claim held ahead of its instant has not begun. What a program has
# enqueued is not withdrawn by a pause: it is held until the schedule is resumed
# (`unblock.resume_held`; `rota.enqueue` holds further runs in the same way).
_WITHDRAW: LiteralString = (
    """
    WITH withdrawn AS (
        DELETE FROM queue
         WHERE schedule_id = ANY ($1::uuid[]) AND state <> 'running' AND saga IS NULL
           AND version IS DISTINCT FROM $3 AND ($2 <> 'paused' OR triggered_by <> 'enqueue')
           AND ($4::uuid[] IS NULL OR id = ANY ($4))
     RETURNING """
    + record.WITHDRAWN_COLUMNS
    + """), recorded AS ("""
    + record.withdrawn("withdrawn", status="'skipped'", reason="$2::text")
    + """), recalled AS (
        UPDATE queue
           SET cancel_reason = coalesce(cancel_reason, $2)
         WHERE schedule_id = ANY ($1::uuid[]) AND state = 'running' AND saga IS NULL
           AND version IS DISTINCT FROM $3 AND ($2 <> 'paused' OR triggered_by <> 'enqueue')
           AND CASE WHEN $4::uuid[] IS NOT NULL THEN id = ANY ($4)
                    ELSE available_at > clock_timestamp() OR $2 = 'deleted' END
     RETURNING schedule_id, triggered_by, attempt
    ), asked AS MATERIALIZED (
        """
    + locks.notify_each(locks.RECALL, "schedule_id", "recalled")
    + """
    ), held AS (
        UPDATE queue
           SET available_at = 'infinity'
         WHERE schedule_id = ANY ($1::uuid[]) AND $2 = 'paused' AND triggered_by = 'enqueue'
           AND state IN ('waiting', 'retrying')
    )
    SELECT u.schedule_id, count(*) FILTER (WHERE u.unbegun) AS unbegun,
           (SELECT count(*) FROM asked) AS asked
      FROM (SELECT schedule_id, triggered_by = 'schedule' AND attempt = 0 AS unbegun FROM withdrawn
             UNION ALL
            SELECT schedule_id, triggered_by = 'schedule' AND attempt = 1 FROM recalled) AS u
     GROUP BY u.schedule_id
"""
)


async def withdraw(
    tx: Tx,
    schedule_ids: Sequence[UUID],
    reason: Reason,
    *,
    but_version: int | None = None,
    only: Sequence[UUID] | None = None,
) -> dict[UUID, int]:
    """End the schedules' firings that no worker holds, and recall those that none has begun.

    Except those of one version, or `only` these firings. Returns how many slots of each schedule
    will not be fired after all: they do not count towards max_firings. A worker that hears of a
    recall too late begins its claim all the same: one firing above max_firings, where not counting
    would be one below it after every pause.
    """
    ids = list(schedule_ids)
    if not await tx.fetch(_LOCK, ids, reason != "paused"):
        return {}
    named = None if only is None else list(only)
    rows = await tx.fetch(_WITHDRAW, ids, reason, but_version, named)
    return {row["schedule_id"]: row["unbegun"] for row in rows}


Answer = Literal["ended", "asked"]

# Unclaimed or detached: ended here and now. Claimed: its holder is asked to end it. Which of the
# two it is, is known once the row is locked: a claim may be under way. What is past its first step
# is asked too, whoever holds it: the next claim turns it back, unless it is on its way back.
_CANCEL: LiteralString = (
    """
    WITH held AS MATERIALIZED (
        SELECT *, state = 'running' AND worker <> $3 OR saga IS NOT NULL AS is_held
          FROM queue
         WHERE id = ANY ($1::uuid[])
         ORDER BY state = 'blocked', id
           FOR UPDATE
    ), asked AS (
        UPDATE queue q
           SET """
    + asked_to_end("$2::text")
    + """
         WHERE q.id = ANY (ARRAY(SELECT held.id FROM held WHERE held.is_held))
     RETURNING q.id, """
    + locks.notify(locks.CANCEL, "q.id::text")
    + """, """
    + locks.notify(locks.QUEUE, "q.lane")
    + """
    ), deleted AS (
        DELETE FROM queue q
         WHERE q.id = ANY (ARRAY(SELECT held.id FROM held WHERE NOT held.is_held))
    ), ended AS (
        SELECT * FROM held WHERE NOT is_held
    ), tried AS (
        UPDATE attempts a
           SET outcome = 'cancelled', error = $2::text, finished_at = clock_timestamp()
          FROM ended e
         WHERE a.firing_id = e.id AND a.scheduled_for = e.scheduled_for
           AND a.attempt = e.attempt AND a.outcome = 'accepted'
    ), recorded AS (
"""
    + record.withdrawn("ended", status="'cancelled'", reason="$2::text")
    + """
    ), """
    + FREE_NEXT
    + """
    SELECT id, 'asked' AS answer FROM asked UNION ALL SELECT id, 'ended' FROM ended
"""
)


async def cancel(tx: Tx, firing_ids: Sequence[UUID], reason: str) -> dict[UUID, Answer]:
    """Cancel these firings. Those that are not live are not in the answer.

    `ended` when no worker had it, `asked` when the worker that has it was notified. What is
    detached is ended at once: only its target would know, and it hears of it when it reports.

    A worker that is asked ends it within a moment, and what it then records is what happened: an
    attempt that was already over keeps its outcome.
    """
    rows = await tx.fetch(_CANCEL, list(firing_ids), reason, DETACHED)
    return {row["id"]: row["answer"] for row in rows}


# Slots to come, which their timers are to decide on again. Nothing is recorded: a slot has either a
# row or a timer, and this one goes back to its timer (`schedules.prepared`).
_TAKE_PREPARED: LiteralString = """
    DELETE FROM queue WHERE id = ANY ($1::uuid[]) RETURNING schedule_id, scheduled_for
"""

_RECALL_PREPARED: LiteralString = """
    WITH held AS (
        UPDATE queue SET recalled = true WHERE id = ANY ($1::uuid[]) RETURNING schedule_id
    )
    """ + locks.notify_each(locks.RECALL, "schedule_id", "held")


async def take_prepared(tx: Tx, ids: Sequence[UUID]) -> list[tuple[UUID, datetime]]:
    """Take these out of the queue; returns the schedule and the slot of each."""
    rows = await tx.fetch(_TAKE_PREPARED, list(ids)) if ids else []
    return [(row["schedule_id"], row["scheduled_for"]) for row in rows]


async def recall_prepared(tx: Tx, ids: Sequence[UUID]) -> None:
    """Ask the workers that hold these to give them back, unless they have begun."""
    if ids:
        await tx.fetch(_RECALL_PREPARED, list(ids))


# Of the worker $1, and not in its hands any more: it knows only $2.
_RECALLED: LiteralString = """
    SELECT id, schedule_id
      FROM queue
     WHERE state = 'running' AND worker = $1 AND id <> ALL ($2::uuid[])
       AND recalled AND attempt = 1 AND cancel_reason IS NULL
"""

# What was blocked behind them goes: that is what they were recalled for.
_TAKE_RECALLED: LiteralString = (
    """
    WITH ended AS (
        DELETE FROM queue
         WHERE id = ANY ($1::uuid[]) AND state = 'running' AND worker = $2
           AND recalled AND attempt = 1 AND cancel_reason IS NULL
     RETURNING id, schedule_id, scheduled_for
    ), """
    + FREE_NEXT
    + """, woken AS MATERIALIZED (
        """
    + locks.notify_each(locks.QUEUE, "lane", "freed")
    + """
    )
    SELECT schedule_id, scheduled_for, (SELECT count(*) FROM woken) FROM ended
"""
)


async def recalled(tx: Tx, worker: UUID, *, known: Collection[UUID]) -> list[tuple[UUID, UUID]]:
    """Claims of the worker that were asked back and that it has let go of; id and schedule."""
    rows = await tx.fetch(_RECALLED, worker, list(known))
    return [(row["id"], row["schedule_id"]) for row in rows]


async def take_recalled(tx: Tx, worker: UUID, ids: Sequence[UUID]) -> list[tuple[UUID, datetime]]:
    """Take these out of the queue; returns the schedule and the slot of each."""
    rows = await tx.fetch(_TAKE_RECALLED, list(ids), worker)
    return [(row["schedule_id"], row["scheduled_for"]) for row in rows]
