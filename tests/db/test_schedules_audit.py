"""The audit trail: every change with its actor, and what a schedule was at any instant."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import fleet
from tests.db.schedules import SHARDS, TASK, Office

from rota.schedules import audit, bulk_pause, create, pause, task_queues, update
from rota.schedules.bulk_pause import PauseRequest
from rota.schedules.create_batcher import CreateBatcher
from rota.schedules.update import pause_version
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

CLI = "cli:k1"
API = "api:k2"
HOUR = timedelta(hours=1)


async def rows(db: Database, schedule_id: UUID) -> list[Row]:
    async with db.transaction() as tx:
        return await tx.fetch("SELECT * FROM audit WHERE schedule_id = $1 ORDER BY id", schedule_id)


async def spans(db: Database, schedule_id: UUID) -> list[audit.Span]:
    """Of the last ten days."""
    async with db.transaction() as tx:
        now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
        return await audit.spans(tx, schedule_id, since=now - 240 * HOUR, until=now)


def states(found: list[audit.Span]) -> list[str]:
    return [each.state for each in found]


async def created(office: Office, *, actor: str = CLI, **more: Any) -> Schedule:
    async with office.db.transaction(tenant=office.tenant.id, actor=actor) as tx:
        fields = {**TASK, "interval": "1h", **more}
        return (await create.create(tx, office.tenant, fields, shards=SHARDS)).schedule


async def test_each_change_is_a_row_with_its_actor(db: Database) -> None:
    office = await Office.open(db)
    made = await created(office)
    async with db.transaction(tenant=office.tenant.id, actor=API) as tx:
        await update.update(tx, office.tenant, made.id, {"interval": "2h"})
    async with db.transaction(tenant=office.tenant.id, actor="dashboard:operator") as tx:
        await pause.pause(tx, office.tenant, made.id, reason="maintenance")
    async with db.transaction(tenant=office.tenant.id, actor=CLI) as tx:
        await update.resume(tx, office.tenant, made.id)
    async with db.transaction(tenant=office.tenant.id, actor="code:shop") as tx:
        await update.delete(tx, office.tenant, made.id)
    told = [
        (row["action"], row["actor"], row["status"], row["version"])
        for row in await rows(db, made.id)
    ]
    assert told == [
        ("created", CLI, "active", 1),
        ("edited", API, "active", 2),
        ("paused", "dashboard:operator", "paused", 2),
        ("resumed", CLI, "active", 2),
        ("deleted", "code:shop", None, None),
    ]


async def test_the_spans_of_a_deleted_schedule_tell_what_it_was_and_by_which_trigger(
    db: Database,
) -> None:
    office = await Office.open(db)
    made = await created(office)
    async with db.transaction(actor=API) as tx:
        await update.update(tx, office.tenant, made.id, {"interval": "2h"})
    await office.pause(made)
    await office.resume(made)
    await office.delete(made)
    found = await spans(db, made.id)
    assert states(found) == ["absent", "active", "active", "paused", "active", "deleted"]
    assert [each.version for each in found] == [None, 1, 2, 2, 2, None]
    before, after = found[1].slots(), found[2].slots()
    assert before is not None
    assert after is not None
    assert before.next_after(made.anchor_at) == made.anchor_at + HOUR
    assert found[2].anchor_at is not None
    assert after.next_after(found[2].anchor_at) == found[2].anchor_at + 2 * HOUR
    assert found[2].began is not None
    assert found[2].began.actor == API
    assert found[2].began.fields == {"interval": {"old": "1h", "new": "2h"}}
    assert all(one.until == other.since for one, other in pairwise(found))


async def test_what_a_change_cannot_have_recorded_is_unknown(db: Database) -> None:
    """By an older version, or before there was a trail: what is known begins at `updated_at`."""
    office = await Office.open(db)
    made = await created(office)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM audit")
        await tx.execute(
            "UPDATE schedules SET created_at = clock_timestamp() - interval '9 h',"
            " updated_at = clock_timestamp() - interval '5 h', version = 4"
        )
    assert states(await spans(db, made.id)) == ["absent", "unknown", "active"]
    await office.pause(made)
    assert states(await spans(db, made.id)) == ["absent", "unknown", "active", "paused"]
    async with db.transaction() as tx:
        await tx.execute("UPDATE schedules SET version = 5, updated_at = clock_timestamp()")
    found = await spans(db, made.id)
    assert states(found) == ["absent", "unknown", "active", "unknown", "paused"]
    assert found[2].definition is None  # of version 4, which nothing has kept


async def test_a_bulk_create_is_one_row_and_each_schedule_says_who_made_it(db: Database) -> None:
    office = await Office.open(db)
    items = [{**TASK, "key": f"k{n}"} for n in range(300)]
    batch = await create.parse_many(db, office.tenant, items, slicer=TimeSlicer())
    async with db.transaction(tenant=office.tenant.id, actor=CLI) as tx:
        made = await create.store_all(tx, office.tenant, batch, shards=SHARDS)
    async with db.transaction() as tx:
        found = await tx.fetch("SELECT schedule_id, actor, changes::text AS changes FROM audit")
        assert [tuple(row) for row in found] == [(None, CLI, '{"count": 300}')]
        assert (
            await tx.fetch_value("SELECT count(*) FROM schedules WHERE created_by = $1", CLI) == 300
        )
    found = await spans(db, made[7].id)
    assert states(found) == ["absent", "active"]


async def test_creates_that_share_a_transaction_keep_their_own_actors(db: Database) -> None:
    office = await Office.open(db)
    batcher = CreateBatcher(db, shards=SHARDS)
    await asyncio.gather(
        *(
            batcher.create(office.tenant, {**TASK, "key": f"k{n}"}, actor=f"api:{n}")
            for n in range(20)
        )
    )
    async with db.transaction() as tx:
        found = await tx.fetch(
            "SELECT s.key, s.created_by, a.actor"
            " FROM schedules s JOIN audit a ON a.schedule_id = s.id"
        )
    assert {tuple(row) for row in found} == {(f"k{n}", f"api:{n}", f"api:{n}") for n in range(20)}


async def test_a_create_whose_queue_is_looked_up_keeps_its_actor(db: Database) -> None:
    """What is filled in inside the transaction must not forget who asked for the schedule."""
    office = await Office.open(db)
    async with db.transaction() as tx:
        await task_queues.register(tx, office.tenant.id, "shop", {"shop.ship": "shop"})
    batcher = CreateBatcher(db, shards=SHARDS)
    fields = {"key": "k", "interval": "1h", "job_type": "shop.ship"}
    saved = await batcher.create(office.tenant, fields, actor=API)
    assert (saved.schedule.definition.queue, saved.actor) == ("shop", API)
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT created_by FROM schedules") == API
        assert await tx.fetch_value("SELECT actor FROM audit") == API


async def test_pausing_and_resuming_all_is_recorded_for_each(db: Database) -> None:
    office = await Office.open(db)
    one, two = await created(office, key="one"), await created(office, key="two")
    wish = PauseRequest(tenant_id=office.tenant.id, reason="freeze")
    async with db.transaction(tenant=office.tenant.id, actor=CLI) as tx:
        await bulk_pause.pause_some(tx, wish)
    async with db.transaction(tenant=office.tenant.id, actor=API) as tx:
        await bulk_pause.resume_some(tx, wish)
    for each in (one, two):
        told = [(row["action"], row["actor"]) for row in await rows(db, each.id)]
        assert told == [("created", CLI), ("paused", CLI), ("resumed", API)]
        found = await spans(db, each.id)
        assert states(found) == ["absent", "active", "paused", "active"]
        assert found[2].began is not None
        assert found[2].began.fields["status_reason"]["new"] == "freeze"


async def test_what_rota_does_itself_has_rota_as_its_actor(db: Database) -> None:
    office = await Office.open(db)
    made = await created(office, key="until")
    gone = await created(office, key="gone")
    async with db.transaction() as tx:
        assert await pause_version(tx, office.tenant.id, gone.id, version=1, reason="410 Gone")
    now = await office.now()
    async with db.transaction(actor=CLI) as tx:
        await pause.pause(tx, office.tenant, made.id, until=now + HOUR)
        await tx.execute(
            "UPDATE schedules SET paused_until = clock_timestamp() WHERE id = $1", made.id
        )
    async with db.transaction() as tx:
        await bulk_pause.resume_over(tx)
    told = [(row["action"], row["actor"]) for row in await rows(db, made.id)]
    assert told == [("created", CLI), ("paused", CLI), ("resumed", "rota")]
    told = [(row["action"], row["actor"]) for row in await rows(db, gone.id)]
    assert told == [("created", CLI), ("paused", "rota")]


async def test_a_schedule_that_fires_for_the_last_time_is_recorded_as_completed(
    db: Database,
) -> None:
    async with fleet(db) as engine:
        now = await engine.now()
        schedule_id = await engine.add(slot=now, run_at=now)
        await engine.drain()
        assert await engine.status(schedule_id) == "completed"
        told = [
            (row["action"], row["actor"], row["was_status"]) for row in await rows(db, schedule_id)
        ]
        assert told == [("completed", "rota", "active")]
        assert states(await spans(db, schedule_id)) == ["absent", "active", "completed"]


@pytest.mark.parametrize(
    ("field", "old", "new", "shown"),
    [
        ("payload", {"token": "S3CRET"}, {"token": "S3CRET2"}, {"redacted": True}),
        (
            "headers",
            {"Authorization": "S3CRET"},
            {"X-Api-Key": "S3CRET2"},
            {"old": ["Authorization"], "new": ["X-Api-Key"], "redacted": True},
        ),
        (
            "target_url",
            "https://a.example/x?token=S3CRET",
            "https://b.example/y",
            {"old": "https://a.example/x?…", "new": "https://b.example/y"},
        ),
    ],
)
async def test_no_value_that_may_be_secret_is_kept(
    db: Database, field: str, old: object, new: object, shown: object
) -> None:
    office = await Office.open(db)
    http = {"name": "h", "interval": "1h", "target_url": "https://a.example/x", field: old}
    async with db.transaction() as tx:
        made = (await create.create(tx, office.tenant, http, shards=SHARDS)).schedule
    await office.update(made, **{field: new})
    await office.delete(made)
    found = await rows(db, made.id)
    assert not [row for row in found if "S3CRET" in str(tuple(row))]
    history = await spans(db, made.id)
    edited = [each.began for each in history if each.began and each.began.action == "edited"]
    assert edited[0].fields == {field: shown}


async def test_a_long_value_is_cut(db: Database) -> None:
    office = await Office.open(db)
    made = await created(office)
    await office.update(made, description="x" * 1000)
    [_, edited] = await rows(db, made.id)
    assert len(edited["changes"]) < 500
