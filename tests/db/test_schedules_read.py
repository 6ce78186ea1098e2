"""Reading schedules back: filters, pages, and where each stands (AP2)."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import Office

from rota.schedules import list as listing
from rota.schedules import next_slot
from rota.schedules.list import Filter, Standing

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database
    from rota.schedules.schedule import Schedule

HOUR = timedelta(hours=1)


async def page(
    office: Office, wanted: Filter | None = None, *, after: UUID | None = None, limit: int = 100
) -> list[Standing]:
    async with office.db.transaction(read_only=True) as tx:
        page = await listing.page(
            tx, office.tenant.id, wanted or Filter(), after=after, limit=limit
        )
        return page.found


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, {"a", "b", "c"}),
        ({"enabled": True}, {"a", "b"}),
        ({"enabled": False}, {"c"}),
        ({"status": "paused"}, {"c"}),
        ({"status": "completed"}, set[str]()),
        ({"job_type": "images.resize"}, {"a", "c"}),
        ({"tag": "ops"}, {"a", "b"}),
        ({"tag": "op"}, set[str]()),
        ({"key": "key-b"}, {"b"}),
        ({"name": "a"}, {"a"}),
        ({"q": "KEY-"}, {"a", "b", "c"}),
        ({"q": "acme.example"}, {"b"}),
        ({"q": "100%"}, {"c"}),
        ({"q": "_"}, set[str]()),
        ({"tag": "ops", "enabled": True, "job_type": "images.resize"}, {"a"}),
    ],
)
async def test_filters_narrow_the_list(
    db: Database, wanted: dict[str, Any], names: set[str]
) -> None:
    office = await Office.open(db)
    await office.create(name="a", key="key-a", tags=["ops"])
    url = "https://acme.example/"
    await office.create(name="b", key="key-b", tags=["x", "ops"], job_type=None, target_url=url)
    await office.create(name="c", key="key-c", enabled=False, description="100% paused")
    found = await page(office, Filter(**wanted))
    assert {each.schedule.name for each in found} == names


async def test_pages_follow_each_other_without_gap_or_repeat(db: Database) -> None:
    office = await Office.open(db)
    for n in range(7):
        await office.create(name=f"n{n}")
    every = [each.schedule.id for each in await page(office)]
    assert every == sorted(every, reverse=True)
    seen: list[UUID] = []
    while rows := await page(office, after=seen[-1] if seen else None, limit=3):
        seen += [each.schedule.id for each in rows]
    assert seen == every


async def test_the_next_firing_is_the_timers_slot_or_one_prepared_ahead(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    slot = made.anchor_at + HOUR
    assert (await office.standing(made)).next_fire_at == slot
    await office.enqueue(made, slot=slot)
    await office.set_timer(made, slot + HOUR)
    assert (await office.standing(made)).next_fire_at == slot


async def test_after_an_edit_the_next_firing_is_a_slot_of_the_new_trigger(db: Database) -> None:
    """A worker that has claimed a slot of the old trigger has yet to give it back."""
    office = await Office.open(db)
    made = await office.create()
    await office.enqueue(made, state="running", slot=made.anchor_at + HOUR, attempt=1)
    await office.set_timer(made, made.anchor_at + 2 * HOUR)
    edited = (await office.update(made, interval="7h")).schedule
    (held,) = await office.queue(made)
    assert held["cancel_reason"] == "edited"
    assert (await office.standing(made)).next_fire_at == edited.anchor_at + 7 * HOUR


async def test_a_slot_that_passes_within_the_transaction_is_not_the_next_one(
    db: Database,
) -> None:
    """An edit waits for locks, and reads what it has made of the schedule at its end."""
    office = await Office.open(db)
    made = await office.create()
    async with db.transaction() as tx:
        slot = await tx.fetch_value("SELECT now()") + timedelta(milliseconds=300)
        await office.enqueue(made, state="running", slot=slot, attempt=1)
        await tx.fetch("SELECT pg_sleep_until($1)", slot)
        found = await listing.find(tx, office.tenant.id, made.id)
    assert found is not None
    assert found.next_fire_at == made.anchor_at + HOUR


async def test_a_paused_schedule_has_no_next_firing_even_if_a_worker_holds_one(
    db: Database,
) -> None:
    office = await Office.open(db)
    made = await office.create()
    await office.enqueue(made, state="running", slot=made.anchor_at + HOUR, attempt=1)
    await office.pause(made)
    assert (await office.standing(made)).next_fire_at is None


async def test_without_jitter_a_slot_is_due_at_its_instant(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    standing = await office.standing(made)
    assert standing.next_due_at == standing.next_fire_at == made.anchor_at + HOUR


async def test_with_a_fire_window_the_due_instant_is_shown_next_to_the_slot(db: Database) -> None:
    """Armed, prepared ahead, and while the slot has passed and its due instant has not."""
    office = await Office.open(db)
    made = await office.create(fire_window_seconds=3000)
    slot = made.anchor_at + HOUR
    due = next_slot.due_at(made.id, made.definition, slot)
    assert due > slot
    standing = await office.standing(made)
    assert (standing.next_fire_at, standing.next_due_at) == (slot, due)
    await _prepare(office, made, slot, due)
    standing = await office.standing(made)
    assert (standing.next_fire_at, standing.next_due_at) == (slot, due)
    passed = await office.now() - timedelta(seconds=5)
    await _prepare(office, made, passed, passed + timedelta(minutes=2))
    standing = await office.standing(made)
    assert (standing.next_fire_at, standing.next_due_at) == (
        passed,
        passed + timedelta(minutes=2),
    )
    assert standing.last_fire_at is None


async def _prepare(office: Office, made: Schedule, slot: datetime, due: datetime) -> None:
    """As if a pass had put the slot into the queue, and a worker had claimed it ahead of time."""
    async with office.db.transaction() as tx:
        await tx.execute("DELETE FROM queue WHERE schedule_id = $1", made.id)
    await office.enqueue(made, state="running", slot=slot, attempt=1)
    async with office.db.transaction() as tx:
        await tx.execute("UPDATE queue SET available_at = $2 WHERE schedule_id = $1", made.id, due)
    await office.set_timer(made, made.anchor_at + 2 * HOUR)


async def test_a_schedule_that_never_fired_has_no_last_firing(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    standing = await office.standing(made)
    assert (standing.last_fire_at, standing.last_status) == (None, None)


async def test_the_last_firing_is_the_newest_that_fired_live_or_ended(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    now = await office.now()
    async with db.transaction() as tx:
        for hours, status in ((1, "missed"), (2, "dead"), (3, "succeeded")):
            await tx.execute(
                """INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                                        triggered_by, finished_at)
                   VALUES (gen_random_uuid(), $1, $2, 1, $3, $4, 'schedule', now())""",
                made.id,
                made.tenant_id,
                now - hours * HOUR,
                status,
            )
    standing = await office.standing(made)
    assert (standing.last_fire_at, standing.last_status) == (now - 2 * HOUR, "dead")
    await office.enqueue(made, state="running", slot=now - timedelta(minutes=1), attempt=1)
    standing = await office.standing(made)
    assert standing.last_status == "running"
    assert standing.last_fire_at == now - timedelta(minutes=1)
