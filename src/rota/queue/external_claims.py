"""External claims: firings that run outside Rota, and whose end is reported by token.

`pull` is how a worker outside takes firings. It is for one tenant alone, so there is nothing to
share out, and never ahead of time, because nothing here waits for the instant. A claim can also be
detached: its target has accepted the work and reports later. Both are ended by whoever holds the
token of the attempt; `overdue` are the detached claims whose time is up.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import locks
from rota.queue.claim import Claim
from rota.queue.states import DETACHED
from rota.signatures import HmacKey

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx

TOKEN_PREFIX: Final = "rft_"  # noqa: S105 - the beginning of every token, no token
_MAX_TOKEN_LENGTH = 100
_CONTEXT = b"rota claim\0"

OVERDUE_BATCH: Final = 500


class Tokens:
    """Makes and checks tokens; does not reveal its key.

    A token is made of (firing, attempt) with a key of the installation's, so nothing is stored for
    it, any node can check it, and each attempt has another. It is the authority to complete, fail
    or extend that one attempt and nothing else.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise ValueError(f"expected a key of at least 16 bytes, got {len(key)}")
        self._key = HmacKey(key)

    def token(self, firing_id: UUID, attempt: int) -> str:
        """The token of this attempt."""
        message = _CONTEXT + firing_id.bytes + attempt.to_bytes(4, "big")
        digest = self._key.digest(message)
        # 32 bytes: 43 characters and one that fills up.
        return TOKEN_PREFIX + base64.urlsafe_b64encode(digest)[:-1].decode()

    def attempt_of(self, token: str, firing_id: UUID, *, last: int) -> int | None:
        """The attempt of the firing, up to the `last`, that the token is of; None if of none.

        Compares with every one of them, so that the time it takes tells nothing.
        """
        if len(token) > _MAX_TOKEN_LENGTH or not token.isascii():
            return None
        found = None
        for attempt in range(1, last + 1):
            if hmac.compare_digest(self.token(firing_id, attempt), token):
                found = attempt
        return found


@dataclass(frozen=True, slots=True)
class Pulled:
    """A claim, and since when it is held."""

    claim: Claim
    at: datetime


_TERMS: LiteralString = "SELECT weight, max_concurrency FROM tenants WHERE id = $1"

# The lock that Rota's own claimers take for a tenant with a cap (`claim`): two who counted at the
# same time would exceed the cap together. Those never wait for it; a pull does, because "nothing
# there" would be a wrong answer to a caller that asks once.
_LOCK_CAPPED: LiteralString = (
    "SELECT pg_advisory_xact_lock(" + locks.CLAIMS + ", hashtext($1::uuid::text))"
)

# By priority, then the oldest first. Each priority is one run of the index `queue_ready`, read on
# its own, as in `claim`; rows that others have locked are passed over.
PULL: LiteralString = """
    WITH room AS MATERIALIZED (
        SELECT CASE WHEN $6::integer IS NULL THEN $4::bigint
                    ELSE greatest(0, least($4::bigint, $6::integer - (
                         SELECT count(*)
                           FROM (SELECT
                                   FROM queue q
                                  WHERE q.tenant_id = $1 AND q.state = 'running'
                                  LIMIT $6) AS running)))
               END AS places
    ), ready AS MATERIALIZED (
        SELECT r.id
          FROM generate_series(9, 0, -1) AS p(priority)
         CROSS JOIN LATERAL (
               SELECT q.id
                 FROM queue q
                WHERE q.lane = $2 AND q.tenant_id = $1 AND q.priority = p.priority
                  AND q.state IN ('waiting', 'retrying')
                  AND q.available_at <= (SELECT clock_timestamp())
                ORDER BY q.available_at
                LIMIT (SELECT places FROM room)
                  FOR UPDATE SKIP LOCKED) AS r
         LIMIT (SELECT places FROM room)
    )
    UPDATE queue q
       SET state = 'running',
           worker = $3,
           attempt = q.attempt + 1,
           began_at = coalesce(q.began_at, clock_timestamp()),
           claimed_until = clock_timestamp() + $5::interval,
           pulled_at = clock_timestamp(),
           pulled_by = $7
     WHERE q.id = ANY (ARRAY(SELECT ready.id FROM ready))
 RETURNING q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
           q.claimed_until, q.began_at, q.fence, q.attempt, q.priority, q.catch_up,
           q.triggered_by, q.lane, q.cancel_reason, q.payload, q.replay_of, q.host, q.saga,
           q.pulled_at
"""


async def pull(
    tx: Tx,
    tenant_id: UUID,
    lane: str,
    worker: UUID,
    *,
    limit: int,
    visibility: timedelta,
    name: str | None = None,
) -> list[Pulled]:
    """Up to `limit` of the tenant's firings in the lane whose instant has come.

    By priority, then the oldest first; never more than the tenant's cap, over all workers.
    Exclusive for `visibility`; after that they are rescued like any worker's.
    `name` is what the worker calls itself.
    """
    terms = await tx.fetch_row(_TERMS, tenant_id)
    if terms is None:
        return []
    cap = terms["max_concurrency"]
    if cap is not None:
        await tx.fetch(_LOCK_CAPPED, tenant_id)
    rows = await tx.fetch(PULL, tenant_id, lane, worker, limit, visibility, cap, name)
    pulled: list[Pulled] = []
    for row in rows:
        values = dict(row.items())
        at = values.pop("pulled_at")
        pulled.append(Pulled(Claim(**values, weight=terms["weight"]), at))
    pulled.sort(key=lambda each: _order(each.claim))
    return pulled


def _order(claim: Claim) -> tuple[int, datetime, UUID]:
    return (-claim.priority, claim.available_at, claim.id)


# The next that will be due, if it is in the queue already: one look for each priority.
_NEXT_AT: LiteralString = """
    SELECT min(r.available_at) - clock_timestamp()
      FROM generate_series(9, 0, -1) AS p(priority)
     CROSS JOIN LATERAL (
           SELECT q.available_at
             FROM queue q
            WHERE q.lane = $2 AND q.tenant_id = $1 AND q.priority = p.priority
              AND q.state IN ('waiting', 'retrying')
              AND q.available_at > (SELECT clock_timestamp())
            ORDER BY q.available_at
            LIMIT 1) AS r
"""


async def next_in(tx: Tx, tenant_id: UUID, lane: str) -> timedelta | None:
    """How long until the next one in the lane is due; None when the queue has none."""
    return await tx.fetch_value(_NEXT_AT, tenant_id, lane)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalClaim:
    """A claim by token: who holds it, and what is known of its attempt."""

    claim: Claim
    worker: UUID
    """`DETACHED` when it is left to its target."""
    started_at: datetime | None
    """None while its worker has not heard from the target."""
    code: int | None
    """The status with which the target accepted the work."""
    by: str | None = None
    """The name of the worker that pulled it, if it gave one."""

    @property
    def is_detached(self) -> bool:
        return self.worker == DETACHED


_CLAIMED: LiteralString = """
    SELECT q.id, q.schedule_id, q.tenant_id, q.version, q.scheduled_for, q.available_at,
           q.claimed_until, q.fence, q.attempt, q.priority, q.catch_up, q.triggered_by, q.lane,
           q.cancel_reason, q.payload, q.replay_of, q.host, q.saga, q.worker,
           coalesce(q.began_at, q.available_at) AS began_at,
           coalesce(a.started_at, q.pulled_at) AS started_at, a.response_status,
           q.pulled_by
      FROM queue q
      LEFT JOIN attempts a
        ON a.firing_id = q.id AND a.attempt = q.attempt AND a.scheduled_for = q.scheduled_for
"""

# Nothing else ends or rescues it before the end of the transaction.
_HELD: LiteralString = _CLAIMED + " WHERE q.id = $1 AND q.state = 'running' FOR UPDATE OF q"


async def claimed(tx: Tx, firing_id: UUID) -> ExternalClaim | None:
    """The firing's claim, locked until the transaction ends; None when there is none."""
    row = await tx.fetch_row(_HELD, firing_id)
    return None if row is None else _external_claim(row)


_KEEP: LiteralString = """
    UPDATE queue
       SET claimed_until = greatest(claimed_until, clock_timestamp() + $3::interval)
     WHERE id = $1 AND attempt = $2 AND state = 'running'
 RETURNING claimed_until
"""


async def keep(tx: Tx, held: ExternalClaim, length: timedelta) -> datetime:
    """Extend it to this long from now, unless it has longer anyway. Returns until when."""
    claim = held.claim
    until: datetime = await tx.fetch_value(_KEEP, claim.id, claim.attempt, length)
    return until


# Their time is up, or their end was asked for.
_OVERDUE: LiteralString = (
    _CLAIMED
    + """
     WHERE q.state = 'running' AND q.worker = $2
       AND q.claimed_until < (SELECT clock_timestamp())
     ORDER BY q.id
     LIMIT $1
       FOR UPDATE OF q SKIP LOCKED
"""
)


async def overdue(tx: Tx) -> list[ExternalClaim]:
    """Some detached claims whose time is up, locked until the transaction ends.

    The caller judges them, and settles them as `DETACHED`. Many processes may do this at the same
    time: each claim is found by one.
    """
    return [_external_claim(row) for row in await tx.fetch(_OVERDUE, OVERDUE_BATCH, DETACHED)]


def _external_claim(row: Row) -> ExternalClaim:
    values = dict(row.items())
    names = ("worker", "started_at", "response_status", "pulled_by")
    apart = {name: values.pop(name) for name in names}
    return ExternalClaim(
        claim=Claim(**values),
        worker=apart["worker"],
        started_at=apart["started_at"],
        code=apart["response_status"],
        by=apart["pulled_by"],
    )
