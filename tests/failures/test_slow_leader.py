"""A leader far from the database: every round trip takes 300 ms longer."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, database_now, holds, node_of, settled
from tests.db.schedules import SHARDS
from tests.deadlines import Strain
from tests.failures.scenes import (
    EVERYTHING,
    SECOND,
    all_ended_past,
    assert_each_second_succeeded,
    calls,
    leads,
    twice,
)
from tests.failures.wire import wire

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


DELAY = 0.3
SLOTS = 6


async def test_a_slow_leader_gives_its_shards_to_a_quick_one(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """It leads all shards when it becomes slow; a quick scheduler joins, and leads them all."""
    strain = Strain()
    async with wire(dsn) as line, cluster(tmp_path, line.dsn) as nodes:
        (slow,) = await nodes.start("scheduler")
        await settled(db, slow)
        schedules = [
            await calls(office, target, f"s{number}", interval="1s", misfire_cap=100)
            for number in range(8)
        ]
        line.delay = DELAY
        nodes.dsn = dsn
        quick, _ = await nodes.start("scheduler", "worker")
        handed_over = await leads(db, await node_of(db, quick), range(SHARDS))
        await holds(lambda: "node_stood_back" in slow.log)
        assert "reason=slow" in slow.log
        horizon = handed_over + SLOTS * SECOND
        await all_ended_past(db, horizon)
        await assert_each_second_succeeded(db, schedules, until=horizon)
        assert "node_returned" not in slow.log
        # Only when the quick one is gone does the slow one lead again.
        quick.kill()
        await leads(db, await node_of(db, slow), range(SHARDS))
        assert "node_returned" in slow.log
    assert twice(target) == []
    # The lead hides what is left of the handover.
    assert median(_late(target, after=handed_over, until=horizon)) < 1 + strain.seconds


async def test_the_lateness_of_a_slow_node_alone_is_bounded(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """The lead makes up for most of it: what is due is looked for, fired and claimed ahead.

    Without the lead and with ten round trips a pass it was late by eight seconds.
    """
    strain = Strain()
    async with wire(dsn) as line, cluster(tmp_path, line.dsn) as nodes:
        (node,) = await nodes.start(EVERYTHING)
        await settled(db, node)
        schedules = [
            await calls(office, target, f"s{number}", interval="1s", misfire_cap=100)
            for number in range(8)
        ]
        line.delay = DELAY
        begun = await database_now(db) + 5 * SECOND
        horizon = begun + 2 * SLOTS * SECOND
        await all_ended_past(db, horizon)
        await assert_each_second_succeeded(db, schedules, until=horizon)
        assert "node_stood_back" not in node.log
    assert twice(target) == []
    late = _late(target, after=begun, until=horizon)
    assert median(late) < 2 + strain.seconds, sorted(late)


def _late(target: Target, *, after: datetime, until: datetime) -> list[float]:
    """By how many seconds the calls of these slots came late."""
    return [
        (each.arrived_at - each.scheduled_for) / SECOND
        for each in target.receipts
        if after < each.scheduled_for <= until
    ]
