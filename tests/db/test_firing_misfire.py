"""After an outage: the catch-ups and the record of the rest, in the same transaction."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import DAY, HOUR, MINUTE, Fleet, fleet
from tests.db.leases_kit import write

from rota import ids
from rota.firing import CaughtUp, FallingBehind, Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database

SECOND = timedelta(seconds=1)


@pytest.fixture
async def engine(db: Database) -> AsyncGenerator[Fleet]:
    async with fleet(db) as made:
        yield made


@pytest.mark.parametrize(
    ("policy", "fired"), [("fire_late", 10), ("fire_most_recent", 1), ("skip", 0)]
)
async def test_three_hours_of_a_minutely_schedule(engine: Fleet, policy: str, fired: int) -> None:
    """Exactly the newest, in order, marked; exactly the rest is missed."""
    slot = await engine.now() - 3 * HOUR - 90 * SECOND
    grace = timedelta(milliseconds=1)
    schedule = await engine.add(slot=slot, interval=60, misfire_policy=policy, misfire_grace=grace)
    done = (await engine.drain())[0]
    following = await engine.slot(schedule)
    newest = following - MINUTE
    due = int((newest - slot) / MINUTE) + 1
    assert await engine.now() - newest > grace
    assert done.counts.caught_up == done.counts.fired == fired
    rows = await engine.queue(schedule)
    assert [row["scheduled_for"] for row in rows] == [
        newest - ago * MINUTE for ago in reversed(range(fired))
    ]
    assert all(row["catch_up"] for row in rows)
    assert [row["id"] for row in rows] == [
        ids.firing_id(schedule, row["scheduled_for"]) for row in rows
    ]
    [missed] = await engine.firings(schedule)
    assert (missed["status"], missed["slot_count"]) == ("missed", due - fired)
    assert (missed["scheduled_for"], missed["last_slot_at"]) == (slot, newest - fired * MINUTE)


async def test_catch_ups_run_one_after_another(engine: Fleet) -> None:
    slot = await engine.now() - 3 * HOUR
    for policy in ("skip", "queue", "cancel_previous", "allow"):
        schedule = await engine.add(slot=slot, overlap_policy=policy)
        await engine.scheduler.run_once()
        rows = await engine.queue(schedule)
        assert [row["state"] for row in rows] == ["waiting", "blocked", "blocked", "blocked"]


async def test_catch_ups_stand_behind_what_is_live_and_are_not_skipped(engine: Fleet) -> None:
    slot = await engine.now() - 2 * HOUR
    schedule = await engine.add(slot=slot)
    live = await engine.live(schedule)
    await engine.scheduler.run_once()
    rows = [row for row in await engine.queue(schedule) if row["id"] != live]
    assert [row["state"] for row in rows] == ["blocked"] * 3
    assert await engine.firings(schedule) == []


async def test_the_first_that_really_enters_heads_the_chain(engine: Fleet) -> None:
    """One that ended before the outage is not fired again, and must not leave the rest blocked."""
    slot = await engine.now() - 2 * HOUR
    schedule = await engine.add(slot=slot)
    await write(
        engine.db,
        """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                triggered_by, finished_at)
           SELECT $1, id, tenant_id, 1, $2, 'succeeded', 'schedule', now() FROM schedules
        """,
        ids.firing_id(schedule, slot),
        slot,
    )
    await engine.scheduler.run_once()
    rows = await engine.queue(schedule)
    assert [row["state"] for row in rows] == ["waiting", "blocked"]


async def test_a_one_off_of_the_day_before_yesterday_is_missed_and_over(engine: Fleet) -> None:
    """Requirements, section 22: not left where every pass finds it again."""
    slot = await engine.now() - 2 * DAY
    schedule = await engine.add(slot=slot, run_at=slot)
    await engine.scheduler.run_once()
    assert await engine.queue(schedule) == []
    [row] = await engine.firings(schedule)
    assert (row["status"], row["reason"], row["last_slot_at"]) == (
        "missed",
        "misfire_window",
        None,
    )
    assert await engine.status(schedule) == "completed"


async def test_a_year_late_and_it_runs_again(engine: Fleet) -> None:
    """Requirements, section 22: "too many missed, never runs again"."""
    slot = await engine.now() - 365 * DAY
    schedule = await engine.add(slot=slot, misfire_policy="skip")
    await engine.scheduler.run_once()
    assert await engine.slot(schedule) > await engine.now()
    assert await engine.status(schedule) == "active"
    [row] = await engine.firings(schedule)
    assert row["slot_count"] in {365 * 24, 365 * 24 + 1}


async def test_max_firings_holds_in_an_outage(engine: Fleet) -> None:
    slot = await engine.now() - 5 * HOUR
    schedule = await engine.add(slot=slot, max_firings=4, fired=2)
    await engine.scheduler.run_once()
    assert len(await engine.queue(schedule)) == 2
    [row] = await engine.firings(schedule)
    assert (row["slot_count"], row["reason"]) == (4, "max_firings")
    assert await engine.status(schedule) == "completed"


@pytest.mark.parametrize("when", [{"interval": 1}, {"cron_expr": "* * * * * *"}])
async def test_a_day_of_every_second_costs_no_more_than_the_cap(
    engine: Fleet, when: dict[str, Any]
) -> None:
    """Work is bounded by the cap, not by the outage."""
    slot = (await engine.now()).replace(microsecond=0) - DAY
    schedules = [await engine.add(slot=slot, **when) for _ in range(50)]
    started = time.process_time()
    done = await engine.scheduler.run_once()
    took = time.process_time() - started
    assert done.counts.fired == 50 * 10
    for schedule in schedules:
        rows = await engine.queue(schedule)
        [missed] = await engine.firings(schedule)
        assert len(rows) == 10
        newest = rows[-1]["scheduled_for"]
        assert missed["slot_count"] == (newest - slot) / SECOND + 1 - 10
    # Walking 50 days of seconds would take half a minute.
    assert took < 10


async def test_a_backlog_lets_live_slots_go_first_and_raises_an_alert(db: Database) -> None:
    settings = Settings(batch=5, read=64, sweep_interval=timedelta())
    async with fleet(db, settings) as engine:
        now = await engine.now()
        shard_mates = [await engine.add(slot=now - HOUR) for _ in range(20)]
        await write(db, "UPDATE timers SET shard = 1")
        live = await engine.add(slot=now)
        await write(db, "UPDATE timers SET shard = 1 WHERE schedule_id = $1", live)
        first = await engine.scheduler.run_once()
        assert len(await engine.queue(live)) == 1
        assert first.more
        assert first.lag > MINUTE
        alert = await engine.member.heard.wait_for(FallingBehind)
        assert alert.lag == first.lag
        async with db.transaction() as tx:
            begun = await tx.fetch_value("SELECT count(*) FROM timers WHERE fired > 0")
            first_of_all = await tx.fetch_value(
                "SELECT schedule_id FROM queue ORDER BY xmin::text::bigint LIMIT 1"
            )
        assert begun == 10 + 1, "what was read of the backlog, and the live one"
        assert first_of_all == live
        await engine.drain()
        assert [len(await engine.queue(each)) for each in shard_mates] == [2] * 20
        await engine.member.heard.wait_for(CaughtUp)
        assert len(engine.member.heard.all(FallingBehind)) == 1
