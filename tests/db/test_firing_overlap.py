"""Overlap, decided inside the firing transaction."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tests.db.firing_kit import FAR, HOUR, Fleet, fleet
from tests.db.leases_kit import write
from tests.deadlines import patience

from rota import ids
from rota.db import Listener
from rota.db.locks import QUEUE, TIMERS
from rota.events import Bus
from rota.firing import Settings
from rota.firing.plan import Due
from rota.queue.overlap import MOST_LIVE
from rota.queue.states import DETACHED
from rota.workers.async_timeout import AsyncTimeouts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Database, Notice
    from rota.schedules.definition import OverlapPolicy

SECOND = timedelta(seconds=1)


@pytest.fixture
async def engine(db: Database) -> AsyncGenerator[Fleet]:
    async with fleet(db) as made:
        yield made


@pytest.mark.parametrize("state", ["waiting", "running", "retrying", "blocked"])
async def test_skip_records_the_slot_and_moves_on(engine: Fleet, state: str) -> None:
    """Whatever lives in the queue counts, manual runs included."""
    slot = await engine.now()
    schedule = await engine.add(slot=slot)
    await engine.live(schedule, state)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.skipped) == (0, 1)
    [row] = await engine.firings(schedule)
    assert row["id"] == ids.firing_id(schedule, slot)
    assert (row["status"], row["reason"], row["slot_count"]) == ("skipped", "overlap", 1)
    assert (row["last_slot_at"], row["triggered_by"]) == (None, "schedule")
    assert len(await engine.queue(schedule)) == 1
    timer = await engine.timer(schedule)
    assert timer is not None
    assert (timer["scheduled_for"], timer["fired"]) == (slot + HOUR, 0)


async def test_queue_blocks_the_new_one_behind_the_old(engine: Fleet) -> None:
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="queue")
    live = await engine.live(schedule)
    await engine.scheduler.run_once()
    states = {row["id"]: row["state"] for row in await engine.queue(schedule)}
    assert states == {live: "running", ids.firing_id(schedule, slot): "blocked"}


async def test_a_full_line_skips_the_slot_and_says_why(engine: Fleet) -> None:
    """What waits behind a run that takes too long has a limit."""
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="queue")
    for _ in range(MOST_LIVE):
        await engine.live(schedule, "blocked")
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.skipped) == (0, 1)
    [row] = await engine.firings(schedule)
    assert (row["status"], row["reason"]) == ("skipped", "overlap_queue_full")


async def test_allow_lets_both_run(engine: Fleet) -> None:
    engine.scheduler._settings = Settings(lead=FAR, sweep_interval=timedelta())
    slot = await engine.now() + FAR / 2
    schedule = await engine.add(slot=slot, overlap_policy="allow")
    await engine.live(schedule)
    await engine.scheduler.run_once()
    assert sorted(row["state"] for row in await engine.queue(schedule)) == ["running", "waiting"]


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous"])
async def test_ahead_of_time_a_busy_schedule_is_left_for_its_due_instant(
    engine: Fleet, policy: OverlapPolicy
) -> None:
    """Only then is the decision true: the one before may have ended by that time."""
    engine.scheduler._settings = Settings(lead=FAR, sweep_interval=timedelta())
    slot = await engine.now() + FAR / 2
    schedule = await engine.add(slot=slot, overlap_policy=policy)
    await engine.live(schedule)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.skipped, done.more) == (0, 0, False)
    # And looked at again before it: the slot enters ahead of its instant if the way is free then.
    assert done.wake_at is not None
    assert await engine.now() + FAR / 5 < done.wake_at < slot - FAR / 5
    assert await engine.slot(schedule) == slot
    await write(engine.db, "DELETE FROM queue")
    await engine.scheduler.run_once()
    assert [row["state"] for row in await engine.queue(schedule)] == ["waiting"]


async def test_looks_at_a_busy_schedule_end_at_its_due_instant(engine: Fleet) -> None:
    """Each waits for half of the time that is left, but for a few milliseconds at least."""
    engine.scheduler._settings = Settings(lead=FAR, sweep_interval=timedelta())
    now, soon = await engine.now(), timedelta(milliseconds=1)
    for left in (soon, 10 * soon, 10 * SECOND, FAR):
        due = Due(uuid4(), 0, now, now + left, 1, 0, 0, 1)
        at = engine.scheduler._look_again_at(due, now)
        assert at == (now + left / 2 if left > SECOND else now + left)


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [(timedelta(), ["http"]), (SECOND / 4, ["http"]), (FAR / 2, [])],
)
async def test_what_enters_right_before_its_instant_wakes_the_workers_of_its_lane_once(
    dsn: str, engine: Fleet, ahead: timedelta, expected: list[str]
) -> None:
    engine.scheduler._settings = Settings(lead=FAR, sweep_interval=timedelta())
    said: list[str | None] = []
    engine.db.on_notice(QUEUE, said.append)
    async with Listener(dsn, [QUEUE, TIMERS]) as listener:
        news = listener.subscribe(QUEUE, TIMERS)
        await news.wait(timedelta(seconds=patience(10)))
        slot = await engine.now() + ahead
        for _ in range(5):
            await engine.add(slot=slot)
        assert (await engine.scheduler.run_once()).counts.fired == 5
        assert said == expected
        await write(engine.db, "SELECT pg_notify('rota_timers', 'end')")
        heard: list[Notice] = []
        while not any(each.payload == "end" for each in heard):
            heard += (await news.wait(timedelta(seconds=patience(10)))).notices
        assert [each.payload for each in heard if each.channel == QUEUE] == expected


@pytest.mark.parametrize("state", ["waiting", "retrying", "blocked"])
async def test_cancel_previous_ends_what_nobody_has_claimed(engine: Fleet, state: str) -> None:
    """The latest wins, and the loser is recorded."""
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="cancel_previous")
    live = await engine.live(schedule, state)
    done = await engine.scheduler.run_once()
    assert (done.counts.fired, done.counts.cancelled) == (1, 1)
    [row] = await engine.queue(schedule)
    assert (row["id"], row["state"]) == (ids.firing_id(schedule, slot), "waiting")
    [ended] = await engine.firings(schedule)
    assert (ended["id"], ended["status"], ended["reason"]) == (live, "cancelled", "overlap")
    assert ended["triggered_by"] == "manual"


async def test_cancel_previous_stops_also_what_a_pause_could_not_take_back(engine: Fleet) -> None:
    """Its worker began before it heard; a mere recall would let it go on."""
    schedule = await engine.add(slot=await engine.now(), overlap_policy="cancel_previous")
    live = await engine.live(schedule, "running")
    await write(engine.db, "UPDATE queue SET cancel_reason = 'paused'")
    await engine.scheduler.run_once()
    reasons = {row["id"]: row["cancel_reason"] for row in await engine.queue(schedule)}
    assert reasons[live] == "overlap"


async def test_cancel_previous_asks_a_worker_to_stop_and_waits_for_it(
    dsn: str, engine: Fleet
) -> None:
    async with Listener(dsn, ["rota_cancel"]) as listener:
        news = listener.subscribe("rota_cancel")
        await news.wait(timedelta(seconds=patience(10)))
        slot = await engine.now()
        schedule = await engine.add(slot=slot, overlap_policy="cancel_previous")
        live = await engine.live(schedule, "running")
        await engine.scheduler.run_once()
        wake = await news.wait(timedelta(seconds=patience(10)))
    assert {notice.payload for notice in wake.notices} == {str(live)}
    rows = {row["id"]: row for row in await engine.queue(schedule)}
    assert (rows[live]["state"], rows[live]["cancel_reason"]) == ("running", "overlap")
    assert rows[ids.firing_id(schedule, slot)]["state"] == "blocked"
    assert await engine.firings(schedule) == []


async def test_cancel_previous_ends_what_is_left_to_its_target_with_the_next_look(
    db: Database, engine: Fleet
) -> None:
    """Nobody holds it who could be asked: its time is cut, and whoever looks next ends it."""
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="cancel_previous")
    live = await engine.live(schedule, "running")
    until = await engine.now() + timedelta(hours=1)
    await write(db, "UPDATE queue SET worker = $1, claimed_until = $2", DETACHED, until)
    await engine.scheduler.run_once()
    assert await AsyncTimeouts(db, Bus()).run_once() == 1
    [row] = await engine.queue(schedule)
    assert (row["id"], row["state"]) == (ids.firing_id(schedule, slot), "waiting")
    [ended] = await engine.firings(schedule)
    assert (ended["id"], ended["status"], ended["reason"]) == (live, "cancelled", "overlap")


async def test_cancel_previous_waits_for_a_claim_under_way_and_treats_it_as_claimed(
    db: Database, engine: Fleet
) -> None:
    """Neither deleted under the worker's hands nor left running beside the new one."""
    slot = await engine.now()
    schedule = await engine.add(slot=slot, overlap_policy="cancel_previous")
    live = await engine.live(schedule, "waiting")
    claimed, commit = asyncio.Event(), asyncio.Event()

    async def claim() -> None:
        async with db.transaction() as tx:
            await tx.execute("UPDATE queue SET state = 'running', attempt = 1 WHERE id = $1", live)
            claimed.set()
            await commit.wait()

    claiming = asyncio.create_task(claim())
    await claimed.wait()
    passing = asyncio.create_task(engine.scheduler.run_once())
    done, _ = await asyncio.wait([passing], timeout=0.3)
    assert not done
    commit.set()
    await claiming
    assert (await passing).counts.cancelled == 1
    rows = {row["id"]: row for row in await engine.queue(schedule)}
    assert rows[live]["cancel_reason"] == "overlap"
    assert rows[ids.firing_id(schedule, slot)]["state"] == "blocked"


async def test_slots_that_a_busy_schedule_lets_pass_are_one_record(engine: Fleet) -> None:
    slot = (await engine.now()).replace(microsecond=0) - 5 * SECOND
    schedule = await engine.add(slot=slot, interval=1)
    await engine.live(schedule)
    done = await engine.scheduler.run_once()
    assert done.counts.skipped >= 5
    [row] = await engine.firings(schedule)
    assert (row["scheduled_for"], row["status"]) == (slot, "skipped")
    assert row["last_slot_at"] == slot + (row["slot_count"] - 1) * SECOND
