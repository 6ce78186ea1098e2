"""F9: the database ends every session, again and again, while all loops poll."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString

from tests.cluster.nodes import cluster, database_now, settled, until
from tests.failures.scenes import (
    SECOND,
    SHORT,
    all_ended_past,
    assert_each_second_succeeded,
    calls,
    twice,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


BLIPS = 8
_CUT: LiteralString = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name IN ('rota engine', 'rota node')
"""


async def test_database_blip_during_poll(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F9, QW8: loops say so and go on; nothing is lost, nothing is called twice (I3, I5)."""
    async with cluster(tmp_path, dsn, **SHORT) as nodes:
        roles = await nodes.start("scheduler", "scheduler", "worker", "worker")
        await settled(db, *nodes.of("scheduler"))
        schedules = [
            await calls(office, target, f"s{number}", interval="1s") for number in range(20)
        ]
        cut = 0
        at = await database_now(db) + SECOND
        for _ in range(BLIPS):
            await until(db, at)
            async with db.transaction() as tx:
                cut += await tx.fetch_value(_CUT)
            # Not in step with the schedules, so that every stage of a firing is met.
            at += 0.37 * SECOND
        horizon = await database_now(db) + 2 * SECOND
        await all_ended_past(db, horizon)
        assert all(each.is_running for each in roles)
        await assert_each_second_succeeded(db, schedules, until=horizon)
        logs = "".join(each.log for each in roles)
    assert cut > BLIPS * len(roles)
    assert "session_lost" in logs
    assert twice(target) == []
    assert [each for each in target.receipts if each.arrived_at < each.scheduled_for] == []
