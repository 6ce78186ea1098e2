"""F16: whoever holds the lock crashes in the middle of a tick, with many entries due."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, database_now, settled
from tests.deadlines import Strain
from tests.failures.holding import hold
from tests.failures.scenes import (
    SECOND,
    SHORT,
    TTL,
    all_ended_past,
    calls_in,
    shards_led_by,
    soon,
    twice,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


DUE = 30


async def test_lock_holder_crashes_mid_tick(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F16: due entries fire on the next holder's tick, no later than the lease's time; MF8, I10.

    Without a lead, so that a tick is at the instant itself and lateness cannot hide in it.
    """
    async with cluster(tmp_path, dsn, **SHORT, ROTA_LEAD="0s") as nodes:
        holder, heir, _ = await nodes.start("scheduler", "scheduler", "worker")
        node, _ = await settled(db, holder, heir)
        shards = await shards_led_by(db, node)
        slot = await soon(db, seconds=3)
        schedules = await calls_in(office, target, shards, DUE, run_at=slot.isoformat())
        assert await database_now(db) < slot, "too slow to set the scene"
        async with hold(db, "LOCK TABLE queue IN SHARE MODE") as held:
            strain = Strain()
            await held.crash(holder, await held.runs_into("held AS MATERIALIZED"))
        await all_ended_past(db, slot)
        strained = strain.seconds
    assert len(target.receipts) == DUE == len(schedules)
    assert twice(target) == []
    late = [each.arrived_at - slot for each in target.receipts]
    assert min(late) >= 0 * SECOND
    assert max(late) <= TTL + strained * SECOND, max(late)
