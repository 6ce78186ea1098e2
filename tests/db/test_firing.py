"""Firing: due timers become rows in the queue, each once, in one fenced transaction."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import FAR, HOUR, MINUTE, Fleet, fleet
from tests.db.leases_kit import member, write
from tests.deadlines import Strain

from rota import ids
from rota.firing import FenceRefused, PassDone, PlanFailed, Scheduler, Settings
from rota.firing import scheduler as scheduler_module
from rota.leases import LeaseLost

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from rota.db import Database
    from rota.firing.fire import Fired
    from rota.firing.plan import Plan
    from rota.leases import Lease

SECOND = timedelta(seconds=1)


@pytest.fixture
async def engine(db: Database) -> AsyncGenerator[Fleet]:
    async with fleet(db) as made:
        yield made


async def test_a_due_timer_becomes_a_row_in_the_queue_and_moves_on(engine: Fleet) -> None:
    """Enqueued and re-armed in one step, one slot at a time."""
    slot = await engine.now() - SECOND
    schedule = await engine.add(slot=slot, priority=8, payload={"team": "ops"})
    done = await engine.scheduler.run_once()
    assert done.counts.fired == 1
    [row] = await engine.queue(schedule)
    assert row["id"] == ids.firing_id(schedule, slot)
    assert (row["scheduled_for"], row["available_at"]) == (slot, slot)
    assert (row["state"], row["catch_up"], row["triggered_by"]) == ("waiting", False, "schedule")
    assert (row["lane"], row["host"], row["priority"]) == ("http", "example.com", 8)
    assert (row["version"], row["attempt"], row["fence"]) == (1, 0, 1)
    assert row["payload"] is None
    timer = await engine.timer(schedule)
    assert timer is not None
    assert (timer["scheduled_for"], timer["fired"]) == (slot + HOUR, 1)
    assert await engine.firings(schedule) == []


async def test_a_timer_is_fired_ahead_for_its_instant(engine: Fleet) -> None:
    engine.scheduler._settings = Settings(lead=FAR, sweep_interval=timedelta())
    slot = await engine.now() + FAR / 2
    schedule = await engine.add(slot=slot)
    later = await engine.add(slot=slot + HOUR)
    done = await engine.scheduler.run_once()
    [row] = await engine.queue(schedule)
    assert row["available_at"] == slot
    assert await engine.queue(later) == []
    # When a part of its lead has gone: what comes into sight until then is fired with it.
    assert done.wake_at is not None
    assert slot + HOUR - FAR <= done.wake_at <= slot + HOUR - FAR * 0.9


async def test_a_task_waits_in_the_lane_of_its_queue(engine: Fleet) -> None:
    schedule = await engine.add(
        slot=await engine.now(), target_url=None, job_type="resize", queue="images"
    )
    await engine.scheduler.run_once()
    [row] = await engine.queue(schedule)
    assert (row["lane"], row["host"]) == ("images", None)


async def test_the_spread_moves_the_due_instant_and_not_the_slot(engine: Fleet) -> None:
    slot = await engine.now() - 2 * MINUTE
    schedule = await engine.add(slot=slot, jitter_seconds=40, fire_window_seconds=20)
    before = await engine.timer(schedule)
    assert before is not None
    offset = before["due_at"] - slot
    assert timedelta() < offset < MINUTE
    await engine.scheduler.run_once()
    [row] = await engine.queue(schedule)
    assert (row["scheduled_for"], row["available_at"]) == (slot, slot + offset)
    after = await engine.timer(schedule)
    assert after is not None
    assert (after["scheduled_for"], after["due_at"]) == (slot + HOUR, slot + HOUR + offset)


async def test_two_schedulers_that_both_believe_they_lead_fire_once(db: Database) -> None:
    """The second's fence is stale; and even with the same fence a timer moves once."""
    async with fleet(db) as one, member(db) as spare:
        twin = Scheduler(db, one.member.elector, bus=spare.bus)
        now = await one.now()
        schedules = [await one.add(slot=now) for _ in range(30)]
        passes = await asyncio.gather(
            *(each.run_once() for each in (one.scheduler, twin, one.scheduler, twin))
        )
        assert sum(done.counts.fired for done in passes) == 30
        for schedule in schedules:
            assert len(await one.queue(schedule)) == 1
            assert await one.slot(schedule) == now + HOUR


async def test_shards_that_change_hands_in_the_middle_lose_and_repeat_nothing(
    db: Database,
) -> None:
    """Nodes come and go while they fire; every slot is fired once."""
    async with fleet(db) as one, fleet(db) as two, fleet(db) as three:
        now = await one.now()
        for _ in range(120):
            await one.add(slot=now)
        nodes = (one, two, three)
        for _ in range(4):
            await asyncio.gather(
                *(node.member.elector.run_once() for node in nodes),
                *(node.scheduler.run_once() for node in nodes),
            )
        await two.member.elector.resign()
        for _ in range(4):
            await asyncio.gather(
                *(node.scheduler.run_once() for node in nodes),
                *(node.member.elector.run_once() for node in nodes),
            )
        async with db.transaction() as tx:
            assert await tx.fetch_value("SELECT count(*) FROM queue") == 120
            assert await tx.fetch_value("SELECT count(DISTINCT schedule_id) FROM queue") == 120
            assert await tx.fetch_value("SELECT count(*) FROM timers WHERE fired = 1") == 120


async def test_a_stale_fence_writes_nothing(db: Database) -> None:
    """Refused by the database, whatever the scheduler believes."""
    async with fleet(db) as stale:
        now = await stale.now()
        lost = await stale.add(slot=now)
        timer = await stale.timer(lost)
        assert timer is not None
        kept = await stale.add(slot=now)
        while (await stale.timer(kept) or {})["shard"] == timer["shard"]:
            kept = await stale.add(slot=now)
        await write(db, "UPDATE leases SET fence = fence + 1 WHERE shard = $1", timer["shard"])
        await stale.scheduler.run_once()
        assert await stale.queue(lost) == []
        assert await stale.slot(lost) == now
        assert len(await stale.queue(kept)) == 1, "other shards go on"
        assert stale.member.heard.all(FenceRefused)[0].shards == (timer["shard"],)
        assert [event.reason for event in stale.member.heard.all(LeaseLost)] == ["fence"]
        assert timer["shard"] not in stale.member.shards


async def test_without_a_lease_nothing_is_fired(db: Database) -> None:
    async with fleet(db) as idle:
        schedule = await idle.add(slot=await idle.now())
        await idle.member.elector.resign()
        done = await idle.scheduler.run_once()
        assert done.counts.fired == 0
        assert await idle.queue(schedule) == []


CHANGES = {
    "the slot": "UPDATE timers SET scheduled_for = scheduled_for + interval '1 s'",
    "the version": "UPDATE timers SET version = version + 1",
    "a manual run": "UPDATE timers SET touched = touched + 1",
    "deleted": "DELETE FROM timers",
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_timer_that_changed_since_it_was_read_is_left_alone(
    engine: Fleet, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Compare-and-advance: slot, version and touched must be as they were."""
    schedule = await engine.add(slot=await engine.now())
    fire = scheduler_module.fire

    async def changed_before(db: Database, leases: Sequence[Lease], plans: Sequence[Plan]) -> Fired:
        await write(db, CHANGES[change])  # pyright: ignore[reportArgumentType]
        return await fire(db, leases, plans)

    monkeypatch.setattr(scheduler_module, "fire", changed_before)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.refused) == (0, 1)
    assert await engine.queue(schedule) == []
    assert await engine.firings(schedule) == []


@pytest.mark.parametrize("last", [False, True])
async def test_a_firing_that_appears_or_ends_meanwhile_makes_the_pass_look_again(
    engine: Fleet, monkeypatch: pytest.MonkeyPatch, last: bool
) -> None:
    """The overlap was decided on; it must still be so when it is written."""
    now = await engine.now()
    when: dict[str, Any] = {"run_at": now} if last else {}
    schedule = await engine.add(slot=now, **when)
    fire = scheduler_module.fire

    async def live_before(db: Database, leases: Sequence[Lease], plans: Sequence[Plan]) -> Fired:
        await engine.live(schedule)
        return await fire(db, leases, plans)

    monkeypatch.setattr(scheduler_module, "fire", live_before)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.refused) == (0, 1)
    monkeypatch.setattr(scheduler_module, "fire", fire)
    done = await engine.scheduler.run_once()
    assert done.counts.skipped == 1


async def test_a_one_off_fires_once_and_completes_its_schedule(engine: Fleet) -> None:
    slot = await engine.now()
    schedule = await engine.add(slot=slot, run_at=slot)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.completed) == (1, 1)
    assert len(await engine.queue(schedule)) == 1
    assert await engine.timer(schedule) is None
    assert await engine.status(schedule) == "completed"
    assert (await engine.scheduler.run_once()).counts.fired == 0


async def test_the_last_of_so_many_firings_completes_the_schedule(engine: Fleet) -> None:
    now = await engine.now()
    schedule = await engine.add(slot=now, max_firings=3, fired=1)
    await engine.scheduler.run_once()
    assert await engine.status(schedule) == "active"
    await write(engine.db, "DELETE FROM queue")
    await write(engine.db, "UPDATE timers SET scheduled_for = $1, due_at = $1", now)
    await engine.scheduler.run_once()
    assert await engine.status(schedule) == "completed"
    assert await engine.timer(schedule) is None
    async with engine.db.transaction(read_only=True) as tx:
        # A higher limit goes on from here.
        assert await tx.fetch_value("SELECT fired FROM schedules WHERE id = $1", schedule) == 3


async def test_slots_end_with_the_schedules_end(engine: Fleet) -> None:
    slot = await engine.now()
    ending = await engine.add(slot=slot, end_at=slot + HOUR - SECOND, start_at=slot - HOUR)
    lasting = await engine.add(slot=slot, end_at=slot + HOUR, start_at=slot - HOUR)
    await engine.scheduler.run_once()
    assert await engine.status(ending) == "completed"
    assert await engine.slot(lasting) == slot + HOUR


async def test_a_slot_that_has_ended_already_is_not_fired_again(engine: Fleet) -> None:
    """A database whose clock was set back comes to the same slot twice; its id does not."""
    slot = await engine.now()
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
    done = await engine.scheduler.run_once()
    assert done.counts.fired == 0
    assert await engine.queue(schedule) == []
    assert await engine.slot(schedule) == slot + HOUR
    assert [row["status"] for row in await engine.firings(schedule)] == ["succeeded"]


async def test_a_slot_that_is_live_already_is_not_fired_again(engine: Fleet) -> None:
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="allow")
    await engine.scheduler.run_once()
    await write(engine.db, "UPDATE timers SET scheduled_for = $1, due_at = $1", slot)
    done = await engine.scheduler.run_once()
    assert done.counts.fired == 0
    assert len(await engine.queue(schedule)) == 1
    assert await engine.slot(schedule) == slot + HOUR


async def test_an_edit_does_not_fire_retroactively(engine: Fleet) -> None:
    """Requirements, section 22: the timer is where the edit put it; nothing before it counts."""
    slot = await engine.now() + HOUR
    schedule = await engine.add(slot=slot, cron_expr="* * * * *", anchor_at=slot - 10 * HOUR)
    await write(engine.db, "UPDATE schedules SET version = 2")
    await write(engine.db, "UPDATE timers SET version = 2")
    await engine.drain()
    assert await engine.queue(schedule) == []
    assert await engine.slot(schedule) == slot
    assert await engine.firings(schedule) == []


async def test_a_definition_is_read_anew_for_a_new_version(engine: Fleet) -> None:
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="allow")
    await engine.scheduler.run_once()
    await write(
        engine.db,
        """UPDATE schedules SET version = 2, definition = definition || '{"interval": "2h"}'""",
    )
    await write(
        engine.db, "UPDATE timers SET version = 2, scheduled_for = $1, due_at = $1", slot + SECOND
    )
    await engine.scheduler.run_once()
    assert await engine.slot(schedule) == slot + 2 * HOUR


async def test_a_schedule_that_cannot_be_read_does_not_stop_the_others(engine: Fleet) -> None:
    now = await engine.now()
    broken = await engine.add(slot=now - SECOND)
    await write(engine.db, "UPDATE schedules SET definition = '{\"name\": 1}'")
    odd = await engine.add(slot=now - SECOND, cron_expr="* * * * *")
    await write(
        engine.db,
        """UPDATE schedules SET definition = definition || '{"cron_expr": "nonsense"}'
            WHERE id = $1""",
        odd,
    )
    sound = await engine.add(slot=now)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.failed) == (1, 2)
    assert len(await engine.queue(sound)) == 1
    failed = {event.schedule_id for event in engine.member.heard.all(PlanFailed)}
    assert failed == {broken, odd}
    # Not again in every pass: it is left alone for a while.
    done = await engine.scheduler.run_once()
    assert done.counts.failed == 0


async def test_a_batch_that_the_database_refuses_is_fired_but_for_the_one_at_fault(
    engine: Fleet,
) -> None:
    now = await engine.now()
    schedules = [await engine.add(slot=now) for _ in range(9)]
    bad = schedules[4]
    await write(
        engine.db,
        """CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'not this one'; END $$""",
    )
    # A literal for a test: DDL takes no parameters.
    condition = f"WHEN (NEW.schedule_id = '{bad}')"
    async with engine.db.transaction() as tx:
        await tx.execute(
            f"CREATE TRIGGER t BEFORE INSERT ON queue FOR EACH ROW {condition} "  # pyright: ignore[reportArgumentType]
            "EXECUTE FUNCTION refuse()"
        )
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.failed) == (8, 1)
    assert [event.schedule_id for event in engine.member.heard.all(PlanFailed)] == [bad]
    assert await engine.slot(bad) == now


async def test_a_pass_says_what_it_did_and_how_late_it_was(engine: Fleet) -> None:
    """MO1, MO10."""
    await engine.add(slot=await engine.now() - 5 * SECOND)
    strain = Strain()
    await engine.scheduler.run_once()
    event = await engine.member.heard.wait_for(PassDone)
    assert event.fired == 1
    assert timedelta(seconds=5) <= event.lag < timedelta(seconds=30 + strain.seconds)
    assert abs(event.clock_offset) < (1 + strain.seconds) * SECOND


async def test_ten_thousand_firings_of_an_interval_do_not_drift(db: Database) -> None:
    """The anchor and a number of periods, whenever each slot was looked at."""
    async with fleet(db) as engine:
        period = timedelta(seconds=7)
        anchor = (await engine.now()).replace(microsecond=123_000) - 100 * HOUR
        schedule = await engine.add(
            slot=anchor, interval=7, misfire_cap=10_000, misfire_window=timedelta(days=30)
        )
        await engine.drain()
        rows = await engine.queue(schedule)
        assert len(rows) == 10_000
        passed = (rows[-1]["scheduled_for"] - anchor) / period
        assert passed == int(passed)
        gaps = {
            later["scheduled_for"] - earlier["scheduled_for"] for earlier, later in pairwise(rows)
        }
        assert gaps == {period}
        assert len({row["id"] for row in rows}) == 10_000


async def test_slots_looked_at_one_by_one_do_not_drift_either(db: Database) -> None:
    """The same with one pass for each slot, as it is in a working fleet."""
    async with fleet(db) as engine:
        anchor = await engine.now()
        schedule = await engine.add(slot=anchor, interval="1h", overlap_policy="allow")
        for count in range(1, 101):
            await engine.scheduler.run_once()
            assert await engine.slot(schedule) == anchor + count * HOUR
            # Due now, although its slot is hours ahead: as if the hours had passed.
            await write(engine.db, "UPDATE timers SET due_at = clock_timestamp()")
        assert len(await engine.queue(schedule)) == 100


async def test_more_timers_than_fit_a_batch_are_all_fired_once(db: Database) -> None:
    settings = Settings(batch=7, read=64 * 10, sweep_interval=timedelta())
    async with fleet(db, settings) as engine:
        now = await engine.now()
        for _ in range(60):
            await engine.add(slot=now)
        passes = await engine.drain()
        assert sum(done.counts.fired for done in passes) == 60
        async with db.transaction() as tx:
            assert await tx.fetch_value("SELECT count(*) FROM queue") == 60
