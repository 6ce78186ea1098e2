"""Monitors: a ping in time, one too late, none at all; paused, edited, and shared by schedulers."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import Office

from rota.events import Bus, Event
from rota.history.why import why
from rota.schedules import bulk_pause
from rota.schedules.errors import IsAMonitor
from rota.watch.monitor_events import MonitorFailed, MonitorOverdue, MonitorRecovered
from rota.watch.monitor_pings import NotAMonitor, Ping, ping
from rota.watch.monitors import Monitors

if TYPE_CHECKING:
    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


async def make(office: Office, **monitor: Any) -> Schedule:
    given = {"expect": "1h", "grace": "10m", **monitor}
    return await office.create(name="backup", interval=None, job_type=None, monitor=given)


async def row(db: Database, schedule: Schedule) -> Row:
    async with db.transaction() as tx:
        found = await tx.fetch_row(
            "SELECT *, deadline_at = 'infinity' AS parked FROM monitors WHERE schedule_id = $1",
            schedule.id,
        )
    assert found is not None
    return found


async def move(db: Database, schedule: Schedule, earlier: timedelta) -> None:
    """As if it had all been made, and expected, so much earlier."""
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE schedules SET anchor_at = anchor_at - $2::interval, "
            "created_at = created_at - $2::interval, updated_at = updated_at - $2::interval "
            "WHERE id = $1",
            schedule.id,
            earlier,
        )
        await tx.execute(
            "UPDATE monitors SET expected_at = expected_at - $2::interval, "
            "deadline_at = deadline_at - $2::interval WHERE schedule_id = $1",
            schedule.id,
            earlier,
        )


async def say(office: Office, schedule: Schedule, **said: Any) -> Ping:
    async with office.db.transaction() as tx:
        return await ping(tx, office.tenant.id, schedule.id, **said)


def listening() -> tuple[Bus, list[Event]]:
    bus, found = Bus(), list[Event]()
    for kind in (MonitorOverdue, MonitorFailed, MonitorRecovered):
        bus.subscribe(kind, found.append)
    return bus, found


async def explained(office: Office, schedule: Schedule, at: datetime) -> tuple[str, str]:
    standing = await office.standing(schedule)
    async with office.db.transaction() as tx:
        answer = await why(tx, standing.schedule, at)
    return answer.outcome, answer.sentence


async def test_a_monitor_waits_and_has_no_timer(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    assert await office.timer(made) is None
    standing = await office.standing(made)
    assert (standing.schedule.status, standing.monitor_state) == ("active", "waiting")
    assert standing.expected_at == made.anchor_at + HOUR
    assert standing.next_fire_at is None
    with pytest.raises(IsAMonitor):
        await office.trigger(made)
    outcome, sentence = await explained(office, made, made.anchor_at + HOUR)
    assert (outcome, "A ping is expected at" in sentence) == ("future", True)


async def test_an_early_ping_counts_for_the_slot_and_a_second_one_does_not(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    await move(db, made, 30 * MINUTE)
    first = (await row(db, made))["expected_at"]
    done = await say(office, made, note="all well")
    assert (done.slot, done.counted, done.state) == (first, True, "up")
    assert done.expected_at == first + HOUR
    again = await say(office, made)
    assert (again.slot, again.counted) == (first, False)
    (firing,) = await office.firings(made)
    assert (firing["status"], firing["reason"], firing["triggered_by"]) == (
        "succeeded",
        "ping",
        "api",
    )
    assert firing["result_excerpt"] == "all well"
    assert (await office.standing(made)).monitor_state == "up"
    outcome, sentence = await explained(office, made, first)
    assert (outcome, "in time" in sentence) == ("succeeded", True)


@pytest.mark.parametrize("grace", ["0s", "10m", "3h"])
async def test_the_first_ping_counts_for_the_first_slot_however_soon_it_comes(
    db: Database, grace: str
) -> None:
    """The instant that the interval counts from is no slot: nobody waited for a ping then."""
    office = await Office.open(db)
    made = await make(office, grace=grace)
    first = made.anchor_at + HOUR
    done = await say(office, made)
    assert (done.slot, done.counted, done.state) == (first, True, "up")
    assert done.expected_at == first + HOUR
    outcome, sentence = await explained(office, made, first)
    assert (outcome, "in time" in sentence) == ("succeeded", True)
    assert (await explained(office, made, made.anchor_at))[0] == "not_a_slot"


async def test_the_first_ping_after_a_new_interval_counts_for_its_first_slot(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    await say(office, made)
    edited = (await office.update(made, monitor={"expect": "2h", "grace": "10m"})).schedule
    done = await say(office, made)
    assert (done.slot, done.counted) == (edited.anchor_at + 2 * HOUR, True)


async def test_a_first_ping_that_tells_of_a_failure_is_of_the_first_slot(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    done = await say(office, made, said="failed", note="disk full")
    assert (done.slot, done.counted, done.state) == (made.anchor_at + HOUR, True, "down")
    (firing,) = await office.firings(made)
    assert (firing["status"], firing["reason"]) == ("dead", "disk full")
    outcome, _ = await explained(office, made, made.anchor_at + HOUR)
    assert outcome == "dead"


async def test_no_ping_by_the_deadline_is_missed_once_and_told_once(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    bus, told = listening()
    monitors = Monitors(db, bus)
    await move(db, made, HOUR + 5 * MINUTE)
    assert (await office.standing(made)).monitor_state == "late"
    assert await monitors.run_once() == 0
    await move(db, made, 6 * MINUTE)
    slot = (await row(db, made))["expected_at"]
    assert await monitors.run_once() == 1
    assert await monitors.run_once() == 0
    (firing,) = await office.firings(made)
    assert (firing["status"], firing["reason"]) == ("missed", "no ping")
    assert (firing["scheduled_for"], firing["slot_count"]) == (slot, 1)
    standing = await office.standing(made)
    assert (standing.monitor_state, standing.expected_at) == ("down", slot + HOUR)
    assert told == [
        MonitorOverdue(schedule_id=made.id, tenant_id=office.tenant.id, key=made.key, slot_at=slot)
    ]
    outcome, sentence = await explained(office, made, slot)
    assert (outcome, "no ping came by" in sentence) == ("missed", True)
    # Down already: the next one that is missed is no news.
    await move(db, made, HOUR)
    assert await monitors.run_once() == 1
    assert len(told) == 1


async def test_after_an_outage_all_that_was_missed_is_one_row(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    await move(db, made, 5 * HOUR + 30 * MINUTE)
    assert await Monitors(db, Bus()).run_once() == 1
    (firing,) = await office.firings(made)
    assert firing["slot_count"] == 5
    assert firing["last_slot_at"] == firing["scheduled_for"] + 4 * HOUR
    assert (await row(db, made))["expected_at"] == firing["last_slot_at"] + HOUR


async def test_a_ping_brings_it_back_and_one_that_tells_of_a_failure_does_not(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    await move(db, made, 30 * MINUTE)
    failed = await say(office, made, said="failed", note="disk full")
    assert failed.state == "down"
    (firing,) = await office.firings(made)
    assert (firing["status"], firing["reason"]) == ("dead", "disk full")
    assert isinstance(failed.events[0], MonitorFailed)
    # Still in the same window: the slot has its outcome, but all is well again.
    mended = await say(office, made)
    assert (mended.counted, mended.state) == (False, "up")
    assert isinstance(mended.events[0], MonitorRecovered)
    assert len(await office.firings(made)) == 1


async def test_a_ping_after_the_deadline_that_nobody_looked_at_records_what_was_missed(
    db: Database,
) -> None:
    office = await Office.open(db)
    made = await make(office)
    await move(db, made, HOUR + 20 * MINUTE)
    slot = (await row(db, made))["expected_at"]
    done = await say(office, made)
    assert (done.slot, done.counted, done.state) == (slot + HOUR, True, "up")
    assert [type(event) for event in done.events] == [MonitorOverdue, MonitorRecovered]
    firings = await office.firings(made)
    assert sorted(each["status"] for each in firings) == ["missed", "succeeded"]
    assert await Monitors(db, Bus()).run_once() == 0


async def test_paused_it_expects_nothing_and_resumed_it_waits_from_now(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    await office.pause(made)
    await move(db, made, 9 * HOUR)
    assert (await row(db, made))["parked"]
    assert await Monitors(db, Bus()).run_once() == 0
    quiet = await say(office, made)
    assert (quiet.slot, quiet.counted) == (None, False)
    await office.resume(made)
    expected = (await row(db, made))["expected_at"]
    assert expected > await office.now()
    wish = bulk_pause.PauseRequest(tenant_id=office.tenant.id)
    async with db.transaction() as tx:
        await bulk_pause.pause_some(tx, wish)
    assert (await row(db, made))["parked"]
    async with db.transaction() as tx:
        await bulk_pause.resume_some(tx, wish)
    assert not (await row(db, made))["parked"]
    assert await office.firings(made) == []


async def test_an_edit_waits_anew_from_now_and_another_trigger_ends_it(db: Database) -> None:
    office = await Office.open(db)
    made = await make(office)
    edited = await office.update(made, monitor={"expect": "2h"})
    found = await row(db, made)
    assert found["expected_at"] == edited.schedule.anchor_at + 2 * HOUR
    assert found["deadline_at"] == found["expected_at"] + 5 * MINUTE
    await office.update(made, interval="1h", job_type="t")
    standing = await office.standing(made)
    assert standing.monitor_state is None
    assert standing.next_fire_at is not None
    with pytest.raises(NotAMonitor):
        await say(office, made)
    await office.update(made, monitor={"expect": "2h"})
    assert await office.timer(made) is None
    await office.delete(made)


async def test_several_schedulers_miss_each_monitor_once(db: Database) -> None:
    office = await Office.open(db)
    made = [
        await office.create(
            name=f"m{n}", interval=None, job_type=None, monitor={"expect": "1h", "grace": "0s"}
        )
        for n in range(20)
    ]
    for each in made:
        await move(db, each, HOUR + MINUTE)
    counts = await asyncio.gather(*(Monitors(db, Bus()).run_once() for _ in range(3)))
    assert sum(counts) == 20
    assert [len(await office.firings(each)) for each in made] == [1] * 20
