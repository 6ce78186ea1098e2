"""The statements of leases and nodes.

Renewing and giving up leave the key (shard, fence) alone, so they never wait for a transaction that
holds the fence; granting changes it, so it can only happen when no such transaction is under way.
Time is `clock_timestamp()`: `now()` is the transaction's start, long past for one that waited.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.db import ONCE
from rota.db.session import milliseconds
from rota.leases.node import LOCK_CLASS, SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.leases.node import Node

APPEAR: LiteralString = """
    INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, started_at, seen_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET seen_at = clock_timestamp()
"""

# On a session that has just taken the node's lock, or after others declared the node gone: it may
# act again, but what it claimed before may be somebody else's. Waits for a rescue under way, which
# locks the row.
REGISTER: LiteralString = """
    INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, started_at, seen_at,
                       confirmed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp(), clock_timestamp())
        ON CONFLICT (id) DO UPDATE
       SET seen_at = clock_timestamp(), confirmed_at = clock_timestamp(), gone_since = NULL
"""

# No row: the node was declared gone, or its row was deleted. It has to register again.
CONFIRM: LiteralString = """
       UPDATE nodes
          SET confirmed_at = clock_timestamp(),
              seen_at = CASE WHEN $2 THEN clock_timestamp() ELSE seen_at END
        WHERE id = $1 AND gone_since IS NULL
    RETURNING true
"""

# The others that want leases, each with its best round trip. This one's own row is not among them.
# The role is what the others count by, also those of the version before: who has stood back is
# without it.
_BEAT: LiteralString = """
    WITH mine AS (
        INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, started_at, seen_at,
                           round_trip)
        VALUES ($1, $2, $3, $4, $5, $6, $7, clock_timestamp(), clock_timestamp(), $8)
            ON CONFLICT (id) DO UPDATE
               SET seen_at = clock_timestamp(), roles = excluded.roles, round_trip = $8)
    SELECT round_trip FROM nodes
     WHERE $9 = ANY (roles) AND id <> $1 AND round_trip IS NOT NULL
       AND seen_at > clock_timestamp() - $10::interval
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

# Only the node itself clears `gone_since`, when it registers again. After a restart of the server
# nobody has a session, and a starved process may need seconds to have one again: those without are
# not gone until then ($3), or what they finished in the meantime would be done again.
_DECLARE_GONE: LiteralString = """
    UPDATE nodes n
       SET gone_since = clock_timestamp()
     WHERE n.id = ANY ($1::uuid[]) AND n.gone_since IS NULL
       AND (n.confirmed_at < clock_timestamp() - $2::interval
            OR pg_postmaster_start_time() < clock_timestamp() - $3::interval AND NOT EXISTS (
               SELECT FROM pg_locks k
                WHERE k.locktype = 'advisory' AND k.granted AND k.objsubid = 2
                  AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                  AND k.classid = n.lock_class::oid AND k.objid = n.lock_key::oid))
"""

# Locked until the end of the transaction: a node that registers again waits, and then knows.
_GONE: LiteralString = """
    SELECT n.id, coalesce(n.confirmed_at, n.gone_since) + $3::interval AS could_begin_until
      FROM nodes n
     WHERE n.id = ANY ($1::uuid[]) AND n.gone_since < clock_timestamp() - $2::interval
     ORDER BY n.id
       FOR NO KEY UPDATE
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
HOLD: LiteralString = """
    SELECT l.shard, l.fence FROM leases l
      JOIN unnest($1::smallint[], $2::bigint[]) AS mine (shard, fence)
        ON l.shard = mine.shard AND l.fence = mine.fence
     CROSS JOIN (SELECT CASE WHEN current_setting('server_version_num')::int >= 170000
                             THEN set_config('transaction_timeout', $3, true) END) AS timed
       FOR KEY SHARE OF l
"""


RESTART_GRACE: Final = timedelta(seconds=10)
"""For so long after a restart of the server a missing session does not count."""


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


async def beat(
    db: Database,
    node: Node,
    *,
    round_trip: timedelta | None = None,
    stood_back: bool = False,
    seen_within: timedelta = timedelta(seconds=5),
) -> list[timedelta]:
    """Say that the node is there, how quick it is and whether it wants leases.

    Returns the best round trips of the other schedulers that were seen lately and want leases.
    """
    if stood_back:
        node = replace(node, roles=tuple(role for role in node.roles if role != SCHEDULER))
    rows = await db.fetch_alone(
        _BEAT,
        *appearance(node),
        round_trip,
        SCHEDULER,
        seen_within,
        repeatable=True,
        retry=ONCE,
    )
    return [row["round_trip"] for row in rows]


async def declare_gone(tx: Tx, nodes: Collection[UUID], *, silent_for: timedelta) -> int:
    """Note since when these nodes have no session, or have not confirmed it for so long."""
    return await tx.execute(_DECLARE_GONE, list(nodes), silent_for, RESTART_GRACE)


async def gone(
    tx: Tx, nodes: Collection[UUID], *, for_: timedelta, confirmed_for: timedelta
) -> dict[UUID, datetime]:
    """Those that have been gone for so long, each with the last instant at which it may have begun
    an attempt. None of them registers again before the transaction has ended."""
    rows = await tx.fetch(_GONE, list(nodes), for_, confirmed_for)
    return {row["id"]: row["could_begin_until"] for row in rows}


async def survey(db: Database, *, ttl: timedelta, grace: timedelta) -> Survey:
    """Count the shards, and the schedulers that are there to share them."""
    (row,) = await db.fetch_alone(_SURVEY, SCHEDULER, LOCK_CLASS, ttl, grace, retry=ONCE)
    return Survey(row["shards"], row["schedulers"])


async def renew(db: Database, node: Node, fences: Mapping[int, int], *, ttl: timedelta) -> set[int]:
    """Extend the leases that are still the node's, by their fence; returns their shards."""
    columns = list(fences), list(fences.values())
    rows = await db.fetch_alone(_RENEW, node.id, *columns, ttl, retry=ONCE)
    return {row["shard"] for row in rows}


async def release(db: Database, node: Node, fences: Mapping[int, int]) -> set[int]:
    """Make leases free that are still the node's; returns their shards."""
    columns = list(fences), list(fences.values())
    rows = await db.fetch_alone(_RELEASE, node.id, *columns, retry=ONCE)
    return {row["shard"] for row in rows}


async def take(
    db: Database, node: Node, most: int, *, known: Iterable[int], ttl: timedelta, grace: timedelta
) -> list[Grant]:
    """Take up to so many leases that are free, have run out, or whose holder is gone.

    `known` are the shards that the node knows to be its own.
    """
    columns = node.id, most, LOCK_CLASS, ttl, grace, list(known)
    rows = await db.fetch_alone(_TAKE, *columns, retry=ONCE)
    return [Grant(row["shard"], row["fence"], row["previous"]) for row in rows]


async def release_all(tx: Tx, node: Node) -> None:
    """Make free whatever is the node's, known to it or not."""
    await tx.execute(_RELEASE_ALL, node.id)


def holding(fences: Mapping[int, int], *, within: timedelta) -> tuple[list[int], list[int], str]:
    """The parameters of HOLD.

    The server ends the transaction, and the session with it, when it takes longer than `within`.
    """
    return list(fences), list(fences.values()), milliseconds(within)


async def hold(tx: Tx, fences: Mapping[int, int], *, within: timedelta) -> set[int]:
    """Lock the pairs (shard, fence) that are still so until the transaction ends."""
    rows = await tx.fetch(HOLD, *holding(fences, within=within))
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
