"""F4: the machines of a cluster disagree about the time, by hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, database_now, holds, settled
from tests.deadlines import Strain
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

    from tests.cluster.nodes import Cluster, Process, Role
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


# Read by the interpreter when it starts. All of the program reads the wall clock in one place; the
# monotonic clock is left alone, as a step of the wall clock leaves it.
_SKEWED = """
import os, sys
from datetime import timedelta
from rota.clock import SystemClock

_now = SystemClock.now
SystemClock.now = lambda self: _now(self) + timedelta(seconds=int(os.environ["SKEW"]))
off = SystemClock().now() - _now(SystemClock())
print("skewed by", round(off.total_seconds()), file=sys.stderr)
"""

HOUR = 3600


async def test_clock_skew(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F4, TZ10, I9, I10: one firing per slot, never early; the database's clock is the truth.

    One leader is an hour ahead, the other an hour behind, and the worker ten minutes ahead; the
    first dies on the way, so that the same slots pass from one clock to the other.
    """
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(_SKEWED)
    async with cluster(tmp_path, dsn, **SHORT, PYTHONPATH=str(site)) as nodes:
        ahead = await _start(nodes, "scheduler", HOUR)
        behind = await _start(nodes, "scheduler", -HOUR)
        await _start(nodes, "worker", 600)
        await settled(db, ahead, behind)
        schedules = [
            await calls(office, target, f"s{number}", interval="1s") for number in range(16)
        ]
        strain = Strain()
        await all_ended_past(db, await database_now(db) + 2 * SECOND)
        ahead.kill()
        horizon = await database_now(db) + 3 * SECOND
        await all_ended_past(db, horizon)
        strained = strain.seconds
        await assert_each_second_succeeded(db, schedules, until=horizon)
    assert twice(target) == []
    late = [each.arrived_at - each.scheduled_for for each in target.receipts]
    assert min(late) >= 0 * SECOND, min(late)
    # As long as a take-over after a crash may take.
    assert max(late) < (3 + strained) * SECOND, max(late)


async def _start(nodes: Cluster, role: Role, skew: int) -> Process:
    nodes.variables = {**nodes.variables, "SKEW": str(skew)}
    (started,) = await nodes.start(role)
    await holds(lambda: f"skewed by {skew}" in started.log)
    return started
