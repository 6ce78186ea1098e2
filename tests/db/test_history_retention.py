"""Partitions by day, and what has none."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, cast
from uuid import uuid4

import pytest
from tests.db.schedules import Office

from rota.history import retention, sql
from rota.schedules import audit
from rota.tenants import answers

if TYPE_CHECKING:
    from typing import LiteralString

    from rota.db import Database, Tx

TODAY = date(2026, 3, 9)
DAY = timedelta(days=1)

_FIRING = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, triggered_by,
                         finished_at)
    VALUES (gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, $1, 'dead', 'schedule', $2)
    RETURNING tableoid::regclass::text
"""
_ATTEMPT = """
    INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                          started_at, finished_at, outcome)
    VALUES ($1, $1, $1, $2, 1, $1, $2, $2, 'failed')
    RETURNING tableoid::regclass::text
"""


def noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


async def add(tx: Tx, day: date, finished: date | None = None) -> str:
    """Record a firing of that day; the partition it went to."""
    return await tx.fetch_value(_FIRING, noon(day), noon(finished or day))


async def partitions(db: Database) -> set[str]:
    async with db.transaction() as tx:
        rows = await tx.fetch(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid "
            "WHERE c.relkind = 'r' AND c.relname ~ '_[0-9]{8}$'"
        )
        return {row["relname"] for row in rows}


async def test_partitions_are_made_ahead_once(db: Database) -> None:
    async with db.transaction() as tx:
        assert await retention.ensure(tx, TODAY) == 9
        assert await retention.ensure(tx, TODAY) == 0
        assert await retention.ensure(tx, TODAY + DAY) == 1
    days = [f"{TODAY + n * DAY:%Y%m%d}" for n in range(-1, 9)]
    assert await partitions(db) == {f"{t}_{d}" for t in ("firings", "attempts") for d in days}


async def test_a_row_goes_to_the_partition_of_its_slots_day_in_utc(db: Database) -> None:
    async with db.transaction() as tx:
        await retention.ensure(tx, TODAY)
        assert await add(tx, TODAY) == "firings_20260309"
        last = datetime(2026, 3, 9, 23, 59, 59, 999_999, tzinfo=UTC)
        assert await tx.fetch_value(_ATTEMPT, uuid4(), last) == "attempts_20260309"
        next_day = last + timedelta(microseconds=1)
        assert await tx.fetch_value(_ATTEMPT, uuid4(), next_day) == "attempts_20260310"
        assert await add(tx, TODAY - 400 * DAY) == "firings_default"


async def test_rows_that_came_before_their_partition_move_into_it(db: Database) -> None:
    async with db.transaction() as tx:
        assert await add(tx, TODAY) == "firings_default"
        assert await tx.fetch_value(_ATTEMPT, uuid4(), noon(TODAY)) == "attempts_default"
        await retention.ensure(tx, TODAY)
        assert await tx.fetch_value("SELECT count(*) FROM firings_default") == 0
        assert await tx.fetch_value("SELECT count(*) FROM firings_20260309") == 1
        assert await tx.fetch_value("SELECT count(*) FROM attempts_20260309") == 1


async def test_partitions_have_their_parents_keys_and_indexes(db: Database) -> None:
    async with db.transaction() as tx:
        await retention.ensure(tx, TODAY)
        rows = await tx.fetch(
            "SELECT c.relname, count(*) AS indexes, bool_or(i.indisprimary) AS has_key "
            "FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
            "WHERE c.relname IN ('firings_20260309', 'attempts_20260309') GROUP BY 1 ORDER BY 1"
        )
    assert [tuple(row) for row in rows] == [
        ("attempts_20260309", 1, True),
        ("firings_20260309", 5, True),
    ]


async def test_old_partitions_are_dropped_whole(db: Database) -> None:
    async with db.transaction() as tx:
        await retention.ensure(tx, TODAY)
        await add(tx, TODAY)
    async with db.transaction() as tx:
        assert await retention.drop(tx, TODAY + 30 * DAY) == 1
        assert await retention.drop(tx, TODAY + 31 * DAY) == 1
        assert await retention.drop(tx, TODAY + 31 * DAY) == 0
        assert await tx.fetch_value("SELECT count(*) FROM firings") == 0
    assert "firings_20260309" not in await partitions(db)
    assert "firings_20260310" in await partitions(db)


async def test_what_has_no_partition_is_old_by_when_it_was_recorded(db: Database) -> None:
    """A backfill of last year is not old today."""
    async with db.transaction() as tx:
        await add(tx, TODAY - 400 * DAY, finished=TODAY)
        await add(tx, TODAY - 400 * DAY, finished=TODAY - 40 * DAY)
        assert await retention.forget(tx, TODAY) == 1
        assert await retention.forget(tx, TODAY) == 0
        assert await tx.fetch_value("SELECT count(*) FROM firings") == 1


async def test_the_audit_trail_is_kept_as_long(db: Database) -> None:
    async with db.transaction() as tx:
        for at in (TODAY - 40 * DAY, TODAY - 20 * DAY):
            await tx.execute(
                "INSERT INTO audit (tenant_id, at, action, actor)"
                " VALUES (gen_random_uuid(), $1::date, 'created', 'rota')",
                at,
            )
    await retention.sweep(db, TODAY)
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM audit") == 1


_FILL: dict[str, LiteralString] = {
    "firings_default": """
        INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,
                             triggered_by, finished_at)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, '2020-01-01', 'dead',
               'schedule', now() - n * interval '1 s'
          FROM generate_series(1, $1) AS n
    """,
    "attempts_default": """
        INSERT INTO attempts (firing_id, tenant_id, schedule_id, scheduled_for, attempt, worker,
                              started_at, finished_at, outcome)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '2020-01-01', 1,
               gen_random_uuid(), now(), now() - n * interval '1 s', 'failed'
          FROM generate_series(1, $1) AS n
    """,
    "audit": """
        INSERT INTO audit (tenant_id, at, action, actor)
        SELECT gen_random_uuid(), now() - ($1 - n) * interval '1 s', 'created', 'rota'
          FROM generate_series(1, $1) AS n
    """,
    "answers": """
        INSERT INTO answers (tenant_id, key, fingerprint, created_at)
        SELECT (SELECT min(id::text)::uuid FROM tenants), n::text, '', now() - n * interval '1 s'
          FROM generate_series(1, $1) AS n
    """,
}
_FORGET: dict[str, LiteralString] = {
    "firings_default": sql.FORGET_FIRINGS,
    "attempts_default": sql.FORGET_ATTEMPTS,
    "audit": audit._FORGET,
    "answers": answers._FORGET,
}
_ROWS = 30_000
_BATCH = 100


@pytest.mark.parametrize("table", sorted(_FILL))
async def test_a_batch_of_what_is_old_is_found_and_deleted_by_index(
    db: Database, table: str
) -> None:
    """So a batch costs the same, however much is left."""
    await Office.open(db)
    async with db.transaction() as tx:
        await tx.execute(_FILL[table], _ROWS)
    await db.fetch_alone(cast("LiteralString", f"ANALYZE {table}"))
    kept = timedelta(seconds=_ROWS - 3 * _BATCH)
    async with db.transaction() as tx:
        before = kept if table == "answers" else await tx.fetch_value("SELECT now()") - kept
        explained = "EXPLAIN " + _FORGET[table]
        plan = "\n".join(row[0] for row in await tx.fetch(explained, before, _BATCH))
        assert "Seq Scan" not in plan, plan
        assert await tx.execute(_FORGET[table], before, _BATCH) == _BATCH


async def test_several_processes_may_sweep_at_once(db: Database) -> None:
    async with db.transaction() as tx:
        await retention.ensure(tx, TODAY - 60 * DAY)
    done = await asyncio.gather(*(retention.sweep(db, TODAY) for _ in range(5)))
    assert sum(each.made for each in done) == 9
    assert sum(each.dropped for each in done) == 9
    assert len(await partitions(db)) == 18
