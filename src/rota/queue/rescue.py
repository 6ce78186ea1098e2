"""Taking claims from workers that are gone (docs/decisions/right-to-begin.md)."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.queue import record
from rota.queue.dependents import End, follow
from rota.queue.states import DETACHED, WITHDRAW_REASONS
from rota.queue.unblock import FREE_NEXT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx

LAST_ATTEMPT: Final = 35
"""A firing lost with its worker at this attempt ends: it may well be what kills the workers."""

BATCH: Final = 1_000

GONE_FOR: Final = timedelta(seconds=2)
"""How long a worker's session must have been seen to be gone before its claims are taken. Longer
than a worker may begin after its session was last confirmed (`leases.session.CONFIRMED_FOR`)."""
SILENT_FOR: Final = timedelta(seconds=15)
"""After this long without a confirmation a worker is gone, though its session may still be there:
frozen, or cut off. The time of a lease."""

MAY_NOT_HAVE_BEEN_SENT: Final = "worker lost; it may not have been sent"
"""The reason of a firing that is delivered at most once and was lost with its worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescued:
    """A claim that was taken from its worker."""

    id: UUID
    """The firing's."""
    worker: UUID
    attempt: int
    state: str
    """waiting: somebody else may claim it now. dead, cancelled, skipped: it has ended."""


_IS_EMPTY: LiteralString = "SELECT is_queue_empty()"


async def is_queue_empty(tx: Tx) -> bool:
    """Whether there is no firing in the queue, of any state: nothing to claim, rescue or settle."""
    return await tx.fetch_value(_IS_EMPTY)


# Workers that hold claims; not those that are left to their targets ($1).
_HOLDERS: LiteralString = """
    SELECT DISTINCT q.worker FROM queue q WHERE q.state = 'running' AND q.worker <> $1
"""


async def holders(tx: Tx) -> list[UUID]:
    """The workers that hold claims."""
    return [row["worker"] for row in await tx.fetch(_HOLDERS, DETACHED)]


# Claims that have run out, and those of the workers $4 whose nodes were declared gone; none of them
# could begin anything after its instant in $6. What had not reached its own instant by then was
# never begun, and is put back as if it had not been claimed. Otherwise the attempt number stays:
# the attempt was made, or may have been.
#
# What is delivered at most once is never put back, and ends only when its worker has been silent
# for $7: nobody waits for it, and a worker that comes back knows how it ended.
#
# What has come past its first step does not end here: `lost` is for its next claimant to turn it
# back.
_GONE: LiteralString = """
    gone AS MATERIALIZED (
        SELECT q.id, q.schedule_id, q.attempt, q.worker, q.available_at, q.cancel_reason, q.saga,
               q.available_at > coalesce(g.could_begin_until, clock_timestamp()) AS unstarted,
               q.attempt - coalesce((q.saga ->> 'base')::integer, 0) AS tries
          FROM queue q
          LEFT JOIN unnest($4::uuid[], $6::timestamptz[]) AS g(worker, could_begin_until)
            ON g.worker = q.worker
         WHERE q.state = 'running' AND q.worker <> $5
           AND (q.claimed_until < (SELECT clock_timestamp())
                OR g.could_begin_until < (SELECT clock_timestamp() - $7::interval)
                OR g.worker IS NOT NULL AND NOT EXISTS (
                   SELECT FROM schedules s
                    WHERE s.id = q.schedule_id
                      AND s.definition ->> 'delivery' = 'at_most_once'))
         ORDER BY q.id
         LIMIT $1
           FOR UPDATE OF q SKIP LOCKED
    ), judged AS MATERIALIZED (
        SELECT g.*, o.once,
               coalesce(g.saga ->> 'step', s.definition #>> '{steps,0,name}') AS step,
               g.saga IS NOT NULL AND (
                   g.tries >= $2 AND NOT g.unstarted
                   OR o.once AND g.saga -> 'back' IS DISTINCT FROM 'true') AS lost,
               CASE WHEN g.saga IS NOT NULL THEN NULL
                    WHEN g.unstarted AND g.attempt = 1 AND g.cancel_reason = ANY ($3::text[])
                    THEN 'skipped'
                    WHEN g.cancel_reason IS NOT NULL THEN 'cancelled'
                    WHEN o.once THEN 'dead'
                    WHEN g.unstarted THEN NULL
                    WHEN g.tries >= $2 THEN 'dead'
               END AS status
          FROM gone g
          LEFT JOIN schedules s ON s.id = g.schedule_id
         CROSS JOIN LATERAL (
               SELECT s.definition ->> 'delivery' IS NOT DISTINCT FROM 'at_most_once' AS once) AS o
    ), """

RESCUE: LiteralString = (
    "WITH "
    + _GONE
    + """
    returned AS (
        UPDATE queue q
           SET state = CASE WHEN j.unstarted AND q.attempt > 1 THEN 'retrying' ELSE 'waiting' END,
               attempt = CASE WHEN j.unstarted THEN q.attempt - 1 ELSE q.attempt END,
               -- One that was postponed has had its first instant.
               began_at = CASE WHEN j.unstarted AND q.attempt = 1
                                    AND q.began_at >= q.available_at
                               THEN NULL ELSE q.began_at END,
               worker = NULL, claimed_until = NULL,
               cancel_reason = CASE WHEN j.lost THEN coalesce(q.cancel_reason, 'worker lost')
                                    ELSE q.cancel_reason END
          FROM judged j
         WHERE q.id = j.id AND j.status IS NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.scheduled_for
    ), ended AS (
        DELETE FROM queue q
         USING judged j
         WHERE q.id = j.id AND j.status IS NOT NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.triggered_by,
               q.catch_up, q.cancel_reason, q.replay_of, q.payload
    ), recorded AS ("""
    + record.ended(
        """(
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for, j.status,
               coalesce(e.cancel_reason, CASE WHEN j.once THEN $8 ELSE 'worker lost' END) AS reason,
               CASE WHEN j.unstarted THEN j.attempt - 1 ELSE j.attempt END AS attempt,
               e.triggered_by, e.catch_up,
               coalesce((SELECT min(a.started_at) FROM attempts a
                          WHERE a.firing_id = e.id AND a.scheduled_for = e.scheduled_for),
                        CASE WHEN NOT j.unstarted THEN j.available_at END) AS started_at,
               clock_timestamp() AS finished_at, e.replay_of, e.payload
          FROM ended e
          JOIN judged j ON j.id = e.id)"""
    )
    + """
            ON CONFLICT DO NOTHING
    ), tried AS (
        INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                              started_at, finished_at, outcome, error, step, compensating)
        SELECT h.id, h.tenant_id, h.schedule_id, h.scheduled_for, j.attempt, j.worker,
               j.available_at, clock_timestamp(), 'lost', 'the worker was lost', j.step,
               coalesce((j.saga ->> 'back')::boolean, false)
          FROM (SELECT id, tenant_id, schedule_id, scheduled_for FROM returned
                UNION ALL
                SELECT id, tenant_id, schedule_id, scheduled_for FROM ended) AS h
          JOIN judged j ON j.id = h.id
         WHERE NOT j.unstarted
            ON CONFLICT DO NOTHING
    ), """
    + FREE_NEXT
    + """
    SELECT j.id, j.worker, j.attempt, coalesce(j.status, 'waiting') AS state, j.schedule_id,
           j.once, (SELECT e.scheduled_for FROM ended e WHERE e.id = j.id) AS ended_for
      FROM judged j
"""
)


async def rescue(tx: Tx, *, gone: Mapping[UUID, datetime] | None = None) -> list[Rescued]:
    """Take the claims that have run out, and those of the workers that are `gone`.

    `gone` says of each until when it may have begun an attempt. What it cannot have begun is put
    back without using an attempt. What it may have begun is put back with the attempt counted, or
    is dead if it is to be delivered at most once; what somebody wanted ended is ended. What is left
    to its target is nobody's to rescue. Many processes may do this at the same time: each claim is
    rescued by one of them.
    """
    gone = gone or {}
    rows = await tx.fetch(
        RESCUE,
        BATCH,
        LAST_ATTEMPT,
        sorted(WITHDRAW_REASONS),
        list(gone),
        DETACHED,
        list(gone.values()),
        SILENT_FOR,
        MAY_NOT_HAVE_BEEN_SENT,
    )
    dead = [_end(row) for row in rows if row["state"] == "dead"]
    if dead:
        await follow(tx, dead)
    return [
        Rescued(id=row["id"], worker=row["worker"], attempt=row["attempt"], state=row["state"])
        for row in rows
    ]


def _end(row: Row) -> End:
    return End(
        id=row["id"],
        schedule_id=row["schedule_id"],
        scheduled_for=row["ended_for"],
        status="dead",
        reason=MAY_NOT_HAVE_BEEN_SENT if row["once"] else "worker lost",
    )
