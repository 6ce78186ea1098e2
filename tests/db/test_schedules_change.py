"""Editing, pausing, resuming and deleting: recorded, never for the past (AP7, TR15, I3, I11)."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.db.schedules import Office, heard
from tests.deadlines import patience

from rota import ids
from rota.schedules import list as listing
from rota.schedules.errors import InvalidSchedule, NoSuchSchedule

if TYPE_CHECKING:
    from rota.db import Database

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)


async def test_an_edit_raises_the_version_and_arms_from_now(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    saved = await office.update(made, interval="2h", priority=7)
    timer = await office.timer(made)
    assert timer is not None
    assert saved.outcome == "updated"
    assert saved.schedule.version == timer["version"] == 2
    assert saved.schedule.definition.priority == 7
    assert saved.schedule.anchor_at > made.anchor_at
    assert timer["scheduled_for"] == saved.schedule.anchor_at + 2 * HOUR
    assert saved.schedule.key == made.key
    assert (await office.standing(made)).schedule == saved.schedule


async def test_an_edit_of_something_else_does_not_move_an_intervals_slots(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    saved = await office.update(made, description="new")
    timer = await office.timer(made)
    assert timer is not None
    assert saved.schedule.anchor_at == made.anchor_at
    assert timer["scheduled_for"] == made.anchor_at + HOUR


async def test_an_edit_that_changes_nothing_does_not_raise_the_version(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(priority=3)
    saved = await office.update(made, priority=3, interval="1h")
    assert (saved.outcome, saved.schedule) == ("unchanged", made)


async def test_an_edit_never_fires_for_the_past_and_says_so(db: Database) -> None:
    """A famous bug of a peer: edited after an outage, it fires all that was missed."""
    office = await Office.open(db)
    made = await office.create(interval="1m")
    first = made.anchor_at - timedelta(minutes=10)
    async with db.transaction() as tx:
        await tx.execute("UPDATE schedules SET anchor_at = $1", first)
    await office.set_timer(made, first + timedelta(minutes=1))
    await office.update(made, interval="1h")
    timer = await office.timer(made)
    assert timer is not None
    assert timer["scheduled_for"] > await office.now()
    (skipped,) = await office.firings(made)
    assert (skipped["status"], skipped["reason"]) == ("skipped", "edited")
    assert (skipped["slot_count"], skipped["version"]) == (10, 1)
    assert skipped["id"] == ids.firing_id(made.id, skipped["scheduled_for"])
    assert skipped["last_slot_at"] - skipped["scheduled_for"] == timedelta(minutes=9)
    assert await office.queue(made) == []


@pytest.mark.parametrize(("state", "attempt"), [("waiting", 0), ("blocked", 0), ("retrying", 2)])
@pytest.mark.parametrize("reason", ["edited", "paused", "deleted"])
async def test_a_change_records_what_no_worker_has_as_skipped(
    db: Database, state: str, attempt: int, reason: str
) -> None:
    office = await Office.open(db)
    made = await office.create()
    firing = await office.enqueue(made, state=state, attempt=attempt)
    await _change(office, made, reason)
    assert await office.queue(made) == []
    (row,) = await office.firings(made)
    assert (row["id"], row["status"], row["reason"]) == (firing, "skipped", reason)
    assert (row["attempt"], row["triggered_by"], row["version"]) == (attempt, "schedule", 1)


@pytest.mark.parametrize("reason", ["edited", "paused", "deleted"])
async def test_what_a_worker_holds_and_has_not_begun_is_asked_back(
    db: Database, reason: str
) -> None:
    office = await Office.open(db)
    made = await office.create()
    await office.enqueue(made, state="running", slot=await office.now() + timedelta(seconds=30))
    async with heard(db, "rota_recall") as payloads:
        await _change(office, made, reason)
    assert payloads == [str(made.id)]
    (row,) = await office.queue(made)
    assert (row["state"], row["cancel_reason"]) == ("running", reason)
    assert await office.firings(made) == []


@pytest.mark.parametrize("reason", ["edited", "paused"])
async def test_what_has_begun_is_left_to_end(db: Database, reason: str) -> None:
    office = await Office.open(db)
    made = await office.create()
    await office.enqueue(made, state="running")
    async with heard(db, "rota_recall") as payloads:
        await _change(office, made, reason)
    assert payloads == []
    (row,) = await office.queue(made)
    assert row["cancel_reason"] is None


@pytest.mark.parametrize("state", ["waiting", "running", "blocked"])
async def test_a_slot_that_was_prepared_ahead_fires_as_edited_and_is_not_lost(
    db: Database, state: str
) -> None:
    office = await Office.open(db)
    made = await office.create()
    slot = made.anchor_at + HOUR
    firing = await office.enqueue(made, slot=slot, state=state, attempt=int(state == "running"))
    await office.set_timer(made, slot + HOUR)
    async with heard(db, "rota_recall") as payloads:
        saved = await office.update(made, payload={"new": True}, priority=9)
    # A worker that holds it is told, and claims it anew.
    assert payloads == ([str(made.id)] if state == "running" else [])
    (row,) = await office.queue(made)
    assert (row["id"], row["state"], row["cancel_reason"]) == (firing, state, None)
    assert (row["version"], row["priority"]) == (saved.schedule.version, 9)
    timer = await office.timer(made)
    assert timer is not None
    assert (timer["scheduled_for"], timer["version"]) == (slot + HOUR, saved.schedule.version)
    assert await office.firings(made) == []


async def test_a_timer_is_never_set_to_a_slot_that_has_its_outcome(db: Database) -> None:
    """Paused and resumed within the lead: an outage from then on is recorded from the next one."""
    office = await Office.open(db)
    made = await office.create()
    slot = made.anchor_at + HOUR
    await office.enqueue(made, slot=slot)
    await office.set_timer(made, slot + HOUR)
    await office.pause(made)
    await office.resume(made)
    (row,) = await office.firings(made)
    assert (row["scheduled_for"], row["status"], row["reason"]) == (slot, "skipped", "paused")
    timer = await office.timer(made)
    assert timer is not None
    assert timer["scheduled_for"] == slot + HOUR


async def test_a_slot_that_was_prepared_ahead_and_is_no_more_is_recorded(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    firing = await office.enqueue(made, slot=made.anchor_at + HOUR)
    await office.update(made, interval="7h")
    (row,) = await office.firings(made)
    assert (row["id"], row["status"], row["reason"]) == (firing, "skipped", "edited")


async def test_a_paused_schedule_has_a_timer_that_is_never_due(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    paused = await office.pause(made)
    timer = await office.timer(made)
    assert timer is not None
    assert (paused.status, paused.version) == ("paused", 1)
    assert timer["parked"]
    assert timer["touched"] == 1
    assert (await office.standing(made)).next_fire_at is None
    assert await office.pause(made) == paused


async def test_resuming_arms_from_now_and_records_what_passed_as_one_row(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(interval="1m")
    first = made.anchor_at - timedelta(minutes=30)
    async with db.transaction() as tx:
        await tx.execute("UPDATE schedules SET anchor_at = $1", first)
    await office.pause(made)
    await office.set_timer(made, first + timedelta(minutes=1))
    resumed = await office.resume(made)
    timer = await office.timer(made)
    assert timer is not None
    assert resumed.status == "active"
    assert await office.now() < timer["scheduled_for"] <= await office.now() + timedelta(minutes=1)
    assert not timer["parked"]
    (row,) = await office.firings(made)
    assert (row["status"], row["reason"], row["slot_count"]) == ("skipped", "paused", 30)
    assert (await office.resume(made)).status == "active"
    assert len(await office.firings(made)) == 1


async def test_resuming_before_any_slot_passed_records_nothing(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    await office.pause(made)
    await office.resume(made)
    assert await office.firings(made) == []
    timer = await office.timer(made)
    assert timer is not None
    assert timer["scheduled_for"] == made.anchor_at + HOUR


async def test_the_count_of_firings_outlives_a_pause_and_an_edit(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(max_firings=5)
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 3")
    await office.pause(made)
    await office.resume(made)
    await office.update(made, priority=1)
    timer = await office.timer(made)
    assert timer is not None
    assert timer["fired"] == 3


@pytest.mark.parametrize("state", ["waiting", "running"])
@pytest.mark.parametrize("how", ["pause", "edit"])
async def test_a_firing_that_is_taken_back_ahead_of_its_instant_does_not_count(
    db: Database, state: str, how: str
) -> None:
    office = await Office.open(db)
    made = await office.create(max_firings=5)
    slot = await office.now() + timedelta(minutes=1)
    await office.enqueue(made, slot=slot, state=state, attempt=int(state == "running"))
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 3")
    if how == "pause":
        await office.pause(made)
        await office.resume(made)
    else:
        await office.update(made, interval="2h")
    timer = await office.timer(made)
    assert timer is not None
    assert timer["fired"] == 2


async def test_a_higher_limit_goes_on_from_what_a_completed_schedule_has_fired(
    db: Database,
) -> None:
    office = await Office.open(db)
    made = await office.create(max_firings=5)
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 3")
    assert (await office.update(made, max_firings=3)).schedule.status == "completed"
    assert (await office.update(made, max_firings=2)).schedule.status == "completed"
    assert (await office.update(made, max_firings=4)).schedule.status == "active"
    timer = await office.timer(made)
    assert timer is not None
    assert timer["fired"] == 3


async def test_a_schedule_that_may_fire_no_more_completes(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(max_firings=5)
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET fired = 3")
    saved = await office.update(made, max_firings=3)
    assert saved.schedule.status == "completed"
    assert await office.timer(made) is None


async def test_resuming_after_the_last_slot_completes(db: Database) -> None:
    office = await Office.open(db)
    run_at = await office.now() + timedelta(milliseconds=300)
    made = await office.create(interval=None, run_at=run_at.isoformat())
    await office.pause(made)
    while await office.now() < run_at:
        pass
    assert (await office.resume(made)).status == "completed"
    assert await office.timer(made) is None
    (row,) = await office.firings(made)
    assert (row["scheduled_for"], row["slot_count"], row["reason"]) == (run_at, 1, "paused")


async def test_a_completed_schedule_takes_other_edits_and_a_new_trigger_revives_it(
    db: Database,
) -> None:
    office = await Office.open(db)
    made = await office.create()
    async with db.transaction() as tx:
        await tx.execute("UPDATE schedules SET status = 'completed'")
        await tx.execute("DELETE FROM timers")
    revived = await office.update(made, interval="3h")
    assert revived.schedule.status == "active"
    assert await office.timer(made) is not None


async def test_a_one_off_that_is_over_takes_edits_but_no_new_past(db: Database) -> None:
    office = await Office.open(db)
    run_at = await office.now() + timedelta(milliseconds=200)
    made = await office.create(interval=None, run_at=run_at.isoformat())
    while await office.now() < run_at:
        pass
    saved = await office.update(made, description="it is done")
    assert saved.schedule.status == "completed"
    with pytest.raises(InvalidSchedule, match="No upcoming schedule found"):
        await office.update(made, run_at="2020-01-01T00:00:00Z")


async def test_an_edit_can_pause_and_resume(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    paused = await office.update(made, enabled=False)
    assert (paused.outcome, paused.schedule.status, paused.schedule.version) == (
        "updated",
        "paused",
        1,
    )
    both = await office.update(made, enabled=True, priority=1)
    assert (both.schedule.status, both.schedule.version) == ("active", 2)


async def test_an_edit_of_a_paused_schedule_leaves_it_paused(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(interval="1m")
    await office.pause(made)
    saved = await office.update(made, interval="2m")
    timer = await office.timer(made)
    assert timer is not None
    assert saved.schedule.status == "paused"
    assert timer["parked"]
    assert timer["version"] == 2


async def test_a_bad_edit_changes_nothing(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    await office.enqueue(made)
    before = await office.timer(made)
    for changes in ({"interval": "never"}, {"cron_expr": "61 * * * *"}, {"key": "other"}):
        with pytest.raises(InvalidSchedule):
            await office.update(made, **changes)
    assert (await office.standing(made)).schedule == made
    assert await office.timer(made) == before
    assert len(await office.queue(made)) == 1


async def test_deleting_leaves_nothing_but_history(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(interval="1m")
    await office.set_timer(made, made.anchor_at)
    await office.delete(made)
    assert await office.timer(made) is None
    (row,) = await office.firings(made)
    assert row["reason"] == "deleted"
    with pytest.raises(NoSuchSchedule):
        await office.delete(made)
    assert (await office.create(interval="1m")).id != made.id


@pytest.mark.parametrize("verb", ["pause", "resume", "delete", "trigger", "update"])
async def test_another_tenants_schedule_is_like_none_at_all(db: Database, verb: str) -> None:
    """I14"""
    office = await Office.open(db)
    made = await office.create()
    async with db.transaction() as tx:
        stranger = uuid4()
        await tx.execute("INSERT INTO tenants (id, name) VALUES ($1, 'stranger')", stranger)
        await tx.execute("UPDATE schedules SET tenant_id = $1", stranger)
    with pytest.raises(NoSuchSchedule):
        await getattr(office, verb)(made)
    async with db.transaction() as tx:
        assert await listing.find(tx, office.tenant.id, made.id) is None


async def test_an_upsert_makes_it_once_and_then_changes_it_in_place(db: Database) -> None:
    office = await Office.open(db)
    made = await office.upsert("nightly")
    again = await office.upsert("nightly")
    changed = await office.upsert("nightly", priority=9)
    assert [each.outcome for each in (made, again, changed)] == ["created", "unchanged", "updated"]
    assert [each.schedule.version for each in (made, again, changed)] == [1, 1, 2]
    assert made.schedule.id == again.schedule.id == changed.schedule.id
    assert changed.schedule.key == "nightly"


async def test_an_upsert_with_fewer_fields_takes_the_others_away(db: Database) -> None:
    office = await Office.open(db)
    await office.upsert("nightly", priority=9, tags=["a"])
    saved = await office.upsert("nightly")
    assert (saved.schedule.definition.priority, saved.schedule.definition.tags) == (5, ())


async def test_the_same_name_pattern_and_zone_give_the_same_key(db: Database) -> None:
    """TR15"""
    office = await Office.open(db)
    made = await office.create(interval=None, cron_expr="0 9 * * *", timezone="Europe/Madrid")
    assert made.key == "resize::cron:0 9 * * *:Europe/Madrid"
    fields = {"interval": None, "cron_expr": "0 9 * * *", "timezone": "Europe/Madrid"}
    saved = await office.upsert(made.key, **fields)
    assert (saved.outcome, saved.schedule.id) == ("unchanged", made.id)


async def test_an_upsert_leaves_what_somebody_paused_paused(db: Database) -> None:
    office = await Office.open(db)
    made = await office.upsert("nightly")
    await office.pause(made.schedule)
    assert (await office.upsert("nightly")).schedule.status == "paused"
    assert (await office.upsert("nightly", priority=1)).schedule.status == "paused"
    assert (await office.upsert("nightly", priority=1, enabled=True)).schedule.status == "active"


async def test_an_upsert_of_a_one_off_that_is_over_is_no_error_and_no_firing(db: Database) -> None:
    """I16: code that declares it is started again and again."""
    office = await Office.open(db)
    run_at = await office.now() + timedelta(milliseconds=200)
    fields: dict[str, Any] = {"interval": None, "run_at": run_at.isoformat()}
    made = await office.upsert("once", **fields)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM timers")
        await tx.execute("UPDATE schedules SET status = 'completed'")
    while await office.now() < run_at:
        pass
    again = await office.upsert("once", **fields)
    assert (again.outcome, again.schedule.status) == ("unchanged", "completed")
    assert await office.timer(made.schedule) is None


async def test_an_upsert_whose_key_is_at_odds_with_its_address_is_refused(db: Database) -> None:
    office = await Office.open(db)
    with pytest.raises(InvalidSchedule, match="as in the address"):
        await office.upsert("nightly", key="other")


async def test_upserts_of_one_key_at_once_make_one_schedule(db: Database) -> None:
    office = await Office.open(db)
    saved = await asyncio.gather(*(office.upsert("nightly", priority=n % 3) for n in range(9)))
    assert len({each.schedule.id for each in saved}) == 1
    assert sum(each.outcome == "created" for each in saved) == 1
    changed = [each.schedule.version for each in saved if each.outcome == "updated"]
    assert len(set(changed)) == len(changed)
    timer = await office.timer(saved[0].schedule)
    assert timer is not None
    standing = await office.standing(saved[0].schedule)
    assert timer["version"] == standing.schedule.version == max([1, *changed])


async def test_changes_of_one_schedule_at_once_take_turns(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    await asyncio.gather(
        *(office.update(made, priority=n) for n in (1, 2, 3, 4)),
        *(office.pause(made) for _ in range(3)),
        *(office.resume(made) for _ in range(3)),
        *(office.trigger(made) for _ in range(3)),
    )
    standing = await office.standing(made)
    timer = await office.timer(made)
    assert timer is not None
    assert standing.schedule.version == timer["version"] == 5
    assert timer["parked"] == (standing.schedule.status == "paused")


async def test_a_pass_that_read_the_timer_before_a_change_cannot_advance_it(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    seen = await office.timer(made)
    assert seen is not None
    await office.pause(made)
    await office.resume(made)
    async with db.transaction() as tx:
        moved = await tx.execute(
            """UPDATE timers SET scheduled_for = scheduled_for + interval '1 hour'
                WHERE schedule_id = $1 AND scheduled_for = $2 AND version = $3 AND touched = $4""",
            made.id,
            seen["scheduled_for"],
            seen["version"],
            seen["touched"],
        )
    assert moved == 0


async def test_a_claim_in_flight_is_waited_for_and_then_asked_back(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    firing = await office.enqueue(made, slot=await office.now() + timedelta(minutes=1))
    async with heard(db, "rota_recall") as payloads:
        async with db.transaction() as tx:
            await tx.execute("UPDATE queue SET state = 'running' WHERE id = $1", firing)
            pausing = asyncio.create_task(office.pause(made))
            await _until_somebody_waits(office)
        await pausing
    assert payloads == [str(made.id)]
    (row,) = await office.queue(made)
    assert (row["id"], row["cancel_reason"]) == (firing, "paused")
    assert await office.firings(made) == []


async def test_what_a_pass_in_flight_enqueues_is_recorded_too(db: Database) -> None:
    """The pass has the timer; a pause that did not wait for it would let its firing through."""
    office = await Office.open(db)
    made = await office.create()
    slot = await office.now()
    firing = ids.firing_id(made.id, slot)
    async with db.transaction() as tx:
        await tx.execute("UPDATE timers SET scheduled_for = scheduled_for + interval '1 hour'")
        pausing = asyncio.create_task(office.pause(made))
        await _until_somebody_waits(office)
        await tx.execute(
            """INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at,
                                  state, triggered_by, lane)
               VALUES ($1, $2, $3, 1, $4, $4, 'waiting', 'schedule', 'default')""",
            firing,
            made.id,
            made.tenant_id,
            slot,
        )
    await pausing
    assert await office.queue(made) == []
    (row,) = await office.firings(made)
    assert (row["id"], row["reason"]) == (firing, "paused")


async def _until_somebody_waits(office: Office) -> None:
    async with asyncio.timeout(patience(30)):
        while True:
            async with office.db.transaction() as tx:
                if await tx.fetch_value("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)"):
                    return


async def _change(office: Office, schedule: Any, reason: str) -> None:
    match reason:
        case "edited":
            await office.update(schedule, priority=1)
        case "paused":
            await office.pause(schedule)
        case _:
            await office.delete(schedule)
