"""The database's function `make_schedules`, and the foreign keys of what it writes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID, uuid4

import pytest
from tests.db.schedules import SHARDS, Office

from rota import ids
from rota.db import driver
from rota.schedules import create
from rota.schedules.bulk_parser import BulkParser
from rota.schedules.schedule import NewSchedule
from rota.tenants import sql as tenants_sql

if TYPE_CHECKING:
    from rota.db import Database, Tx

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

_ORPHANS: LiteralString = """
    SELECT count(*) FROM timers t
     WHERE NOT EXISTS (SELECT FROM schedules s WHERE s.id = t.schedule_id)
"""


def new(*keys: str, **more: Any) -> list[NewSchedule]:
    parser = BulkParser(now=NOW, min_interval=timedelta(seconds=1))
    fields = {"cron_expr": "0 9 * * *", "job_type": "x", **more}
    read = [parser.parse_row({"name": key, "key": key, **fields}) for key in keys]
    return [each for each in read if isinstance(each, NewSchedule)]


async def make(tx: Tx, tenant_id: UUID, *made: NewSchedule, few: bool = True) -> set[UUID]:
    for each, id_ in zip(made, ids.several(len(made), at=NOW), strict=True):
        each.id = id_
    return await create.insert(tx, tenant_id, made, shards=SHARDS, at=NOW, few=few)


async def another(db: Database) -> Office:
    async with db.transaction() as tx:
        await tenants_sql.make_tenant(tx, uuid4(), "other", timedelta(seconds=1))
        tenant = await tenants_sql.tenant_named(tx, "other")
    assert tenant is not None
    return Office(db, tenant)


async def test_a_tenants_transaction_makes_no_schedules_of_another(db: Database) -> None:
    """The function runs as the owner, so row security does not check it."""
    office, other = await Office.open(db), await another(db)
    with pytest.raises(driver.ERRORS, match="got another's"):
        async with db.transaction(tenant=other.tenant.id) as tx:
            await make(tx, office.tenant.id, *new("a"))
    async with db.transaction(tenant=other.tenant.id) as tx:
        assert await make(tx, other.tenant.id, *new("a")) == set()


async def test_schedules_of_no_tenant_are_refused(db: Database) -> None:
    await Office.open(db)
    with pytest.raises(driver.ERRORS, match="schedules_tenant_id_fkey"):
        async with db.transaction() as tx:
            await make(tx, uuid4(), *new("a"))
    with pytest.raises(driver.ERRORS, match="schedules_tenant_id_fkey"):
        async with db.transaction() as tx:
            await tx.execute(
                """INSERT INTO schedules (id, tenant_id, key, name, status, shard, anchor_at,
                                          definition)
                   VALUES ($1, $1, 'k', 'n', 'active', 0, now(), '{}')""",
                uuid4(),
            )


async def test_a_timer_of_no_schedule_is_refused_also_next_to_schedules_just_made(
    db: Database,
) -> None:
    office = await Office.open(db)

    async def work(tx: Tx) -> None:
        await make(tx, office.tenant.id, *new("a"))
        await tx.execute(
            """INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
               VALUES ($1, 0, now(), now(), 1)""",
            uuid4(),
        )

    with pytest.raises(driver.ERRORS, match="timers_schedule_id_fkey"):
        await db.run(work)


async def test_a_tenant_with_schedules_cannot_be_deleted(db: Database) -> None:
    office = await another(db)
    made = await office.create(name="a")
    with pytest.raises(driver.ERRORS, match="schedules_tenant_id_fkey"):
        async with db.transaction() as tx:
            await tx.execute("DELETE FROM tenants WHERE id = $1", office.tenant.id)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM schedules WHERE id = $1", made.id)
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 0


async def test_a_schedule_that_is_deleted_in_the_meantime_gets_no_timer(db: Database) -> None:
    """Arming waits for the deletion and finds the schedule gone."""
    office = await Office.open(db)
    made = await office.create(name="a")

    async def arm() -> None:
        async with db.transaction() as tx:
            await tx.execute(
                """INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
                   VALUES ($1, 0, now(), now(), 1)
                       ON CONFLICT (schedule_id) DO UPDATE SET version = 2""",
                made.id,
            )

    async with db.transaction() as tx:
        await tx.execute("DELETE FROM schedules WHERE id = $1", made.id)
        arming = asyncio.create_task(arm())
        await asyncio.wait([arming], timeout=0.2)
        assert not arming.done()
    with pytest.raises(driver.ERRORS, match="timers_schedule_id_fkey"):
        await arming
    async with db.transaction() as tx:
        assert await tx.fetch_value(_ORPHANS) == 0


@pytest.mark.parametrize("few", [True, False])
async def test_those_whose_key_is_taken_are_left_out_with_all_that_is_theirs(
    db: Database, few: bool
) -> None:
    office = await Office.open(db)
    await office.create(name="b", key="b")
    async with db.transaction(tenant=office.tenant.id) as tx:
        left = await make(tx, office.tenant.id, *new("a", "b", "c"), few=few)
        assert len(left) == 1
    async with db.transaction() as tx:
        keys = await tx.fetch("SELECT key FROM schedules ORDER BY key")
        assert [row[0] for row in keys] == ["a", "b", "c"]
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 3
        assert await tx.fetch_value(_ORPHANS) == 0
        words = await tx.fetch_value("SELECT count(*) FROM schedule_words")
        assert words == (3 if few else 1)
        recorded = await tx.fetch(
            """SELECT s.key, a.action, a.actor, a.status, a.version
                 FROM audit a JOIN schedules s ON s.id = a.schedule_id ORDER BY s.key"""
        )
    expected = [(key, "created", "rota", "active", 1) for key in ("abc" if few else "b")]
    assert [tuple(row) for row in recorded] == expected


async def test_one_that_is_paused_has_a_timer_that_is_due_never(db: Database) -> None:
    office = await Office.open(db)
    async with db.transaction() as tx:
        await make(tx, office.tenant.id, *new("a", enabled=False), *new("b", "c"))
        due = await tx.fetch(
            """SELECT s.key, s.status, t.due_at = 'infinity' AS never
                 FROM schedules s JOIN timers t ON t.schedule_id = s.id ORDER BY s.key"""
        )
    assert [tuple(row) for row in due] == [
        ("a", "paused", True),
        ("b", "active", False),
        ("c", "active", False),
    ]


async def test_what_is_stored_of_many_is_what_is_stored_of_each(db: Database) -> None:
    """Each definition, put together from parts, is the same as the whole of it."""
    office = await Office.open(db)
    extra: list[dict[str, Any]] = [
        {},
        {"payload": {"a": [1, None, 'ü"\\']}, "tags": ["x", 'a"b\\c']},
        {"description": "two\nlines", "tags": []},
        {"enabled": False, "timezone": "Europe/Berlin"},
        {"jitter_seconds": 30},
        {"target_url": "https://hooks.example.com/a?b=c", "job_type": None},
    ]
    fields = [{"cron_expr": "0 9 * * *", "job_type": "x", **each} for each in extra]
    many = [{"name": f"m{n}", "key": f"m-{n}", **fields[n % 6]} for n in range(300)]
    saved = await create.create_many(db, office.tenant, many, shards=SHARDS)
    for n, each in enumerate(fields):
        alone = await office.create(
            **{"name": f"m{n}", "key": f"alone-{n}", "interval": None, **each}
        )
        for twin in (saved[n].schedule, saved[n + 6].schedule):
            assert but_names(twin.definition) == but_names(alone.definition), each
            assert twin.status == alone.status
    async with db.transaction() as tx:
        wrong = await tx.fetch_value(
            """SELECT count(*) FROM schedules s
                WHERE s.key IS DISTINCT FROM s.definition ->> 'key'
                   OR s.name IS DISTINCT FROM s.definition ->> 'name'
                   OR s.job_type IS DISTINCT FROM s.definition ->> 'job_type'
                   OR s.definition ? 'enabled'
                   OR to_jsonb(s.tags) <> coalesce(s.definition -> 'tags', '[]')"""
        )
        late = await tx.fetch_value(
            """SELECT count(*) FROM timers t JOIN schedules s ON s.id = t.schedule_id
                WHERE t.due_at <> 'infinity' AND t.due_at <> t.scheduled_for"""
        )
    assert (wrong, late) == (0, 51)


def but_names(definition: Any) -> dict[str, Any]:
    """A definition but for what names it."""
    names = definition.__struct_fields__
    return {name: getattr(definition, name) for name in names if name not in {"name", "key"}}
