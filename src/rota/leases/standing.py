"""How the cluster stands: its nodes, and who holds which shard. For those who look, not for those
who act: what is read here may be over by the time it is shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota.leases.node import LOCK_CLASS

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Tx

QUIET_FOR: Final = timedelta(minutes=1)
"""A node that holds its lock is alive unless it was silent for this long: then it is stuck."""
UNSEEN_FOR: Final = timedelta(seconds=5)
"""A node without its lock may have lost its session a moment ago, and make a new one."""

_NODES: LiteralString = """
    WITH locked AS (
        SELECT objid::bigint AS key FROM pg_locks
         WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = $1::bigint::oid
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
    SELECT id, roles, host, pid, version, started_at, seen_at,
           seen_at > clock_timestamp()
               - CASE WHEN lock_key IN (SELECT key FROM locked)
                      THEN $2::interval ELSE $3::interval END AS is_alive
      FROM nodes
     ORDER BY started_at, id
"""

_SHARDS: LiteralString = """
    SELECT shard, holder, fence, nullif(leased_until, '-infinity') AS leased_until,
           holder IS NOT NULL AND leased_until > clock_timestamp() AS is_held
      FROM leases
     ORDER BY shard
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStanding:
    """A process, as the others see it."""

    id: UUID
    roles: tuple[str, ...]
    host: str
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    is_alive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardStanding:
    """A shard and its lease."""

    shard: int
    holder: UUID | None
    fence: int
    leased_until: datetime | None
    is_held: bool
    """Somebody's lease on it has not run out."""


async def nodes(tx: Tx) -> list[NodeStanding]:
    """Every node of the last day that did not leave in order, the oldest first."""
    rows = await tx.fetch(_NODES, LOCK_CLASS, QUIET_FOR, UNSEEN_FOR)
    return [
        NodeStanding(
            id=row["id"],
            roles=tuple(row["roles"]),
            host=row["host"],
            pid=row["pid"],
            version=row["version"],
            started_at=row["started_at"],
            seen_at=row["seen_at"],
            is_alive=row["is_alive"],
        )
        for row in rows
    ]


async def shards(tx: Tx) -> list[ShardStanding]:
    """Every shard, in order."""
    return [ShardStanding(**dict(row.items())) for row in await tx.fetch(_SHARDS)]
