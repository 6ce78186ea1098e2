"""A scheduler dies, freezes, leaves or joins: who leads its shards then, and how soon (LE2-LE6)."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from tests.cluster.ledger import account, entries, every
from tests.cluster.nodes import (
    Cluster,
    Process,
    cluster,
    database_now,
    eventually,
    holds,
    node_of,
    settled,
    shards_of,
    until,
)
from tests.deadlines import Strain

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.db.schedules import Office

    from rota.db import Database
    from rota.schedules.schedule import Schedule


SHARDS = 64
_OPEN = """
    SELECT a.pid, a.state, a.wait_event_type, a.wait_event, a.query, pg_blocking_pids(a.pid) AS by,
           clock_timestamp() - a.state_change AS since,
           array_agg(l.mode || ' ' || coalesce(l.relation::regclass::text, l.locktype)) AS locks
      FROM pg_stat_activity a LEFT JOIN pg_locks l USING (pid)
     WHERE a.datname = current_database() AND a.xact_start IS NOT NULL AND a.pid <> pg_backend_pid()
     GROUP BY 1, 2, 3, 4, 5, 6, 7
"""
SECOND = timedelta(seconds=1)
CRASH_BOUND = 2 * SECOND
"""From kill -9 to the last of its shards being led again."""

# A transaction that a frozen process left open is ended by the server after 5 s: not a longer wait
# than for the lease itself.
TTL = 5 * SECOND
SHORT = {"ROTA_LEASE_TTL": "5s", "ROTA_LEASE_RENEW_INTERVAL": "1s"}


async def test_the_shards_of_a_killed_scheduler_are_led_again_in_under_two_seconds(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    async with cluster(tmp_path, dsn) as nodes:
        await nodes.start("scheduler", "scheduler", "scheduler")
        took, strained = await _time_a_crash(nodes, db)
        assert took < CRASH_BOUND + strained


async def test_the_shards_of_a_frozen_scheduler_are_led_again_when_its_lease_has_run_out(
    tmp_path: Path, dsn: str, db: Database, office: Office
) -> None:
    """SIGSTOP keeps the session: nothing but the clock can tell."""
    async with cluster(tmp_path, dsn, **SHORT) as nodes:
        frozen, heir = await nodes.start("scheduler", "scheduler")
        nodes_of = await settled(db, frozen, heir)
        schedules = await _every_second(office, 32)
        await _all_fired_past(db, await database_now(db) + SECOND)
        strain, began = Strain(), await database_now(db)
        frozen.freeze()
        took = await _led_by(db, nodes_of[1], since=began)
        assert took < TTL + (1 + strain.seconds) * SECOND
        await _all_fired_past(db, await database_now(db) + SECOND)
        frozen.thaw()
        # It has slept through its lease, and knows it by its own clock; or is told so.
        lost = ("reason=expired", "reason=taken", "reason=fence")
        await holds(lambda: any(reason in frozen.log for reason in lost))
        await settled(db, frozen, heir)
        await _assert_each_slot_once(db, schedules)


async def test_a_stale_leader_that_believes_in_its_lease_is_refused_by_the_fence(
    tmp_path: Path, dsn: str, db: Database, office: Office
) -> None:
    """Its machine freezes and its session is cut, so it is given up; and it wakes up too early.

    By every clock it has, its lease still holds. Only the fence knows better (F11, LE6).
    """
    # Renewed long after the test: it must be the fence that tells, not the renewal.
    lasting = {"ROTA_LEASE_TTL": "10m", "ROTA_LEASE_RENEW_INTERVAL": "4m"}
    async with cluster(tmp_path, dsn, **lasting) as nodes:
        stale, heir = await nodes.start("scheduler", "scheduler")
        node, other = await settled(db, stale, heir)
        schedules = await _every_second(office, 64)
        await _all_fired_past(db, await database_now(db) + SECOND)
        fences = await _fences(db, node)
        stale.freeze()
        await _cut_session(db, node)
        strain, began = Strain(), await database_now(db)
        took = await _led_by(db, other, since=began)
        assert took < (10 + strain.seconds) * SECOND
        stale.thaw()
        await holds(lambda: "fence_refused" in stale.log and "reason=fence" in stale.log)
        await _all_fired_past(db, await database_now(db) + 2 * SECOND)
        async with db.transaction(read_only=True) as tx:
            used = await tx.fetch(
                """SELECT q.fence, l.shard FROM queue q
                     JOIN schedules s ON s.id = q.schedule_id JOIN leases l ON l.shard = s.shard
                    WHERE q.scheduled_for > $1""",
                began + 3 * SECOND,
            )
        assert used
        # Nothing was written under a fence that had been overtaken.
        assert all(row["fence"] > fences.get(row["shard"], 0) for row in used)
        await _assert_each_slot_once(db, schedules)


async def test_a_scheduler_that_is_told_to_stop_hands_its_shards_over_at_once(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    async with cluster(tmp_path, dsn) as nodes:
        leaving, staying = await nodes.start("scheduler", "scheduler")
        node, other = await settled(db, leaving, staying)
        strain, began = Strain(), await database_now(db)
        leaving.terminate()
        # A moment for the signal, and one for the other's next look.
        took = await _led_by(db, other, since=began)
        assert took < CRASH_BOUND + strain.seconds * SECOND
        assert await leaving.exit_status() == 0
        assert "leases_resigned" in leaving.log
        assert node not in await shards_of(db)


async def test_a_scheduler_that_joins_gets_its_fair_share(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    async with cluster(tmp_path, dsn) as nodes:
        (first,) = await nodes.start("scheduler")
        assert await _shares(db, first) == [SHARDS]
        (second,) = await nodes.start("scheduler")
        assert await _shares(db, first, second) == [32, 32]
        (third,) = await nodes.start("scheduler")
        shares = await _shares(db, first, second, third)
        assert sum(shares) == SHARDS
        assert all(18 <= share <= 22 for share in shares)


async def _time_a_crash(nodes: Cluster, db: Database) -> tuple[timedelta, timedelta]:
    """Kill one of those that lead, and wait until the others have all that it led.

    How long that took, and for how much of it the machine was short of cores.
    """
    running = nodes.of("scheduler")
    await settled(db, *running)
    victim = running[0]
    node = await node_of(db, victim)
    strain, began = Strain(), await database_now(db)
    victim.kill()

    async def led_again() -> datetime | None:
        async with db.transaction(read_only=True) as tx:
            row = await tx.fetch_row(
                "SELECT clock_timestamp() AS now, count(*) FILTER (WHERE holder = $1) AS left_over,"
                " count(holder) AS held FROM leases",
                node,
            )
        assert row is not None
        return row["now"] if (row["left_over"], row["held"]) == (0, SHARDS) else None

    took = await eventually(led_again) - began
    return took, strain.seconds * SECOND


async def _led_by(db: Database, node: UUID, *, since: datetime) -> timedelta:
    """How long it took until the node leads all shards."""

    async def leads_all() -> datetime | None:
        led = (await shards_of(db)).get(node) == SHARDS
        return await database_now(db) if led else None

    try:
        return await eventually(leads_all) - since
    except AssertionError as error:
        # What a frozen process left open must have been ended: which of it was not?
        async with db.transaction(read_only=True) as tx:
            for each in await tx.fetch(_OPEN):
                error.add_note(f"still open: {dict(each)}")
        raise


async def _shares(db: Database, *processes: Process) -> list[int]:
    nodes = await settled(db, *processes)
    shards = await shards_of(db)
    return [shards[node] for node in nodes]


async def _every_second(office: Office, count: int) -> list[Schedule]:
    """Schedules whose slots nobody runs: nothing waits for anything but its lease."""
    return [
        await office.create(name=f"s{number}", interval="1s", overlap_policy="allow")
        for number in range(count)
    ]


async def _all_fired_past(db: Database, instant: datetime) -> None:
    """Return when no slot up to the instant is left to fire, and the instant has passed."""
    await until(db, instant)

    async def look() -> bool:
        async with db.transaction(read_only=True) as tx:
            left = await tx.fetch_value("SELECT count(*) FROM timers WHERE due_at <= $1", instant)
        return left == 0

    await eventually(look)


async def _fences(db: Database, node: UUID) -> dict[int, int]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT shard, fence FROM leases WHERE holder = $1", node)
    return {row["shard"]: row["fence"] for row in rows}


async def _cut_session(db: Database, node: UUID) -> None:
    """End the session whose lock says that the node lives."""
    async with db.transaction() as tx:
        ended = await tx.fetch(
            """SELECT pg_terminate_backend(k.pid)
                 FROM nodes n
                 JOIN pg_locks k ON k.locktype = 'advisory' AND k.objid = n.lock_key::oid
                WHERE n.id = $1""",
            node,
        )
    assert len(ended) == 1


async def _assert_each_slot_once(db: Database, schedules: list[Schedule]) -> None:
    now = await database_now(db)
    await _all_fired_past(db, now)
    found = await entries(db)
    explained: Counter[str] = Counter()
    for schedule in schedules:
        slots = every(SECOND, schedule.anchor_at)
        required = slots(schedule.created_at, now)
        ahead = {*slots(now, now + 60 * SECOND)}
        result = account(required, [e for e in found[schedule.id] if e.scheduled_for not in ahead])
        assert result.is_sound, result
        explained += result.explained
    assert set(explained) == {"waiting"}
