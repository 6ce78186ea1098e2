"""F2: one scheduler cannot reach the store; nobody has hung up, and nothing arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.cluster.nodes import cluster, database_now, holds, settled
from tests.deadlines import Strain
from tests.failures.scenes import (
    SECOND,
    SHORT,
    TTL,
    alerted,
    all_ended_past,
    answers,
    assert_each_second_succeeded,
    calls,
    lateness,
    leads,
    shards_led_by,
    shows,
    status_of,
    twice,
)
from tests.failures.wire import wire

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


ALARM = 30 * SECOND
# A firing transaction that the cut left open is ended by the server after 5 s, and holds its shards
# until then; the heir looks every half second.
BOUND = max(TTL, 5 * SECOND) + 2 * SECOND


async def test_store_partition(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F2: that shard backs off and retries, alarm within 30 s; others unaffected (L4, I3, I8).

    The alarm is in the log and in the figures at once; as an alert when there is a database again.
    """
    for name in ("cut", "well"):
        (tmp_path / name).mkdir()
    async with (
        wire(dsn) as line,
        cluster(tmp_path / "cut", line.dsn, **SHORT) as cut,
        cluster(tmp_path / "well", dsn, **SHORT) as well,
    ):
        api, lost = await cut.start("api", "scheduler")
        heir, _ = await well.start("scheduler", "worker")
        mine, other = await settled(db, lost, heir)
        assert await status_of(f"{api.url}/readyz") == 200
        schedules = [
            await calls(office, target, f"s{number}", interval="1s") for number in range(12)
        ]
        await all_ended_past(db, await database_now(db) + 2 * SECOND)
        theirs = await shards_led_by(db, mine)

        strain, began = Strain(), await database_now(db)
        line.cut()
        took = await leads(db, other, theirs) - began
        assert took < BOUND + strain.seconds * SECOND
        await answers(f"{api.url}/readyz", 503)
        await holds(lambda: "database_away" in lost.log)
        await shows(f"{api.url}/metrics", "rota_database_up 0.0")
        assert await database_now(db) - began < ALARM + strain.seconds * SECOND
        assert await status_of(f"{api.url}/healthz") == 200
        assert lost.is_running

        line.mend()
        await answers(f"{api.url}/readyz", 200)
        await settled(db, lost, heir)
        await holds(lambda: "database_back" in lost.log and "leases_lost" in lost.log)
        await alerted(db, "away")
        horizon = await database_now(db) + SECOND
        await all_ended_past(db, horizon)
        await assert_each_second_succeeded(db, schedules, until=horizon)
        strained = strain.seconds * SECOND
    assert line.held_back > 0
    assert twice(target) == []
    others = [each for each in schedules if each.shard not in theirs]
    assert others, "no schedule of the other's"
    worst = max(max(lateness(target, each)) for each in others)
    assert worst < SECOND + strained, worst
    worst = max(max(lateness(target, each)) for each in schedules)
    assert worst < BOUND + SECOND + strained, worst
