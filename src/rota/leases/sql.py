"""The statements of leases and nodes.

Renewing and giving up leave the key (shard, fence) alone, so they never wait for a transaction that
holds the fence; granting changes it, so it can only happen when no such transaction is under way.
Time is `clock_timestamp()`: `now()` is the transaction's start, long past for one that waited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.db.session import milliseconds
from rota.leases.node import LOCK_CLASS, SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.leases.node import Node

APPEAR: LiteralString = """
    INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, started_at, seen_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()
"""

# Not one that was made to leave in the middle of its work: by its row the others see that it is
# gone, and have its claims at once. Without it they would wait for the claims to run out.
LEAVE: LiteralString = """
    DELETE FROM nodes
     WHERE id = $1 AND NOT EXISTS (SELECT FROM queue WHERE state = 'running' AND worker = $1)
"""

# Shared, although nobody shares it: a node that lost its session takes the lock again at once, on
# the new one, even while the server has not noticed yet that the old one is dead.
LOCK_SESSION: LiteralString = "SELECT pg_advisory_lock_shared($1, $2)"

_RETIRE: LiteralString = "UPDATE nodes SET roles = array_remove(roles, $2) WHERE id = $1"

_FORGET: LiteralString = "DELETE FROM nodes WHERE seen_at < clock_timestamp() - $1::interval"

# A scheduler is live when it was heard of lately, or has its session and was heard of within the
# time of a lease: a frozen process keeps its session, and must not keep a share for ever.
_SURVEY: LiteralString = """
    WITH locked AS (
        SELECT objid::bigint AS key FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = $2::bigint::oid
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    SELECT (SELECT count(*) FROM leases) AS shards,
           (SELECT count(*) FROM nodes n
             WHERE $1 = ANY (n.roles)
               AND n.seen_at > clock_timestamp()
                   - CASE WHEN n.lock_key IN (SELECT key FROM locked)
                          THEN $3::interval ELSE $4::interval END) AS schedulers
"""

_RENEW: LiteralString = """
       UPDATE leases l
          SET leased_until = clock_timestamp() + $4::interval
         FROM unnest($2::smallint[], $3::bigint[]) AS mine (shard, fence)
        WHERE l.shard = mine.shard AND l.fence = mine.fence AND l.holder = $1
    RETURNING l.shard
"""

_RELEASE: LiteralString = """
       UPDATE leases l
          SET holder = NULL, leased_until = '-infinity'
         FROM unnest($2::smallint[], $3::bigint[]) AS mine (shard, fence)
        WHERE l.shard = mine.shard AND l.fence = mine.fence AND l.holder = $1
    RETURNING l.shard
"""

_RELEASE_ALL: LiteralString = """
    UPDATE leases SET holder = NULL, leased_until = '-infinity' WHERE holder = $1
"""

# SKIP LOCKED: a shard whose holder is in the middle of a firing is passed over and looked at again
# in the next pass, so that one frozen transaction does not hold up the others' take-over, or our
# own renewals. Electors that want the same shards part them instead of waiting for each other.
# "Gone" is: no session, and not heard of for a moment, so that a node which merely lost its session
# has the time to make a new one. Our own that we do not know of ($6 are the known ones) come from a
# grant whose answer was lost; without the last line they would be unled until they ran out.
_TAKE: LiteralString = """
    WITH locked AS (
        SELECT objid::bigint AS key FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = $3::bigint::oid
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
    present AS MATERIALIZED (
        SELECT id FROM nodes
         WHERE lock_key IN (SELECT key FROM locked) OR seen_at > clock_timestamp() - $5::interval),
    free AS MATERIALIZED (
        SELECT shard, holder FROM leases
         WHERE holder IS NULL OR leased_until < clock_timestamp()
            OR holder NOT IN (SELECT id FROM present)
            OR (holder = $1 AND shard <> ALL ($6::smallint[]))
         ORDER BY shard LIMIT $2 FOR UPDATE SKIP LOCKED)
       UPDATE leases l
          SET holder = $1, fence = l.fence + 1, leased_until = clock_timestamp() + $4::interval
         FROM free
        WHERE l.shard = free.shard
    RETURNING l.shard, l.fence, free.holder AS previous
"""

# And the transaction has a time. The driver lets the server wait between reading a statement and
# running it: a client that freezes there is at work in the server's eyes, so that neither the limit
# of idle transactions nor that of statements ends it. (PostgreSQL before 17 has nothing that does.)
_HOLD: LiteralString = """
    SELECT l.shard FROM leases l
      JOIN unnest($1::smallint[], $2::bigint[]) AS mine (shard, fence)
        ON l.shard = mine.shard AND l.fence = mine.fence
     CROSS JOIN (SELECT CASE WHEN current_setting('server_version_num')::int >= 170000
                             THEN set_config('transaction_timeout', $3, true) END) AS timed
       FOR KEY SHARE OF l
"""


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is to share, and among how many."""

    shards: int
    schedulers: int


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that changed hands."""

    shard: int
    fence: int
    previous: UUID | None
    """Who held it, if it was taken over."""


def appearance(node: Node) -> tuple[object, ...]:
    """The parameters of APPEAR."""
    return (
        node.id,
        list(node.roles),
        node.host,
        node.pid,
        node.version,
        LOCK_CLASS,
        node.lock_key,
    )


async def beat(tx: Tx, node: Node) -> None:
    """Say that the node is there."""
    await tx.execute(APPEAR, *appearance(node))


async def survey(tx: Tx, *, ttl: timedelta, grace: timedelta) -> Survey:
    """Count the shards, and the schedulers that are there to share them."""
    row = await tx.fetch_row(_SURVEY, SCHEDULER, LOCK_CLASS, ttl, grace)
    assert row is not None
    return Survey(row["shards"], row["schedulers"])


async def renew(tx: Tx, node: Node, fences: Mapping[int, int], *, ttl: timedelta) -> set[int]:
    """Extend the leases that are still the node's, by their fence; returns their shards."""
    rows = await tx.fetch(_RENEW, node.id, list(fences), list(fences.values()), ttl)
    return {row["shard"] for row in rows}


async def release(tx: Tx, node: Node, fences: Mapping[int, int]) -> set[int]:
    """Make leases free that are still the node's; returns their shards."""
    rows = await tx.fetch(_RELEASE, node.id, list(fences), list(fences.values()))
    return {row["shard"] for row in rows}


async def take(
    tx: Tx, node: Node, most: int, *, known: Iterable[int], ttl: timedelta, grace: timedelta
) -> list[Grant]:
    """Take up to so many leases that are free, have run out, or whose holder is gone.

    `known` are the shards that the node knows to be its own.
    """
    rows = await tx.fetch(_TAKE, node.id, most, LOCK_CLASS, ttl, grace, list(known))
    return [Grant(row["shard"], row["fence"], row["previous"]) for row in rows]


async def release_all(tx: Tx, node: Node) -> None:
    """Make free whatever is the node's, known to it or not."""
    await tx.execute(_RELEASE_ALL, node.id)


async def hold(tx: Tx, fences: Mapping[int, int], *, within: timedelta) -> set[int]:
    """Lock the pairs (shard, fence) that are still so until the transaction ends.

    The server ends it, and the session with it, when it takes longer than `within`.
    """
    rows = await tx.fetch(_HOLD, list(fences), list(fences.values()), milliseconds(within))
    return {row["shard"] for row in rows}


async def retire(tx: Tx, node: Node) -> None:
    """Say that the node wants no leases any more, so that the others share its part at once."""
    await tx.execute(_RETIRE, node.id, SCHEDULER)


async def forget(tx: Tx, *, unseen_for: timedelta) -> int:
    """Drop nodes that have not been heard of for long."""
    return await tx.execute(_FORGET, unseen_for)


def missing(asked: Iterable[int], found: set[int]) -> tuple[int, ...]:
    """Which of the shards asked about were not found."""
    return tuple(sorted(set(asked) - found))
