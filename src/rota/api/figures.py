"""`/v1/stats`: a tenant's figures. `/v1/cluster`: nodes, shards and circuits, for operators."""

from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from litestar import get

from rota.api import access
from rota.api.circuits import CircuitShown, view
from rota.api.given import AnyRequest, Caller, TheEngine
from rota.api.queries import Query
from rota.db import Tx
from rota.history import stats
from rota.leases import standing
from rota.queue import circuits
from rota.timers import lags

_MAX_CIRCUITS = 1_000


class StatsShown(msgspec.Struct, frozen=True, kw_only=True):
    """A tenant's figures. Counting stops at `bound`: a count of `bound` means as many or more."""

    now: datetime
    bound: int
    schedules: dict[str, int]
    """By status: active, paused, completed."""
    queue: dict[str, int]
    """Live firings by status: waiting, running, retrying, blocked."""
    firings_last_hour: dict[str, int]
    """Those that ended within the last hour: succeeded, dead, skipped, missed, cancelled."""
    lateness_seconds: float
    """How long the firing that has waited longest for a worker has done so; 0 when none does."""
    next_due_at: datetime | None


class NodeShown(msgspec.Struct, frozen=True, kw_only=True):
    """A process of the last day that did not stop in order, or still runs."""

    id: UUID
    roles: tuple[str, ...]
    host: str
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    alive: bool


class ShardShown(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the timers, and who may fire it."""

    shard: int
    holder: UUID | None
    """The node's id, even when its lease has run out."""
    held: bool
    fence: int
    leased_until: datetime | None
    lag_seconds: float
    """How late its oldest overdue timer is; 0 when none is."""


class ClusterShown(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes, shards, and up to 1,000 of the hosts that fail (`/v1/circuits` has them all)."""

    now: datetime
    nodes: list[NodeShown]
    shards: list[ShardShown]
    circuits: list[CircuitShown]


@get("/v1/stats", opt=access.needs("read"))
async def get_stats(request: AnyRequest, engine: TheEngine, caller: Caller) -> StatsShown:
    """The tenant's figures: schedules, queue, the last hour, lateness, what is due next."""
    Query(request)
    found = await engine.db.run(
        lambda tx: stats.of_tenant(tx, caller.tenant.id),
        isolation="repeatable_read",
        read_only=True,
        tenant=caller.tenant.id,
    )
    return StatsShown(
        now=found.now,
        bound=stats.BOUND,
        schedules=dict(found.schedules),
        queue=dict(found.queue),
        firings_last_hour=dict(found.firings),
        lateness_seconds=_seconds(found.lateness),
        next_due_at=found.next_due_at,
    )


@get("/v1/cluster", opt=access.needs("admin"))
async def get_cluster(request: AnyRequest, engine: TheEngine, caller: Caller) -> ClusterShown:
    """Nodes, shards with their leases and lag, and the hosts that fail."""
    Query(request)
    # Whose processes run where is the installation's business, not a tenant's.
    access.require_operator(caller)

    async def work(tx: Tx) -> ClusterShown:
        behind = await lags(tx)
        return ClusterShown(
            now=await tx.fetch_value("SELECT clock_timestamp()"),
            nodes=[_node(each) for each in await standing.nodes(tx)],
            shards=[
                _shard(each, behind.get(each.shard, timedelta()))
                for each in await standing.shards(tx)
            ],
            circuits=[
                view(each) for each in await circuits.shown(tx, after=None, limit=_MAX_CIRCUITS)
            ],
        )

    return await engine.db.run(work, read_only=True)


ROUTES = (get_stats, get_cluster)


def _node(each: standing.NodeStanding) -> NodeShown:
    return NodeShown(
        id=each.id,
        roles=each.roles,
        host=each.host,
        pid=each.pid,
        version=each.version,
        started_at=each.started_at,
        seen_at=each.seen_at,
        alive=each.is_alive,
    )


def _shard(each: standing.ShardStanding, behind: timedelta) -> ShardShown:
    return ShardShown(
        shard=each.shard,
        holder=each.holder,
        held=each.is_held,
        fence=each.fence,
        leased_until=each.leased_until,
        lag_seconds=_seconds(behind),
    )


def _seconds(length: timedelta) -> float:
    return round(length.total_seconds(), 3)
