"""Thousands of schedules for the same instant."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import cluster, database_now, settled
from tests.deadlines import Strain
from tests.failures.scenes import SECOND, all_ended_past, many, set_slots, twice

if TYPE_CHECKING:
    from datetime import timedelta
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


RATE = 60


@pytest.mark.parametrize(
    ("herd", "jitter"),
    [
        (2_000, 4),
        pytest.param(50_000, 60, marks=[pytest.mark.large, pytest.mark.timeout(1_800)]),
    ],
)
async def test_jitter_spreads_a_herd_at_midnight(
    tmp_path: Path,
    dsn: str,
    db: Database,
    office: Office,
    target: Target,
    *,
    herd: int,
    jitter: int,
) -> None:
    """Each schedule by its own offset, none early, none lost."""
    await many(office, target, herd, interval="1h", jitter_seconds=jitter, capture="none")
    async with cluster(tmp_path, dsn) as nodes:
        scheduler, _ = await nodes.start("scheduler", "worker")
        await settled(db, scheduler)
        ready_in = 5 + herd // 2_000
        slot = (await database_now(db)).replace(microsecond=0) + ready_in * SECOND
        await set_slots(office, slot)
        strain = Strain()
        # The witness answers a few hundred a second at least, on a machine that is busy.
        await all_ended_past(db, slot + jitter * SECOND, within=30 + herd / 100)
        statuses = await _statuses(db)
        offsets = await _offsets(db)
        strained = strain.seconds
    assert statuses == {"succeeded": herd}
    assert twice(target) == []
    assert len(target.receipts) == herd
    late = sorted((each.arrived_at - slot) / SECOND for each in target.receipts)
    assert late[0] >= 0
    # Evenly: a tenth of the herd is due in a tenth of the jitter.
    tenths = Counter(int(each / SECOND / jitter * 10) for each in offsets)
    assert max(tenths.values()) < herd / 5, tenths
    assert len(tenths) == 10
    # The median: what a starved machine does to the last of them says nothing of the jitter.
    assert late[len(late) // 2] < jitter / 2 + 2 + strained, late[len(late) // 2]


async def test_a_host_with_a_limited_rate_gets_a_herd_piece_by_piece(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """So many requests a second to one host, over all workers; waiting uses no attempt."""
    count = 3 * RATE
    await many(office, target, count, interval="1h")
    async with cluster(tmp_path, dsn, ROTA_HOST_RATE=str(RATE)) as nodes:
        scheduler, _, _ = await nodes.start("scheduler", "worker", "worker")
        await settled(db, scheduler)
        slot = (await database_now(db)).replace(microsecond=0) + 5 * SECOND
        await set_slots(office, slot)
        await all_ended_past(db, slot)
        statuses = await _statuses(db)
    assert statuses == {"succeeded": count}
    assert [each.attempt for each in target.receipts] == [1] * count
    arrived = sorted((each.arrived_at - slot) / SECOND for each in target.receipts)
    busiest = max(sum(1 for each in arrived if at <= each < at + 1) for at in arrived)
    assert busiest <= RATE * 1.5, busiest
    assert arrived[0] >= 0


async def _offsets(db: Database) -> list[timedelta]:
    """Of each schedule; the instant of a firing moves when it is tried again."""
    async with db.transaction(read_only=True) as tx:
        return [row[0] for row in await tx.fetch("SELECT due_at - scheduled_for FROM timers")]


async def _statuses(db: Database) -> dict[str, int]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT status, count(*) AS count FROM firings GROUP BY 1")
    return {row["status"]: row["count"] for row in rows}
