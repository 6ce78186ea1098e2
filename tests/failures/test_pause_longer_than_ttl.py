"""F11: a leader stands still for longer than its lease, between its check and its write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, database_now, holds, settled
from tests.deadlines import Strain
from tests.failures.holding import hold_slot
from tests.failures.scenes import SECOND, SHORT, calls_in, ended, leads, queued, shards_led_by, soon
from tests.failures.wire import wire

from rota import ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


IDLE = 5 * SECOND
"""How long the server lets a transaction stand idle."""


async def test_pause_longer_than_ttl(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F11, LE5, LE6, I7: the stale leader's write is attempted, and refused by the fence.

    It has found its lease good, opened its transaction and sent the first statement of it; there it
    is frozen (SIGSTOP, as a long garbage collection would). Its statement reaches the database only
    after another has taken the shard and fired the slot.
    """
    for name in ("stale", "well"):
        (tmp_path / name).mkdir()
    async with (
        wire(dsn) as line,
        cluster(tmp_path / "stale", line.dsn, **SHORT) as behind,
        cluster(tmp_path / "well", dsn, **SHORT) as well,
    ):
        (stale,) = await behind.start("scheduler")
        (heir,) = await well.start("scheduler")
        node, other = await settled(db, stale, heir)
        shards = await shards_led_by(db, node)
        slot = await soon(db)
        # The statement that fires, and no other that proves a fence, such as the look at tzdata.
        line.stop_at("INSERT INTO queue")
        (schedule,) = await calls_in(office, target, shards, run_at=slot.isoformat())
        async with db.transaction(read_only=True) as tx:
            fence = await tx.fetch_value(
                "SELECT fence FROM leases WHERE shard = $1", schedule.shard
            )
        await line.stopped.wait()
        stale.freeze()
        await leads(db, other, shards)
        row = await queued(db, schedule)
        stale.thaw()
        line.let_go()
        await holds(lambda: "fence_refused" in stale.log)
        assert "leases_lost" in stale.log
        await settled(db, stale, heir)
        await well.start("worker")
        (firing,) = await ended(db, schedule)
    assert row["id"] == firing["id"] == ids.firing_id(schedule.id, slot)
    assert row["fence"] > fence, "written under a fence that had been overtaken"
    assert firing["status"] == "succeeded"
    assert [each.firing_id for each in target.receipts] == [firing["id"]]


async def test_a_leader_that_freezes_before_its_commit_holds_nobody_up(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """Its firing is written and its shard's row locked; the statement ends without it.

    A successor must wait for that row, but no longer than the statement takes.
    """
    async with cluster(tmp_path, dsn, **SHORT) as nodes:
        stale, heir, _ = await nodes.start("scheduler", "scheduler", "worker")
        node, other = await settled(db, stale, heir)
        shards = await shards_led_by(db, node)
        slot = await soon(db)
        (schedule,) = await calls_in(office, target, shards, run_at=slot.isoformat())
        async with hold_slot(db, schedule, slot) as held:
            await held.runs_into()
            stale.freeze()
            strain, began = Strain(), await database_now(db)
        took = await leads(db, other, shards) - began
        assert took < IDLE + (3 + strain.seconds) * SECOND
        stale.thaw()
        (firing,) = await ended(db, schedule)
        await settled(db, stale, heir)
    assert (firing["id"], firing["status"]) == (ids.firing_id(schedule.id, slot), "succeeded")
    assert [each.firing_id for each in target.receipts] == [firing["id"]]
