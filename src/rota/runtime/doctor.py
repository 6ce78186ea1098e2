"""Looking for trouble in the engine's own tables: who runs, who leads, what is late, what is full.

Each check is a pure judgement of values that were read; `checks` reads them and judges them all. A
check that is not well, or not sure, says what to do.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from rota import durations
from rota.db.doctor import Check, tenant_role
from rota.errors import InvalidConfig, OperatorError
from rota.history import depth, retention
from rota.leases import SCHEDULER, standing
from rota.queue import circuits
from rota.schedules import tzdata
from rota.tenants.secrets import Rings, Vault, rings, rotate
from rota.tenants.secrets.ring import HOW_TO_SET
from rota.timers import lags
from rota.triggers import zones
from rota.watch import alerts
from rota.workers.hosts.circuit import state_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rota.config import Config
    from rota.db import Database, Tx
    from rota.history.depth import Depth
    from rota.leases.standing import NodeStanding, ShardStanding
    from rota.watch.alert import Alert

LATE: Final = timedelta(seconds=30)
"""What is later than this has nobody to do it, or too few."""

WORKER: Final = "worker"
_FEW_DAYS = 3
_SHOWN = 3
_MOVED = 20


async def checks(db: Database, config: Config) -> list[Check]:
    """All checks of a migrated database, in the order in which a reader should see them."""

    async def look(tx: Tx) -> list[Check]:
        nodes = await standing.nodes(tx)
        today: date = await tx.fetch_value("SELECT (now() AT TIME ZONE 'UTC')::date")
        return [
            await tenant_role(tx),
            running(nodes),
            leases(await standing.shards(tx), nodes),
            overdue(await lags(tx), nodes),
            queue(await depth.of_all(tx), nodes),
            partitions(await retention.days(tx), today),
            circuits_open(await circuits.shown(tx, after=None, limit=circuits.MAX_READ)),
            zone_rules(await tzdata.follow(tx), zones.VERSION, await alerts.are_open(tx, "moved")),
            await _ring(tx, config),
        ]

    return await db.run(look, read_only=True)


def running(nodes: Sequence[NodeStanding]) -> Check:
    """Whether there is at least one node of each kind that the work needs."""
    alive = [each for each in nodes if each.is_alive]
    if not alive:
        advice = "start one with `rota serve`; until then nothing fires"
        return Check("nodes", ok=None, found="none is running", advice=advice)
    gone = len(nodes) - len(alive)
    found = f"{len(alive)} alive" + (f", {gone} gone without leaving" if gone else "")
    missing = [role for role in (SCHEDULER, WORKER) if not _have(alive, role)]
    if missing:
        advice = f"start one with `rota serve --role {','.join(missing)}`"
        return Check(
            "nodes", ok=False, found=f"{found}, no {' and no '.join(missing)}", advice=advice
        )
    return Check("nodes", ok=True, found=found)


def leases(shards: Sequence[ShardStanding], nodes: Sequence[NodeStanding]) -> Check:
    """Whether every shard has somebody who fires it."""
    free = [each.shard for each in shards if not each.is_held]
    if not free:
        return Check("leases", ok=True, found=f"all {len(shards)} shards are held")
    found = f"{len(free)} of {len(shards)} shards are held by nobody"
    if not _have(nodes, SCHEDULER):
        advice = "start a scheduler with `rota serve`: it takes them at once"
        return Check("leases", ok=None, found=found, advice=advice)
    advice = (
        "look again in a minute; if they are still free, see the schedulers' logs for "
        "election_failed and session_lost"
    )
    return Check("leases", ok=False, found=found, advice=advice)


def overdue(lags: Mapping[int, timedelta], nodes: Sequence[NodeStanding]) -> Check:
    """How late the oldest timer is that is due and was not fired."""
    worst = max(lags.values(), default=timedelta())
    if worst <= LATE:
        return Check("timers", ok=True, found=_late(worst, "due"))
    if _have(nodes, SCHEDULER):
        advice = "start more schedulers, or see the log for falling_behind and pass_failed"
    else:
        advice = "start a scheduler with `rota serve`: nothing fires without one"
    return Check("timers", ok=False, found=_late(worst, "due"), advice=advice)


def queue(deep: Depth, nodes: Sequence[NodeStanding]) -> Check:
    """Whether the workers keep up with what was fired."""
    more = "+" if deep.rows >= depth.BOUND else ""
    found = f"{deep.rows:,}{more} in it, {_late(deep.lateness, 'waiting')}"
    if deep.lateness <= LATE:
        return Check("queue", ok=True, found=found)
    if not _have(nodes, WORKER):
        advice = "start a worker with `rota serve --role worker`: nothing runs without one"
        return Check("queue", ok=False, found=found, advice=advice)
    # A tenant's own max_concurrency makes it wait as well, and then all is as it should be.
    advice = "start more workers or raise their concurrency, unless a tenant's limit holds them up"
    return Check("queue", ok=None, found=found, advice=advice)


def partitions(days: Collection[date], today: date) -> Check:
    """For how many days to come history has its partitions."""
    ahead = 0
    while today + timedelta(days=ahead) in days:
        ahead += 1
    # Today's own is one of them.
    ahead -= 1
    if not days:
        return Check("partitions", ok=True, found="none yet: a server makes them when it starts")
    advice = "keep a server running (`rota serve`): it makes them every hour, seven days ahead"
    if ahead < 0:
        return Check("partitions", ok=None, found="none for today", advice=advice)
    found = f"{ahead} days ahead"
    enough = ahead >= _FEW_DAYS
    return Check("partitions", ok=enough or None, found=found, advice="" if enough else advice)


def circuits_open(found: Sequence[circuits.Shown]) -> Check:
    """Which hosts are left alone because they fail. Their fault, so it is only a warning."""
    open_ = (each for each in found if state_of(each.circuit, each.seen_at) != "closed")
    hosts = list(dict.fromkeys(each.circuit.host for each in open_))
    if not hosts:
        return Check("circuits", ok=True, found="none is open")
    rest = f" and {len(hosts) - _SHOWN} more" if len(hosts) > _SHOWN else ""
    return Check(
        "circuits",
        ok=None,
        found=f"{len(hosts)} open: {', '.join(hosts[:_SHOWN])}{rest}",
        advice="see why with `rota circuits`; they are tried again by themselves",
    )


def zone_rules(follow: Mapping[str, int], own: str, moved: Sequence[Alert]) -> Check:
    """By which tzdata the timers were armed, shard by shard, and what the last update moved."""
    name = "zone rules"
    if not follow:
        return Check(name, ok=True, found="none recorded: a scheduler does when it starts")
    newest = max(follow)
    found = f"timers follow tzdata {newest}"
    if newest > own:
        advice = "upgrade the package tzdata here: what this machine fires, it fires by older rules"
        return Check(name, ok=None, found=f"{found}, and here is {own}", advice=advice)
    behind = sum(count for version, count in follow.items() if version < newest)
    if behind:
        found += f", in {behind} shards still an older one"
        advice = "a scheduler with the newer tzdata moves them when it takes the shards"
        return Check(name, ok=None, found=found, advice=advice)
    if not moved:
        return Check(name, ok=True, found=found)
    some = "; ".join(f"{each.name}: {each.detail}" for each in moved[:_MOVED])
    rest = f"; and {len(moved) - _MOVED} more" if len(moved) > _MOVED else ""
    count = sum(each.count for each in moved)
    advice = "nothing, unless others rely on the old instants: local times are the same"
    return Check(name, ok=None, found=f"{found}; moved {count}: {some}{rest}", advice=advice)


async def _ring(tx: Tx, config: Config) -> Check:
    """Whether the key ring is there, and opens what the database has."""
    name = "secret keys"
    path = rings.file_of(config)
    if path is not None and config.secret_keys_file is None and not path.exists():
        if not await rotate.used_ids(tx):
            return Check(name, ok=True, found="none yet: a server makes them when it starts")
        advice = f"put the file {path} back, from a copy: it is the only key to the secrets"
        return Check(name, ok=False, found=f"{path} is gone", advice=advice)
    try:
        ring = Rings.of(config)
        await rotate.check(tx, ring, Vault(ring))
    except (InvalidConfig, OperatorError) as error:
        return Check(name, ok=False, found=str(error), advice=HOW_TO_SET)
    if not ring.is_there:
        return Check(name, ok=None, found="none: secrets and signing are off", advice=HOW_TO_SET)
    count = len(ring.now().ids)
    return Check(name, ok=True, found=f"{count} in the ring, and they fit")


def _have(nodes: Sequence[NodeStanding], role: str) -> bool:
    return any(each.is_alive and role in each.roles for each in nodes)


def _late(length: timedelta, what: str) -> str:
    if length < timedelta(seconds=1):
        return f"none {what} late" if what == "due" else "none late"
    span = durations.compact(timedelta(seconds=int(length.total_seconds())))
    return f"the oldest is late by {span}"
