"""F5: thousands of schedules for the same instant."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import cluster, database_now, settled
from tests.failures.scenes import SECOND, all_ended_past, many, set_slots, twice

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database

pytestmark = pytest.mark.timeout(60)

HERD = 2_000
JITTER = 4
RATE = 60


async def test_f5_midnight_herd(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F5, JF1: jitter spreads the herd, each schedule by its own offset, none early, none lost."""
    await many(office, target, HERD, interval="1h", jitter_seconds=JITTER, capture="none")
    async with cluster(tmp_path, dsn) as nodes:
        scheduler, _ = await nodes.start("scheduler", "worker")
        await settled(db, scheduler)
        slot = (await database_now(db)).replace(microsecond=0) + 5 * SECOND
        await set_slots(office, slot)
        await all_ended_past(db, slot + JITTER * SECOND)
        statuses = await _statuses(db)
        due = await _due(db)
    assert statuses == {"succeeded": HERD}
    assert twice(target) == []
    assert len(target.receipts) == HERD
    late = sorted((each.arrived_at - slot) / SECOND for each in target.receipts)
    assert late[0] >= 0
    # Evenly: a tenth of the herd is due in a tenth of the jitter.
    tenths = Counter(int((each - slot) / SECOND / JITTER * 10) for each in due)
    assert max(tenths.values()) < HERD / 5, tenths
    assert len(tenths) == 10
    assert late[-1] < JITTER + 2, late[-1]


async def test_a_host_with_a_limited_rate_gets_a_herd_piece_by_piece(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F5, HX6: so many requests a second to one host, over all workers; waiting uses no attempt."""
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


async def _due(db: Database) -> list[datetime]:
    async with db.transaction(read_only=True) as tx:
        return [row["due_at"] for row in await tx.fetch("SELECT due_at FROM firings")]


async def _statuses(db: Database) -> dict[str, int]:
    async with db.transaction(read_only=True) as tx:
        rows = await tx.fetch("SELECT status, count(*) AS count FROM firings GROUP BY 1")
    return {row["status"]: row["count"] for row in rows}
