"""The second wall between tenants: what the server itself shows and takes (S10, TN1)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, LiteralString, cast
from uuid import UUID, uuid4

import asyncpg  # pyright: ignore[reportMissingTypeStubs] - it has none
import pytest
from tests.db.walls_kit import ROWS, TENANT_TABLES, add_row, inhabited

from rota.db import Database
from rota.db.block import opening
from rota.errors import ContractBroken
from rota.history import retention

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from rota.db import Tx

# A table whose name is `c.relname` and what its wall is made of.
_WALLS: LiteralString = """
    SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
           (SELECT count(*) FROM pg_policy p
             WHERE p.polrelid = c.oid AND p.polpermissive AND p.polcmd = '*'
               AND p.polroles = ARRAY['rota_tenant'::regrole::oid]
               AND pg_get_expr(p.polqual, c.oid) ~ 'current_tenant\\(\\)'
               AND pg_get_expr(p.polwithcheck, c.oid) = pg_get_expr(p.polqual, c.oid)) AS own,
           (SELECT count(*) FROM pg_policy p
             WHERE p.polrelid = c.oid AND p.polroles = ARRAY[c.relowner]) AS engine,
           (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid) AS policies
      FROM pg_class c
     WHERE c.relnamespace = 'rota'::regnamespace AND c.relname = ANY ($1::text[])
"""

# What nobody but the engine has anything to do with.
_REACHABLE: LiteralString = """
    SELECT c.relname
      FROM pg_class c
     WHERE c.relnamespace = 'rota'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
       AND (has_table_privilege('rota_tenant', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
            OR has_any_column_privilege('rota_tenant', c.oid, 'SELECT, INSERT, UPDATE'))
"""

_WHO: LiteralString = (
    "SELECT current_user || ':' || coalesce(current_setting('rota.tenant', true), '')"
)


async def unwalled(tx: Tx) -> list[str]:
    """The tables of tenants that lack a part of their wall."""
    tables = [row["relname"] for row in await tx.fetch(TENANT_TABLES)] + ["tenants", "timers"]
    walls = {row["name"]: row for row in await tx.fetch(_WALLS, tables)}
    return [
        name
        for name in tables
        if not walls[name]["forced"]
        or (walls[name]["own"], walls[name]["engine"], walls[name]["policies"]) != (1, 1, 2)
    ]


async def test_every_table_of_tenants_has_its_wall(db: Database) -> None:
    """S10: one that is added without `SELECT secure_tenant_table('…')` fails here."""
    async with db.transaction() as tx:
        assert await unwalled(tx) == []


class _Undone(Exception):
    """Ends a transaction, so that what comes next is by itself."""


HOLES: dict[LiteralString, str] = {
    "CREATE TABLE forgotten (id uuid PRIMARY KEY, tenant_id uuid NOT NULL)": "forgotten",
    "ALTER TABLE schedules NO FORCE ROW LEVEL SECURITY": "schedules",
    "ALTER TABLE schedules DISABLE ROW LEVEL SECURITY": "schedules",
    "DROP POLICY tenant ON schedules": "schedules",
    "ALTER POLICY tenant ON schedules WITH CHECK (true)": "schedules",
    "ALTER POLICY tenant ON schedules USING (true)": "schedules",
    "CREATE POLICY hole ON schedules TO rota_tenant USING (true)": "schedules",
}


async def test_a_wall_with_a_hole_is_found(db: Database) -> None:
    for change, table in HOLES.items():
        with contextlib.suppress(_Undone):
            async with db.transaction() as tx:
                await tx.execute(change)
                assert await unwalled(tx) == [table], change
                raise _Undone


async def test_a_tenant_reaches_nothing_without_a_wall(db: Database) -> None:
    """Partitions neither: past their table, its policies would not hold."""
    async with db.transaction() as tx:
        reachable = {row["relname"] for row in await tx.fetch(_REACHABLE)}
        walled = {row["relname"] for row in await tx.fetch(TENANT_TABLES)} | {"tenants", "timers"}
        # Which shards there are, and since when they follow their zone rules; nothing else of it.
        assert reachable - walled == {"leases", "shard_tzdata"}
        assert not await tx.fetch_value(
            "SELECT has_column_privilege('rota_tenant', 'leases', 'holder', 'SELECT')"
        )


async def test_no_tenant_transaction_can_move_the_wall(db: Database) -> None:
    """No function of the schema runs with its owner's rights unless a fixed path comes with it."""
    async with db.transaction() as tx:
        loose = await tx.fetch(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'rota'::regnamespace AND prosecdef"
            " AND NOT coalesce(array_to_string(proconfig, ' ') ~ 'search_path=', false)"
        )
        assert loose == []
        assert not await tx.fetch_value(
            "SELECT has_function_privilege('rota_tenant', 'secure_tenant_table(regclass, text)',"
            " 'EXECUTE')"
        )


async def test_who_forgets_to_ask_for_its_own_rows_gets_no_others(db: Database) -> None:
    one, other = await inhabited(db)
    for tenant in (one, other):
        async with db.transaction(tenant=tenant, read_only=True) as tx:
            for table in ROWS:
                text = cast("LiteralString", f"SELECT count(*) FROM {table}")
                assert await tx.fetch_value(text) == 1, table
            assert await tx.fetch_value("SELECT tenant_id FROM schedules") == tenant
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM schedules") == 2


async def test_a_row_for_another_tenant_is_refused(db: Database) -> None:
    one, other = uuid4(), uuid4()
    schedule, key = uuid4(), uuid4()
    async with db.transaction() as tx:
        await add_row(tx, "tenants", one, schedule, key)
        await add_row(tx, "tenants", other, schedule, key)
    for table in [each for each in ROWS if each != "tenants"]:
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
            async with db.transaction(tenant=one) as tx:
                await add_row(tx, table, other, schedule, key)
        async with db.transaction(tenant=other) as tx:
            await add_row(tx, table, other, schedule, key)


async def test_others_rows_are_neither_changed_nor_deleted_nor_taken_over(db: Database) -> None:
    one, other = await inhabited(db)
    async with db.transaction(tenant=one) as tx:
        assert await tx.execute("UPDATE queue SET priority = 9") == 1
        assert await tx.execute("UPDATE timers SET touched = 7") == 1
        assert await tx.execute("DELETE FROM secrets") == 1
    for statement in (
        "UPDATE schedules SET tenant_id = $1",
        "UPDATE queue SET tenant_id = $1",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="row-level security"):
            async with db.transaction(tenant=one) as tx:
                await tx.execute(statement, other)
    async with db.transaction(tenant=other) as tx:
        assert await tx.fetch_value("SELECT priority FROM queue") == 5
        assert await tx.fetch_value("SELECT count(*) FROM secrets") == 1


FORBIDDEN: tuple[LiteralString, ...] = (
    "UPDATE tenants SET weight = 1000",
    "UPDATE tenants SET max_schedules = NULL",
    "DELETE FROM tenants",
    "DELETE FROM firings",
    "UPDATE api_keys SET scopes = '{admin}'",
    "SELECT FROM firings_default",
    "SELECT FROM installation_keys",
    "SELECT FROM nodes",
    "SELECT holder FROM leases",
    "SELECT secure_tenant_table('queue')",
    "TRUNCATE queue",
    "CREATE TABLE mine (id integer)",
)


async def test_a_tenant_may_do_no_more_than_the_api_does_for_it(db: Database) -> None:
    one, _ = await inhabited(db)
    for statement in FORBIDDEN:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with db.transaction(tenant=one) as tx:
                await tx.execute(statement)


async def test_as_a_tenant_without_saying_which_there_is_nothing(db: Database) -> None:
    await inhabited(db)
    async with db.transaction() as tx:
        await tx.execute("SET LOCAL ROLE rota_tenant")
        for table in ROWS:
            text = cast("LiteralString", f"SELECT count(*) FROM {table}")
            assert await tx.fetch_value(text) == 0, table


async def test_a_new_partition_needs_nothing(db: Database) -> None:
    one, _ = await inhabited(db)
    async with db.transaction() as tx:
        await retention.ensure(tx, (await tx.fetch_value("SELECT now()")).date())
    async with db.transaction(tenant=one) as tx:
        await add_row(tx, "firings", one, uuid4(), uuid4())
        assert await tx.fetch_value("SELECT count(*) FROM firings") == 2
        [row] = await tx.fetch("SELECT DISTINCT tableoid::regclass::text AS day FROM firings")
    assert row["day"] != "firings_default"
    with pytest.raises(asyncpg.InsufficientPrivilegeError, match="permission denied"):
        async with db.transaction(tenant=one) as tx:
            await tx.fetch(cast("LiteralString", f"SELECT FROM {row['day']}"))


@pytest.fixture
async def small(dsn: str) -> AsyncGenerator[Database]:
    """One session, so that whoever comes next has the one before's."""
    async with await Database.open(dsn, pool_size=1) as database:
        yield database


async def who(db: Database) -> str:
    async with db.transaction() as tx:
        return await tx.fetch_value(_WHO)


async def test_the_next_to_use_the_session_is_the_engine_again(small: Database) -> None:
    """S10: SET leaks through a pool, SET LOCAL does not."""
    engine, tenant = await who(small), uuid4()
    async with small.transaction(tenant=tenant) as tx:
        assert await tx.fetch_value(_WHO) == f"rota_tenant:{tenant}"
    assert await who(small) == engine
    with pytest.raises(ZeroDivisionError):
        async with small.transaction(tenant=tenant):
            raise ZeroDivisionError
    assert await who(small) == engine
    with pytest.raises(asyncpg.DivisionByZeroError):
        async with small.transaction(tenant=tenant) as tx:
            await tx.execute("SELECT 1 / 0")
    assert await who(small) == engine


async def test_nor_does_a_transaction_that_was_cancelled_leave_its_tenant_behind(
    small: Database,
) -> None:
    engine = await who(small)
    begun = asyncio.Event()

    async def hold() -> None:
        async with small.transaction(tenant=uuid4()) as tx:
            begun.set()
            await tx.execute("SELECT pg_sleep(60)")

    task = asyncio.create_task(hold())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await who(small) == engine
    # At any step of the way, the beginning included.
    for step in range(20):
        task = asyncio.create_task(who_as(small, uuid4()))
        await asyncio.wait([task], timeout=step / 10_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert await who(small) == engine


async def who_as(db: Database, tenant: UUID) -> str:
    async with db.transaction(tenant=tenant) as tx:
        return await tx.fetch_value(_WHO)


async def test_a_savepoint_is_the_tenants_too(db: Database) -> None:
    one, other = await inhabited(db)
    async with db.transaction(tenant=one) as tx:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with tx.savepoint():
                await add_row(tx, "answers", other, uuid4(), uuid4())
        async with tx.savepoint(), tx.savepoint():
            assert await tx.fetch_value(_WHO) == f"rota_tenant:{one}"
        assert await tx.fetch_value("SELECT count(*) FROM answers") == 1


async def test_who_learns_on_the_way_whose_it_is_is_held_from_there_on(small: Database) -> None:
    engine = await who(small)
    one, _ = await inhabited(small)
    async with small.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 2
        await tx.hold_to(one)
        assert await tx.fetch_value(_WHO) == f"rota_tenant:{one}"
        assert await tx.fetch_value("SELECT count(*) FROM queue") == 1
    assert await who(small) == engine


def test_a_transaction_begins_with_one_message() -> None:
    tenant = UUID("01890000-0000-7000-8000-000000000001")
    text = opening(isolation="repeatable_read", read_only=True, tenant=tenant)
    assert text == (
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL ROLE rota_tenant;"
        " SET LOCAL rota.tenant = '01890000-0000-7000-8000-000000000001'"
    )
    assert ";" not in opening(isolation="read_committed", read_only=True, tenant=None)
    assert opening(isolation="read_committed", read_only=False, tenant=None) == (
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL enable_seqscan = off"
    )


def test_what_is_not_a_uuid_never_gets_into_a_statement() -> None:
    with pytest.raises(ContractBroken, match="UUID"):
        opening(isolation="read_committed", read_only=False, tenant=cast("UUID", "'; RESET ROLE"))
