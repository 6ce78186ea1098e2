"""Completing claims: a firing ends, is tried again, goes on to its next step or is detached."""

# ruff: noqa: S608 - joined from literals alone, as LiteralString proves

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, LiteralString

import msgspec

from rota.db import locks
from rota.errors import ContractBroken
from rota.queue import complete_fast, record
from rota.queue.claim_guard import CLAIM_GUARD
from rota.queue.dependents import FOLLOWED, FOLLOWED_STATUSES, End, follow
from rota.queue.states import DETACHED, WITHDRAW_REASONS
from rota.queue.unblock import FREE_NEXT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.claim import Claim
    from rota.queue.dependents import Upstreams
    from rota.queue.states import Status


CUT_MARK: Final = "capture_cut"
"""In an attempt's request: that only excerpts of it and of the response were kept."""


_WITHDRAW_REASONS: Final = sorted(WITHDRAW_REASONS)


class AttemptRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One attempt, as it is stored."""

    outcome: str
    """succeeded, failed, timed_out, cancelled, interrupted; accepted while its target works on it
    by itself. `lost` is for rescue to say."""
    error: str | None = None
    request: str | None = None
    """JSON."""
    response_headers: str | None = None
    """JSON."""
    response_body: bytes | None = None
    task: str | None = None
    """In place of a request: this task was called, with the firing's own payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a firing that has several (`queue.saga`)."""

    name: str
    compensating: bool = False
    state: str | None = None
    """Where the firing goes on, as JSON; None when it does not."""
    lane: str | None = None
    host: str | None = None
    shown: str | None = None
    """Of one that has ended: what became of all its steps, as JSON."""

    @property
    def stored(self) -> str:
        """As the statement reads it."""
        parts = {"step": self.name, "compensating": self.compensating}
        if self.state is not None:
            parts |= {"state": msgspec.Raw(self.state), "lane": self.lane, "host": self.host}
        if self.shown is not None:
            parts |= {"steps": msgspec.Raw(self.shown)}
        return msgspec.json.encode(parts).decode()


class Settlement(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is to become of a claim: it ends with a status, is tried again at `retry_at`, or is left
    to its target until `detached_until`.

    A Struct, as a `Claim` is, and for the same reason.
    """

    claim: Claim
    started_at: datetime | None
    """None when no attempt was made."""
    finished_at: datetime
    status: Status | None = None
    reason: str | None = None
    retry_at: datetime | None = None
    detached_until: datetime | None = None
    tried: AttemptRecord | None = None
    """None when no attempt was made."""
    code: int | None = None
    excerpt: str | None = None
    gone: bool = False
    """The target is no more, as it said: whoever settles this pauses the schedule."""
    result: bytes | None = None
    """What it answered, for those that follow; None when that is too long to hand on."""
    step: Step | None = None
    """Of a firing that goes through steps: which one this was, and what comes next."""

    def __post_init__(self) -> None:
        ways = (self.status, self.retry_at, self.detached_until, self.step and self.step.state)
        if ways.count(None) != 3:
            raise ContractBroken(
                "expected a claim to end, to be tried again, to go on or to be left to its target, "
                "got none of these or several"
            )
        if (self.tried is None) != (self.started_at is None):
            raise ContractBroken("expected an attempt to have a start, and a start an attempt")

    @property
    def size(self) -> int:
        """Bytes worth counting when many wait to be recorded."""
        tried = self.tried
        if tried is None:
            return 0
        said = len(tried.request or "") + len(tried.response_headers or "")
        return said + len(tried.response_body or self.result or b"")


@dataclass(frozen=True, slots=True)
class Settled:
    """Which settlements were taken."""

    accepted: frozenset[UUID]
    freed: int
    """How many blocked firings may go now."""


# `x` has a status for what ends, a retry_at for what is tried again, and a detached_until for what
# is detached. If the end of a firing was asked for, a retry or a detachment ends it instead: the
# caller must not wait. (A recall does not concern what has begun.) That is decided on the rows as
# they are once they are locked, not as they were when the statement began. A detached attempt is in
# `attempts` already, and is completed there.
#
# `saga` is of a firing that goes through steps (`queue.saga`), NULL for all others: a `state` moves
# the row on to its next step. One that is past its first step is never ended by a cancellation: it
# keeps it, is claimed again at once, and the next claimant turns it back.
SETTLE: LiteralString = (
    """
    WITH x AS MATERIALIZED (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::text[], $5::text[], $6::timestamptz[],
                      $7::timestamptz[], $8::timestamptz[], $9::timestamptz[], $10::integer[],
                      $11::text[], $12::text[], $13::text[], $14::text[], $15::text[],
                      $16::bytea[], $19::jsonb[])
               AS x(id, attempt, status, reason, retry_at, detached_until,
                    started_at, finished_at, code, excerpt,
                    outcome, error, request, headers, body, saga)
         ORDER BY id
    ), held AS MATERIALIZED (
        SELECT h.*, x.status, x.reason, x.retry_at, x.detached_until, x.started_at, x.finished_at,
               x.code, x.excerpt, x.outcome, x.error, x.request, x.headers, x.body, x.saga,
               x.saga -> 'state' IS NOT NULL AS moves,
               h.stepped AND h.cancel_reason IS NOT NULL AS turns,
               x.retry_at IS NOT NULL AND (h.cancel_reason IS NULL OR h.stepped)
               OR x.detached_until IS NOT NULL
                  AND (h.cancel_reason IS NULL OR h.cancel_reason = ANY ($17::text[]) OR h.stepped)
               OR x.saga -> 'state' IS NOT NULL AS again
          FROM x
         CROSS JOIN LATERAL (
               SELECT q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.attempt,
                      q.triggered_by, q.catch_up, q.cancel_reason, q.replay_of, q.payload,
                      q.available_at, q.saga IS NOT NULL AS stepped
                 FROM queue q
                WHERE """
    + CLAIM_GUARD
    + """                  FOR UPDATE) AS h
    ), retried AS (
        UPDATE queue q
           SET state = CASE WHEN h.retry_at IS NULL THEN 'running' ELSE 'retrying' END,
               available_at = CASE WHEN h.turns THEN least(h.retry_at, clock_timestamp())
                                   ELSE coalesce(h.retry_at, q.available_at) END,
               worker = CASE WHEN h.retry_at IS NULL THEN $18::uuid END,
               claimed_until = CASE WHEN h.turns THEN least(h.detached_until, clock_timestamp())
                                    ELSE h.detached_until END,
               progress = NULL,
               progress_note = NULL
          FROM held h
         WHERE q.id = h.id AND h.again AND NOT h.moves
           AND q.id = ANY (ARRAY(SELECT held.id FROM held WHERE held.again))
    ), moved AS (
        UPDATE queue q
           SET state = 'waiting',
               available_at = clock_timestamp(),
               worker = NULL,
               claimed_until = NULL,
               began_at = NULL,
               pulled_at = NULL,
               pulled_by = NULL,
               attempt = CASE WHEN h.outcome IS NULL THEN q.attempt - 1 ELSE q.attempt END,
               cancel_reason = CASE WHEN h.saga -> 'state' -> 'back' = 'true' THEN NULL
                                    ELSE q.cancel_reason END,
               lane = h.saga ->> 'lane',
               host = h.saga ->> 'host',
               saga = h.saga -> 'state'
          FROM held h
         WHERE q.id = h.id AND h.moves
           AND q.id = ANY (ARRAY(SELECT held.id FROM held WHERE held.moves))
     RETURNING q.id, q.lane
    ), woken AS MATERIALIZED (
        """
    + locks.notify_each(locks.QUEUE, "lane", "moved")
    + """
    ), deleted AS (
        DELETE FROM queue q
         WHERE q.id = ANY (ARRAY(SELECT held.id FROM held WHERE NOT held.again))
    ), ended AS (
        SELECT * FROM held WHERE NOT again
    ), recorded AS ("""
    + record.ended(
        """(
        SELECT e.id, e.schedule_id, e.tenant_id, e.version, e.scheduled_for,
               coalesce(e.status, 'cancelled') AS status,
               coalesce(e.reason, CASE WHEN e.status IS NULL THEN e.cancel_reason END) AS reason,
               CASE WHEN e.outcome IS NULL THEN e.attempt - 1 ELSE e.attempt END AS attempt,
               e.triggered_by, e.catch_up,
               CASE WHEN e.attempt = 1 THEN e.started_at
                    ELSE least(e.started_at, (SELECT min(a.started_at) FROM attempts a
                                               WHERE a.firing_id = e.id
                                                 AND a.scheduled_for = e.scheduled_for))
                    END AS started_at,
               e.finished_at,
               -- What undid the first step says nothing of the firing's own result.
               CASE WHEN e.saga -> 'compensating' = 'true' THEN NULL ELSE e.code END AS result_code,
               CASE WHEN e.saga -> 'compensating' = 'true' THEN NULL ELSE e.excerpt
                    END AS result_excerpt,
               e.replay_of, e.payload, e.saga -> 'steps' AS steps,
               CASE WHEN e.attempt = 1 AND e.outcome IS NOT NULL THEN e.available_at END AS due_at
          FROM ended e)""",
        also="result_code, result_excerpt, steps, due_at",
    )
    + """
            ON CONFLICT DO NOTHING
    ), """
    + FOLLOWED
    + """, tried AS (
        INSERT INTO attempts AS a (
                   firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                   started_at, finished_at, outcome, error, request, response_status,
                   response_headers, response_body, step, compensating)
        SELECT h.id, h.tenant_id, h.schedule_id, h.scheduled_for, h.attempt, $1,
               h.started_at, h.finished_at,
               CASE WHEN h.outcome = 'accepted' AND NOT h.again THEN 'cancelled'
                    ELSE h.outcome END,
               h.error, h.request::jsonb, h.code, h.headers::jsonb, h.body, h.saga ->> 'step',
               coalesce((h.saga ->> 'compensating')::boolean, false)
          FROM held h
         WHERE h.outcome IS NOT NULL
            ON CONFLICT (firing_id, attempt, scheduled_for) DO UPDATE
           SET outcome = excluded.outcome, error = excluded.error,
               finished_at = excluded.finished_at
         WHERE a.outcome = 'accepted'
    ), """
    + FREE_NEXT
    + """
    SELECT CASE WHEN (SELECT count(*) FROM held) < cardinality($2::uuid[])
                THEN ARRAY(SELECT held.id FROM held) END AS accepted,
           (SELECT count(*) FROM freed) + (SELECT count(*) FROM moved) AS freed,
           ARRAY(SELECT followed.id FROM followed) AS followed,
           (SELECT count(*) FROM woken) AS woken
"""
)


async def settle(
    tx: Tx, worker: UUID, settlements: Sequence[Settlement], upstreams: Upstreams | None = None
) -> Settled:
    """Record them all at once; those whose claim is no longer the worker's are refused.

    Whoever ends a firing lets the next blocked one of its schedule go, and fires what follows it.
    `upstreams` is for callers that do this often.
    """
    fast, others = complete_fast.split(settlements)
    accepted: set[UUID] = set()
    freed = 0
    followed: set[UUID] = set()
    if upstreams is not None:
        await upstreams.lock_dependents(tx, (each.claim.schedule_id for each in settlements))
    # The fast ones last: a pause waits for all rows of its schedule but those.
    if others:
        (row,) = await tx.fetch(
            SETTLE,
            worker,
            *_columns(others),
            _WITHDRAW_REASONS,
            DETACHED,
            _column([each.step and each.step.stored for each in others]),
        )
        ids = row["accepted"]
        accepted.update([each.claim.id for each in others] if ids is None else ids)
        freed += row["freed"]
        followed.update(row["followed"])
    if fast:
        done = await complete_fast.settle(tx, worker, fast)
        accepted.update(done.accepted)
        freed += done.freed
        followed.update(done.followed)
    if followed:
        ends = [_end(s) for s in settlements if s.claim.id in followed]
        if upstreams is not None:
            upstreams.add(each.schedule_id for each in ends)
        freed += await follow(tx, ends)
    if len(accepted) < len(settlements):
        missing = [each.claim for each in settlements if each.claim.id not in accepted]
        accepted |= await _already(tx, worker, missing)
    return Settled(frozenset(accepted), freed)


def _end(each: Settlement) -> End:
    assert each.status in FOLLOWED_STATUSES
    return End(
        id=each.claim.id,
        schedule_id=each.claim.schedule_id,
        scheduled_for=each.claim.scheduled_for,
        status=each.status,
        reason=each.reason,
        result=each.result,
    )


# A commit whose reply was lost may have been made: then the attempt is there, and is the worker's.
# What a rescuer has written about the worker does not count.
_ALREADY_SETTLED: LiteralString = """
    WITH x AS (
        SELECT *
          FROM unnest($2::uuid[], $3::smallint[], $4::timestamptz[])
               AS x(id, attempt, scheduled_for)
    )
    SELECT a.firing_id
      FROM x
      JOIN attempts a
        ON a.firing_id = x.id AND a.attempt = x.attempt AND a.scheduled_for = x.scheduled_for
     WHERE a.worker = $1 AND a.outcome <> 'lost'
     UNION ALL
    SELECT f.id
      FROM x
      JOIN firings f
        ON f.id = x.id AND f.attempt = x.attempt AND f.scheduled_for = x.scheduled_for
     WHERE f.worker = $1
"""


async def _already(tx: Tx, worker: UUID, claims: list[Claim]) -> set[UUID]:
    rows = await tx.fetch(
        _ALREADY_SETTLED,
        worker,
        [each.id for each in claims],
        [each.attempt for each in claims],
        [each.scheduled_for for each in claims],
    )
    return {row["firing_id"] for row in rows}


def _columns(settlements: Sequence[Settlement]) -> tuple[list[object], ...]:
    """One list for each column of the statement's rows."""
    tried = [each.tried for each in settlements]
    return (
        [each.claim.id for each in settlements],
        [each.claim.attempt for each in settlements],
        _column([each.status for each in settlements]),
        _column([each.reason for each in settlements]),
        _column([each.retry_at for each in settlements]),
        _column([each.detached_until for each in settlements]),
        _column([each.started_at for each in settlements]),
        [each.finished_at for each in settlements],
        _column([each.code for each in settlements]),
        _column([each.excerpt for each in settlements]),
        _column([each and each.outcome for each in tried]),
        _column([each and each.error for each in tried]),
        _column([_request(each) for each in settlements]),
        _column([each and each.response_headers for each in tried]),
        _column([each and each.response_body for each in tried]),
    )


def _column(values: list[Any]) -> list[Any]:
    """The column; nothing where all of it is NULL, which is what `unnest` puts in place of what a
    shorter array lacks. The driver takes longer over a NULL than over a text."""
    return [] if values.count(None) == len(values) else values


def _request(each: Settlement) -> str | None:
    tried = each.tried
    if tried is None or tried.task is None:
        return None if tried is None else tried.request
    name = msgspec.json.encode(tried.task).decode()
    return f'{{"task":{name},"payload":{each.claim.payload or "null"}}}'
