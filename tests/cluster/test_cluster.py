"""Three schedulers, three workers, 300 schedules a second, and faults at random: exact accounts.

ROTA_CLUSTER_SEED=… repeats the faults of a run; their instants stay the machine's.
"""

from __future__ import annotations

import os
import random
import secrets
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.cluster.ledger import account, entries, every
from tests.cluster.nodes import (
    Cluster,
    Process,
    cluster,
    database_now,
    eventually,
    node_of,
    settled,
    until,
)
from tests.deadlines import crowding

from rota.schedules import create

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.cluster.ledger import Entry
    from tests.cluster.nodes import Role
    from tests.cluster.sink import Receipt, Sink
    from tests.db.schedules import Office

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule


SCHEDULES = 300
SLOTS = 30
PERIOD = timedelta(seconds=1)
OVERLAPS = ("allow", "skip", "queue")
SHARDS = 64
ROLES: tuple[Role, ...] = (
    *("scheduler", "scheduler", "scheduler"),
    *("worker", "worker", "worker"),
)
# Claims are kept for 30 s, so that one who sleeps longer finds them gone.
LONG_SLEEP = timedelta(seconds=32)


@dataclass
class Fault:
    """Something done to a process."""

    kind: str
    process: str
    node: UUID
    began_at: datetime
    ended_at: datetime | None = None


@dataclass
class Nemesis:
    """Kills and freezes, by the dice."""

    nodes: Cluster
    db: Database
    dice: random.Random
    faults: list[Fault] = field(default_factory=list[Fault])
    asleep: list[tuple[datetime, Process, Fault]] = field(
        default_factory=list[tuple[datetime, Process, Fault]]
    )

    async def torment(self, until_at: datetime) -> None:
        """One fault after another: until then, and until there were some of each kind."""
        while (now := await database_now(self.db)) < until_at or not self.has_teeth:
            await self.wake(now)
            await self.strike(now)
            await until(self.db, now + timedelta(seconds=self.dice.uniform(0.3, 1.2)))

    @property
    def has_teeth(self) -> bool:
        """Whether enough has happened to prove something."""
        kinds = Counter(fault.kind for fault in self.faults)
        return kinds["kill"] > 1 and kinds["freeze"] > 2

    async def strike(self, now: datetime) -> None:
        running = [each for each in self.nodes.processes if each.is_running and not each.frozen]
        roles = Counter(each.role for each in running)
        # At least one of each goes on, or the account would be of an outage.
        victims = [each for each in running if roles[each.role] > 1 and _serves(each)]
        if not victims:
            return
        victim = self.dice.choice(victims)
        if self.dice.random() < 0.4:
            await self.kill(victim)
        else:
            # Longer than a lease, shorter than one, or a hiccup.
            sleep = timedelta(seconds=self.dice.choice([0.2, 1.0, 3.0, 7.0]))
            await self.freeze(victim, now + sleep)

    async def kill(self, victim: Process) -> None:
        fault = await self._fault("kill", victim)
        victim.kill()
        fault.ended_at = await database_now(self.db)
        self.nodes.begin(victim.role)

    async def freeze(self, victim: Process, wake_at: datetime) -> None:
        fault = await self._fault("freeze", victim)
        victim.freeze()
        self.asleep.append((wake_at, victim, fault))

    async def wake(self, now: datetime) -> None:
        """Those whose time has come."""
        for each in [each for each in self.asleep if each[0] <= now]:
            self.asleep.remove(each)
            each[1].thaw()
            each[2].ended_at = await database_now(self.db)

    async def relent(self) -> None:
        """Wait for the last sleepers, and for all that were started to be there."""
        while self.asleep:
            await until(self.db, min(each[0] for each in self.asleep))
            await self.wake(await database_now(self.db))
        for each in self.nodes.processes:
            if each.is_running:
                await self.nodes.served(each)

    async def _fault(self, kind: str, victim: Process) -> Fault:
        node = await node_of(self.db, victim)
        fault = Fault(kind, victim.name, node, await database_now(self.db))
        self.faults.append(fault)
        return fault


async def test_faults_at_random_lose_nothing_and_double_nothing(
    tmp_path: Path, dsn: str, db: Database, office: Office, sink: Sink
) -> None:
    seed = int(os.environ.get("ROTA_CLUSTER_SEED") or secrets.randbelow(1_000_000))
    print(f"ROTA_CLUSTER_SEED={seed}")  # noqa: T201 - shown when the test fails
    short = {"ROTA_LEASE_TTL": "5s", "ROTA_LEASE_RENEW_INTERVAL": "1s"}
    async with cluster(tmp_path, dsn, **short) as nodes:
        await nodes.start(*ROLES)
        await settled(db, *nodes.of("scheduler"))
        schedules = await _populate(db, office, sink)
        nemesis = Nemesis(nodes, db, random.Random(seed))
        began = min(_first(each) for each in schedules)
        await until(db, began + 2 * PERIOD)
        await nemesis.freeze(nodes.of("worker")[0], began + 2 * PERIOD + LONG_SLEEP)
        await nemesis.torment(began + SLOTS * PERIOD)
        await nemesis.relent()
        await _drained(db)
        found = await entries(db)
        attempts = await _lost(db)
        fences = await _fences(db)
    explained = _assert_exactly_once(schedules, found)
    _assert_receipts_match(sink, found)
    duplicates = _assert_duplicates_are_earned(sink, attempts, nemesis.faults)
    late = sorted(each.arrived_at - each.scheduled_for for each in sink.receipts)
    kinds = Counter(fault.kind for fault in nemesis.faults)
    print(  # noqa: T201 - what the run was worth
        f"{dict(kinds)}, {dict(explained)}, {len(sink.receipts)} receipts, {duplicates} earned "
        f"duplicates, lateness p50 {late[len(late) // 2]} max {late[-1]}, fences to {fences}"
    )
    # Teeth: a run in which nothing happened proves nothing.
    assert kinds["kill"] > 0
    assert kinds["freeze"] > 1
    assert fences > 2
    assert attempts
    assert explained["succeeded"] > SCHEDULES * SLOTS / 2


async def _populate(db: Database, office: Office, sink: Sink) -> list[Schedule]:
    """Schedules of 30 slots each, ten instants in a second, a third of each overlap policy."""
    begin = await database_now(db) + timedelta(seconds=3 * crowding())
    begin = begin.replace(microsecond=0)
    items: list[dict[str, Any]] = []
    for number in range(SCHEDULES):
        start_at = begin + timedelta(milliseconds=100 * (number % 10))
        end_at = start_at + PERIOD * (SLOTS - 1) + PERIOD / 2
        items.append(
            {
                "name": f"s{number}",
                "interval": "1s",
                "start_at": start_at.isoformat(),
                "end_at": end_at.isoformat(),
                "target_url": f"{sink.url}/{number % 7 * 10}",
                "overlap_policy": OVERLAPS[number % len(OVERLAPS)],
                "misfire_cap": SLOTS,
                "capture": "none",
            }
        )
    saved = await create.create_many(db, office.tenant, items, shards=SHARDS)
    return [each.schedule for each in saved]


def _first(schedule: Schedule) -> datetime:
    start_at = schedule.definition.start_at
    assert start_at is not None
    return start_at


async def _drained(db: Database) -> None:
    """Return when every schedule has come to its end and nothing is in the queue."""

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            return not await tx.fetch_value(
                "SELECT (SELECT count(*) FROM timers) + (SELECT count(*) FROM queue)"
            )

    await eventually(look, within=60)


async def _lost(db: Database) -> dict[tuple[UUID, int], Row]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT * FROM attempts WHERE outcome <> 'succeeded'")
    return {(row["firing_id"], row["attempt"]): row for row in rows}


async def _fences(db: Database) -> int:
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch_value("SELECT max(fence) FROM leases")


def _assert_exactly_once(schedules: list[Schedule], found: dict[UUID, list[Entry]]) -> Counter[str]:
    """I1, I2, I3: every slot is explained by one entry, and no entry is of another slot."""
    explained: Counter[str] = Counter()
    assert set(found) == {each.id for each in schedules}
    for schedule in schedules:
        first = _first(schedule)
        slots = every(PERIOD, first)(first - PERIOD, first + PERIOD * (SLOTS - 1))
        assert len(slots) == SLOTS
        result = account(slots, found[schedule.id])
        assert result.is_sound, (schedule.definition, result, found[schedule.id])
        explained += result.explained
    assert explained.total() == SCHEDULES * SLOTS
    return explained


def _assert_receipts_match(sink: Sink, found: dict[UUID, list[Entry]]) -> None:
    """I1, I4, I6, I9: a receipt for every success, none of nothing, none early, stable keys."""
    known = {each.id: each for some in found.values() for each in some}
    receipts = sink.by_firing()
    assert receipts.keys() <= known.keys()
    succeeded = {each.id for each in known.values() if each.status == "succeeded"}
    assert succeeded <= {id_ for id_, some in receipts.items() if any(e.answered_at for e in some)}
    for id_, some in receipts.items():
        assert {each.scheduled_for for each in some} == {known[id_].scheduled_for}
        assert len({each.key for each in some}) == 1
        assert len({each.attempt for each in some}) == len(some)
    # The sink and the database share a clock.
    assert [each for each in sink.receipts if each.arrived_at < each.scheduled_for] == []


def _assert_duplicates_are_earned(
    sink: Sink, lost: dict[tuple[UUID, int], Row], faults: list[Fault]
) -> int:
    """I5: whoever was called again had been called by a worker that was killed or froze then."""
    count = 0
    for some in sink.by_firing().values():
        for receipt in sorted(some, key=lambda each: each.attempt)[:-1]:
            row = lost.get((receipt.firing_id, receipt.attempt))
            assert row is not None, f"called again after a success: {some}"
            assert any(_explains(fault, receipt, row) for fault in faults), (some, row)
            count += 1
    return count


def _explains(fault: Fault, receipt: Receipt, lost: Row) -> bool:
    began = fault.began_at - timedelta(seconds=1)
    return (
        fault.node == lost["worker"]
        and began <= lost["finished_at"]
        and (
            fault.ended_at is None
            or fault.kind == "kill"
            or receipt.arrived_at <= fault.ended_at + timedelta(seconds=1)
        )
    )


def _serves(process: Process) -> bool:
    return "Rota runs as" in process.log
