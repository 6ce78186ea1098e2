"""Reading schedules back: filters, pages, and where each stands (AP2)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.schedules import Office

from rota.schedules import service
from rota.schedules.reading import Filter, Standing

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database

HOUR = timedelta(hours=1)


async def page(
    office: Office, wanted: Filter | None = None, *, after: UUID | None = None, limit: int = 100
) -> list[Standing]:
    async with office.db.transaction(read_only=True) as tx:
        page = await service.page(
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
