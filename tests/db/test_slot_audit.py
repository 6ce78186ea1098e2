"""Expected slots against outcomes, on real tables; and the slow pass that looks and arms."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.firing_kit import fleet
from tests.db.leases_kit import write
from tests.db.schedules import Office

from rota import ids
from rota.clock import SystemClock
from rota.events import Bus, Recorder
from rota.history import slot_audit
from rota.history.retention import KEEP
from rota.runtime.slot_auditor import ScheduleRearmed, SlotAuditor, SlotsUnexplained
from rota.time_slicer import run_at_once
from rota.watch import alerts

if TYPE_CHECKING:
    from rota.db import Database
    from rota.history.slot_audit import Audited
    from rota.schedules.schedule import Schedule

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def old(office: Office, *, age: timedelta = HOUR, **fields: object) -> Schedule:
    """Every five minutes, made an hour ago, and its timer at its next slot."""
    made = await office.create(**{"interval": "5m", **fields})
    now = await office.now()
    created = now - age
    async with office.db.transaction() as tx:
        await tx.execute(
            """UPDATE schedules SET created_at = $2, updated_at = $2, anchor_at = $2
                WHERE id = $1""",
            made.id,
            created,
        )
        await tx.execute("UPDATE audit SET at = $2 WHERE schedule_id = $1", made.id, created)
    await office.set_timer(made, created + (age // (5 * MINUTE) + 1) * 5 * MINUTE)
    return made


async def record(
    office: Office,
    schedule: Schedule,
    slot: datetime,
    *,
    last: datetime | None = None,
    count: int = 1,
    status: str = "succeeded",
) -> None:
    async with office.db.transaction() as tx:
        await tx.execute(
            """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                    last_slot_at, slot_count, triggered_by, finished_at)
               VALUES ($1, $2, $3, 1, $4, $5, $6, $7, 'schedule', $4)""",
            ids.firing_id(schedule.id, slot),
            schedule.id,
            schedule.tenant_id,
            slot,
            status,
            last,
            count,
        )


async def created_at(office: Office, schedule: Schedule) -> datetime:
    async with office.db.transaction() as tx:
        return await tx.fetch_value("SELECT created_at FROM schedules WHERE id = $1", schedule.id)


async def audited(office: Office, schedule: Schedule, *, keep: timedelta = KEEP) -> Audited:
    async with office.db.transaction() as tx:
        since = await office.now() - timedelta(days=2)
        [found] = await slot_audit.audited(tx, [schedule.id], since=since, keep=keep)
    return run_at_once(found)


async def test_slots_without_a_record_are_named(office: Office) -> None:
    schedule = await old(office)
    made = await created_at(office, schedule)
    for n in range(1, 12):
        if n not in (4, 5):
            await record(office, schedule, made + n * 5 * MINUTE)
    found = await audited(office, schedule)
    # The twelfth is an hour old to the second: it is younger than the slack.
    assert (found.expected, found.unexplained) == (11, 2)
    [run] = found.runs
    assert (run.first, run.last) == (made + 20 * MINUTE, made + 25 * MINUTE)
    assert not found.has_no_timer


async def test_ranges_and_what_is_live_explain_slots(office: Office) -> None:
    schedule = await old(office)
    made = await created_at(office, schedule)
    first, last = made + 5 * MINUTE, made + 40 * MINUTE
    await record(office, schedule, first, last=last, count=8, status="missed")
    for n in (9, 10):
        await record(office, schedule, made + n * 5 * MINUTE, status="skipped")
    await office.enqueue(schedule, state="running", slot=made + 55 * MINUTE)
    found = await audited(office, schedule)
    assert (found.expected, found.unexplained) == (11, 0)


async def test_a_schedule_that_is_completed_late_had_no_slot_after_its_last(db: Database) -> None:
    """On a busy machine the statement that fires the last of so many firings may itself be late."""
    async with fleet(db) as engine:
        slot = await engine.now()
        schedule = await engine.add(slot=slot, interval="1s", max_firings=1)
        await write(db, "UPDATE schedules SET created_at = $1, updated_at = $1", slot - SECOND)
        await engine.drain()
        assert await engine.status(schedule) == "completed"
        late = slot + 3.5 * SECOND
        await write(db, "UPDATE audit SET at = $1 WHERE action = 'completed'", late)
        await write(db, "UPDATE schedules SET updated_at = $1", late)
        async with db.transaction() as tx:
            [found] = await slot_audit.audited(
                tx, [schedule], since=slot - HOUR, slack=-HOUR, until=slot + MINUTE
            )
    account = run_at_once(found)
    assert (account.expected, account.unexplained) == (1, 0)


async def test_what_a_timer_stands_at_is_not_decided_yet(office: Office) -> None:
    """Overdue, which is another alert's to tell."""
    schedule = await old(office)
    made = await created_at(office, schedule)
    await record(office, schedule, made + 5 * MINUTE)
    await office.set_timer(schedule, made + 10 * MINUTE)
    found = await audited(office, schedule)
    assert (found.expected, found.unexplained) == (1, 0)


async def test_a_time_in_which_it_was_paused_expects_nothing(office: Office) -> None:
    """From the trail of changes, not from what the schedule is now."""
    schedule = await old(office)
    made = await created_at(office, schedule)
    for n in range(1, 12):
        if n not in (4, 5, 8):
            await record(office, schedule, made + n * 5 * MINUTE)
    await office.pause(schedule)
    await office.resume(schedule)
    async with office.db.transaction() as tx:
        await tx.execute(
            "UPDATE audit SET at = $2 WHERE schedule_id = $1 AND action = 'paused'",
            schedule.id,
            made + 18 * MINUTE,
        )
        await tx.execute(
            "UPDATE audit SET at = $2 WHERE schedule_id = $1 AND action = 'resumed'",
            schedule.id,
            made + 28 * MINUTE,
        )
    found = await audited(office, schedule)
    assert found.unexplained == 1
    assert [run.first for run in found.runs] == [made + 40 * MINUTE]


async def test_a_schedule_that_is_paused_now_is_asked_for_what_it_fired_before(
    office: Office,
) -> None:
    schedule = await old(office)
    made = await created_at(office, schedule)
    for n in range(2, 12):
        await record(office, schedule, made + n * 5 * MINUTE)
    await office.pause(schedule)
    found = await audited(office, schedule)
    assert [run.first for run in found.runs] == [made + 5 * MINUTE]


async def test_an_edit_divides_the_slots_of_the_two_definitions(office: Office) -> None:
    schedule = await old(office)
    made = await created_at(office, schedule)
    for n in range(1, 12):
        await record(office, schedule, made + n * 5 * MINUTE)
    await office.update(schedule, interval="1h")
    found = await audited(office, schedule)
    assert (found.expected, found.unexplained) == (11, 0)


async def test_it_goes_no_further_back_than_history(office: Office) -> None:
    schedule = await old(office, age=timedelta(hours=40))
    found = await audited(office, schedule, keep=timedelta(days=1) + HOUR)
    assert 10 <= found.expected <= 12


async def test_what_has_no_slots_has_nothing_to_explain(office: Office) -> None:
    schedule = await office.create(interval=None, on_demand=True)
    found = await audited(office, schedule)
    assert (found.expected, found.has_no_timer) == (0, False)


async def test_the_whole_database_is_asked_in_one_call(office: Office, db: Database) -> None:
    """As every test of clusters and failures does at its end."""
    lost = await old(office, name="lost")
    await office.create(name="new")
    gone = await office.create(name="gone")
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM timers WHERE schedule_id = $1", gone.id)
    wrong = await slot_audit.unexplained(db, since=await office.now() - timedelta(days=1))
    assert {each.schedule_id: (each.unexplained, each.has_no_timer) for each in wrong} == {
        lost.id: (11, False),
        gone.id: (0, True),
    }


class Passes:
    """The slow pass of one node, and what it says."""

    def __init__(self, db: Database) -> None:
        self.bus = Bus()
        self.heard = Recorder(self.bus)
        self.auditor = SlotAuditor(db, bus=self.bus, clock=SystemClock(), keep=KEEP)


async def test_the_slow_pass_reports_each_unexplained_slot_once(
    office: Office, db: Database
) -> None:
    schedule = await old(office)
    made = await created_at(office, schedule)
    for n in range(2, 12):
        await record(office, schedule, made + n * 5 * MINUTE)
    passes = Passes(db)
    # The first round looks back for an hour, and the slot is five minutes younger than that.
    assert await passes.auditor.run_once() == 1
    [said] = passes.heard.all(SlotsUnexplained)
    assert (said.schedule_id, said.count) == (schedule.id, 1)
    async with db.transaction() as tx:
        [alert] = await alerts.are_open(tx, "unexplained")
    assert alert.schedule_id == schedule.id
    assert (made + 5 * MINUTE).isoformat(timespec="seconds")[:16] in alert.detail
    assert await passes.auditor.run_once() == 1
    assert len(passes.heard.all(SlotsUnexplained)) == 1


async def test_the_slow_pass_arms_what_is_active_and_has_no_timer(
    office: Office, db: Database
) -> None:
    schedule = await office.create()
    paused = await office.create(name="paused", enabled=False)
    asked = await office.create(name="asked", interval=None, on_demand=True)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM timers")
    passes = Passes(db)
    await passes.auditor.run_once()
    [said] = passes.heard.all(ScheduleRearmed)
    assert said.schedule_id == schedule.id
    timer = await office.timer(schedule)
    assert timer is not None
    assert timer["scheduled_for"] == said.slot
    assert said.slot is not None
    assert said.slot > await office.now()
    assert await office.timer(paused) is None
    assert await office.timer(asked) is None
    async with db.transaction() as tx:
        assert [each.schedule_id for each in await alerts.are_open(tx, "unarmed")] == [schedule.id]
    await passes.auditor.run_once()
    assert len(passes.heard.all(ScheduleRearmed)) == 1


async def test_what_is_armed_again_keeps_its_count_of_firings(office: Office, db: Database) -> None:
    schedule = await old(office, max_firings=3)
    made = await created_at(office, schedule)
    for n in (1, 2):
        await record(office, schedule, made + n * 5 * MINUTE)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM timers")
    await Passes(db).auditor.run_once()
    timer = await office.timer(schedule)
    assert timer is not None
    assert timer["fired"] == 2


async def test_one_node_at_a_time_makes_the_slow_pass(office: Office, db: Database) -> None:
    await office.create()
    first, second = Passes(db), Passes(db)
    async with db.transaction() as tx:
        await tx.fetch("SELECT pg_advisory_xact_lock(hashtextextended('rota slots', 0))")
        assert await first.auditor.run_once() == 0
    assert await second.auditor.run_once() == 1
