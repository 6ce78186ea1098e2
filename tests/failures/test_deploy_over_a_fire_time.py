"""All is stopped for a deploy, slots come due in the meantime, and all is started again."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.cluster.ledger import account, entries, every
from tests.cluster.nodes import cluster, database_now, settled, until
from tests.failures.holding import hold_slot
from tests.failures.scenes import SECOND, all_ended_past, calls, ended, twice

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from tests.cluster.ledger import Entry
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database
    from rota.schedules.schedule import Schedule


HOUR = timedelta(hours=1)
DEPLOY = 4 * SECOND
POLICIES: dict[str, dict[str, Any]] = {
    "late": {"misfire_policy": "fire_late", "misfire_cap": 40},
    "capped": {"misfire_policy": "fire_late", "misfire_cap": 2},
    "recent": {"misfire_policy": "fire_most_recent"},
    "skip": {"misfire_policy": "skip"},
}


async def test_a_deploy_over_a_fire_time_is_made_up_for(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """What was missed is recovered, exactly as each schedule's policy says, and marked as such.

    Marked are the slots of the outage and no others: from the first that the old scheduler had not
    fired to the last that was due when the new one first looked.
    """
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
        begins = {name: await _first_unfired(office, each) for name, each in schedules.items()}
        await until(db, max(begins.values()) + DEPLOY)
        looked_after = await database_now(db)
        await nodes.start("scheduler", "worker")
        horizon = await database_now(db) + 2 * SECOND
        await all_ended_past(db, horizon)
        found = await entries(db)
        looked_before = {name: await _acted_at(db, each) for name, each in schedules.items()}
    for name, each in schedules.items():
        mine = [entry for entry in found[each.id] if entry.scheduled_for <= horizon]
        slots = every(SECOND, each.anchor_at)(each.created_at, horizon)
        result = account(slots, mine)
        assert result.is_sound, (name, result)
        first = begins[name]
        due = [slot for slot in slots if first <= slot <= looked_after]
        may_be = [slot for slot in slots if first <= slot <= looked_before[name]]
        assert len(due) >= DEPLOY // SECOND
        _assert_policy(name, mine, due, may_be)
        # The target is told which ones are catch-ups, with their original instants.
        received = [r for r in target.of(each.id) if r.scheduled_for <= horizon]
        told = {(r.scheduled_for, r.catch_up) for r in received}
        assert {(e.scheduled_for, e.catch_up) for e in mine if e.status == "succeeded"} == told
    assert twice(target) == []


def _assert_policy(
    name: str, mine: list[Entry], due: list[datetime], may_be: list[datetime]
) -> None:
    """`due` were all due when the new scheduler looked; of `may_be` those after them may have been.

    Together with the missed ones, the marked are a run of slots that begins with the outage.
    """
    marked = [entry.scheduled_for for entry in mine if entry.catch_up]
    missed = [entry for entry in mine if entry.status == "missed"]
    if name == "late":
        assert missed == []
        assert marked == may_be[: len(marked)]
        assert len(marked) >= len(due), "all that came due in the outage"
        return
    # One range, and what is fired of the outage are the newest, right after it.
    (gap,) = missed
    assert gap.reason == ("misfire_cap" if name == "capped" else "misfire_policy")
    assert gap.scheduled_for == due[0]
    last = gap.last_slot_at or gap.scheduled_for
    count = {"capped": 2, "recent": 1, "skip": 0}[name]
    assert marked == [last + number * SECOND for number in range(1, count + 1)]
    if name != "skip":
        assert due[-1] <= marked[-1] <= may_be[-1]


async def _first_unfired(office: Office, schedule: Schedule) -> datetime:
    timer = await office.timer(schedule)
    assert timer is not None
    return timer["scheduled_for"]


async def _acted_at(db: Database, schedule: Schedule) -> datetime:
    """When the outage's slots were decided about, or a moment later."""
    async with db.transaction(read_only=True) as tx:
        return await tx.fetch_value(
            """SELECT min(CASE WHEN catch_up THEN started_at ELSE finished_at END) FROM firings
                WHERE schedule_id = $1 AND (catch_up OR status = 'missed')""",
            schedule.id,
        )


async def test_a_scheduler_that_dies_mid_catch_up_is_followed_by_the_same_catch_up(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """All catch-ups and the re-arming are one step; the successor takes the same one."""
    first = (await database_now(db)).replace(microsecond=0) - 5 * HOUR - 10 * SECOND
    schedule = await calls(
        office, target, "hourly", interval="1h", start_at=first.isoformat(), misfire_cap=3
    )
    await office.set_timer(schedule, first)
    slots = [first + number * HOUR for number in range(6)]
    async with cluster(tmp_path, dsn) as nodes:
        async with hold_slot(db, schedule, slots[4]) as held:
            (scheduler,) = await nodes.start("scheduler")
            await held.crash(scheduler, await held.runs_into())
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
