"""F14: all is stopped for a deploy, slots come due meanwhile, and all is started again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.ledger import account, entries, every
from tests.cluster.nodes import cluster, database_now, settled, until
from tests.failures.holding import hold_slot, session_ended
from tests.failures.scenes import SECOND, all_ended_past, calls, ended, twice

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cluster.ledger import Account, Entry
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database

pytestmark = pytest.mark.timeout(60)

HOUR = timedelta(hours=1)
DEPLOY = 4 * SECOND
POLICIES: dict[str, dict[str, Any]] = {
    "late": {"misfire_policy": "fire_late", "misfire_cap": 40},
    "capped": {"misfire_policy": "fire_late", "misfire_cap": 2},
    "recent": {"misfire_policy": "fire_most_recent"},
    "skip": {"misfire_policy": "skip"},
}


async def test_f14_deploy_over_a_fire_time(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F14, MF1, MF3, I11: what was missed is recovered, exactly as each schedule's policy says."""
    async with cluster(tmp_path, dsn) as nodes:
        old = await nodes.start("scheduler", "worker")
        await settled(db, old[0])
        schedules = {
            name: await calls(office, target, name, interval="1s", misfire_grace="1s", **rules)
            for name, rules in POLICIES.items()
        }
        await all_ended_past(db, await database_now(db) + SECOND)
        for each in old:
            each.terminate()
        assert [await each.exit_status() for each in old] == [0, 0]
        await until(db, await database_now(db) + DEPLOY)
        await nodes.start("scheduler", "worker")
        horizon = await database_now(db) + 2 * SECOND
        await all_ended_past(db, horizon)
        found = await entries(db)
    for name, each in schedules.items():
        mine = [entry for entry in found[each.id] if entry.scheduled_for <= horizon]
        slots = every(SECOND, each.anchor_at)(each.created_at, horizon)
        _assert_policy(name, account(slots, mine), mine)
        # The target is told which ones are catch-ups, with their original instants (MF5, HX8).
        told = {(r.scheduled_for, r.catch_up) for r in target.of(each.id)}
        assert {(e.scheduled_for, e.catch_up) for e in mine if e.status == "succeeded"} <= told
    assert twice(target) == []


def _assert_policy(name: str, result: Account, mine: list[Entry]) -> None:
    assert result.is_sound, (name, result)
    late = [entry.scheduled_for for entry in mine if entry.catch_up]
    missed = [entry for entry in mine if entry.status == "missed"]
    if name == "late":
        assert missed == []
        assert len(late) >= DEPLOY // SECOND - 2
        return
    # One range, and what is fired of the outage are the newest, right after it.
    (gap,) = missed
    assert gap.reason == ("misfire_cap" if name == "capped" else "misfire_policy")
    last = gap.last_slot_at or gap.scheduled_for
    count = {"capped": 2, "recent": 1, "skip": 0}[name]
    assert late == [last + number * SECOND for number in range(1, count + 1)]


async def test_a_scheduler_that_dies_mid_catch_up_is_followed_by_the_same_catch_up(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """c7, MF6: all catch-ups and the re-arming are one step; the successor takes the same one."""
    first = (await database_now(db)).replace(microsecond=0) - 5 * HOUR - 10 * SECOND
    schedule = await calls(
        office, target, "hourly", interval="1h", start_at=first.isoformat(), misfire_cap=3
    )
    await office.set_timer(schedule, first)
    slots = [first + number * HOUR for number in range(6)]
    async with cluster(tmp_path, dsn) as nodes:
        async with hold_slot(db, schedule, slots[4]) as held:
            (scheduler,) = await nodes.start("scheduler")
            session = await held.runs_into()
            scheduler.kill()
        await session_ended(db, session)
        assert await office.queue(schedule) == await office.firings(schedule) == []
        await nodes.start("scheduler", "worker")
        missed, *caught_up = await ended(db, schedule, 4)
        timer = await office.timer(schedule)
    assert (missed["status"], missed["reason"]) == ("missed", "misfire_cap")
    assert (missed["scheduled_for"], missed["last_slot_at"]) == (slots[0], slots[2])
    assert missed["slot_count"] == 3
    assert [(row["scheduled_for"], row["status"], row["catch_up"]) for row in caught_up] == [
        (slot, "succeeded", True) for slot in slots[3:]
    ]
    assert timer is not None
    assert timer["scheduled_for"] == slots[-1] + HOUR
    # One after another, in the order of their instants.
    assert [each.scheduled_for for each in target.receipts] == slots[3:]
