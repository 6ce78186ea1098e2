"""Fast completion of the most common end: an enqueued task that succeeds at its first attempt.

The firing's own row tells of that attempt (`firings.worker`), so that one row is written and not
two, in a third of the time. What is recorded is what `complete` would record.
"""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from rota.queue import record
from rota.queue.dependents import FOLLOWED
from rota.queue.unblock import FREE_NEXT

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.complete import Settlement

NO_HEADERS: Final = "[]"


def is_fast(each: Settlement) -> bool:
    """Whether the firing's own row can tell all there is to tell of its attempt."""
    claim, tried = each.claim, each.tried
    return (
        each.status == "succeeded"
        and claim.attempt == 1
        and claim.triggered_by == "enqueue"
        and tried is not None
        and tried.outcome == "succeeded"
        and tried.request is None
        and tried.error is None
        and each.code is None
        and each.step is None
        and each.reason is None
        and claim.saga is None
        # Of a task, an answer has a body and no headers.
        and tried.response_headers == (None if tried.response_body is None else NO_HEADERS)
    )


def split(batch: Sequence[Settlement]) -> tuple[list[Settlement], list[Settlement]]:
    """Those that can be completed fast, and the others."""
    fast: list[Settlement] = []
    others: list[Settlement] = []
    for each in batch:
        (fast if is_fast(each) else others).append(each)
    return fast, others


# A row's other values are found by its place in $2, which is sorted: a search among a thousand is
# cheaper than any join, and needs no planner to see that. An array of fixed-length values is read
# at its place at once; arrays of texts are read from their beginning, and are empty when there are
# none. There is no ON CONFLICT, which would look into every index twice: the ids of what is
# enqueued are random, and have never been there.
#
# Rows are locked as they are found, which may be in their order on disk: locking them in that of
# their ids first would cost a sixth more. So a pause does not wait for them (`withdraw`). An edit
# must; if the two deadlock, PostgreSQL ends one, and it is retried.
COMPLETE_FAST: LiteralString = (
    """
    WITH ended AS (
        DELETE FROM queue q
         WHERE q.id = ANY ($2::uuid[]) AND q.worker = $1 AND q.attempt = 1
           AND q.state = 'running' AND q.triggered_by = 'enqueue' AND q.saga IS NULL
     RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
               q.triggered_by, q.catch_up, q.replay_of, q.payload, 'succeeded' AS status,
               width_bucket(q.id, $2::uuid[]) AS n
    ), recorded AS ("""
    + record.ended(
        """(
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for, e.status,
               NULL AS reason, 1 AS attempt, e.triggered_by, e.catch_up,
               ($3::timestamptz[])[e.n] AS started_at, ($4::timestamptz[])[e.n] AS finished_at,
               ($7::text[])[e.n] AS result_excerpt, e.replay_of, e.payload,
               e.available_at AS due_at, $1 AS worker,
               ($5::text[])[coalesce(($6::integer[])[e.n], 1)] AS task,
               ($8::bytea[])[e.n] AS result
          FROM ended e)""",
        also="result_excerpt, due_at, worker, task, result",
    )
    + """
    ), """
    + FOLLOWED
    + ", "
    + FREE_NEXT
    + """
    SELECT CASE WHEN (SELECT count(*) FROM ended) < cardinality($2::uuid[])
                THEN ARRAY(SELECT ended.id FROM ended) END AS accepted,
           (SELECT count(*) FROM freed) AS freed,
           ARRAY(SELECT followed.id FROM followed) AS followed
"""
)


@dataclass(frozen=True, slots=True)
class Completed:
    """Which settlements were accepted, and what follows."""

    accepted: Collection[UUID]
    freed: int
    followed: Collection[UUID]


async def settle(tx: Tx, worker: UUID, fast: Sequence[Settlement]) -> Completed:
    """Record these, which `split` has chosen."""
    batch = sorted(fast, key=_by_id)
    (row,) = await tx.fetch(COMPLETE_FAST, worker, *_columns(batch))
    ids = row["accepted"]
    accepted = [each.claim.id for each in batch] if ids is None else ids
    return Completed(accepted, row["freed"], row["followed"])


def _by_id(each: Settlement) -> UUID:
    return each.claim.id


def _columns(batch: Sequence[Settlement]) -> tuple[list[object], ...]:
    """The statement's arguments after the worker, of a batch sorted by id."""
    tasks: dict[str | None, int] = {}
    numbers: list[object] = []
    excerpts: list[object] = []
    results: list[object] = []
    for each in batch:
        tried = each.tried
        assert tried is not None
        numbers.append(tasks.setdefault(tried.task, len(tasks) + 1))
        excerpts.append(each.excerpt)
        results.append(tried.response_body)
    has_results = any(results) or any(excerpts)
    return (
        [each.claim.id for each in batch],
        [each.started_at for each in batch],
        [each.finished_at for each in batch],
        list(tasks),
        numbers if len(tasks) > 1 else [],
        excerpts if has_results else [],
        results if has_results else [],
    )


# The attempts that firings tell of themselves, as rows of `attempts` would have them. A payload
# that the firing does not have is null in the request: a schedule's own is never left out so.
FAST_ATTEMPTS: LiteralString = """
    SELECT f.id AS firing_id, f.tenant_id, f.schedule_id, f.scheduled_for, f.attempt, f.worker,
           f.started_at, f.finished_at, 'succeeded' AS outcome, NULL AS error,
           CASE WHEN f.task IS NOT NULL
                THEN jsonb_build_object('task', f.task, 'payload', f.payload) END AS request,
           NULL::integer AS response_status,
           CASE WHEN f.result IS NOT NULL THEN '[]'::jsonb END AS response_headers,
           f.result AS response_body, NULL AS step, false AS compensating
      FROM firings f
     WHERE f.worker IS NOT NULL
"""
