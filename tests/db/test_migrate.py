"""Migrations: each once, in order, by whoever comes first."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from datetime import timedelta
from typing import LiteralString, cast
from uuid import uuid4

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest
from tests.db.logins import as_login, make_login

from rota.db import Database, installation, migrate
from rota.db.migrate import Applied, Migration, still_to_apply
from rota.errors import MigrationError
from rota.tenants import sql as tenants_sql

FIRST = Migration(1, "first", "CREATE TABLE first (id integer)")
SECOND = Migration(2, "second", "CREATE TABLE second (id integer)")
THIRD = Migration(3, "third", "CREATE TABLE third (id integer)")


def as_applied(*migrations: Migration) -> list[Applied]:
    return [Applied(each.number, each.name, each.sha256) for each in migrations]


async def test_a_new_database_gets_every_migration(empty_db: Database) -> None:
    told: list[Migration] = []
    assert list(await migrate.pending(empty_db)) == migrate.known()
    assert list(await migrate.apply(empty_db, on_applied=told.append)) == migrate.known()
    assert told == migrate.known()
    assert list(await migrate.pending(empty_db)) == []
    assert list(await migrate.apply(empty_db)) == []


async def test_looking_for_pending_migrations_changes_nothing(empty_db: Database) -> None:
    await migrate.pending(empty_db)
    async with empty_db.transaction() as tx:
        assert await tx.fetch_value("SELECT to_regnamespace('rota') IS NULL")


async def test_only_what_is_missing_is_applied(empty_db: Database) -> None:
    await migrate.apply(empty_db, migrations=[FIRST])
    assert list(await migrate.apply(empty_db, migrations=[FIRST, SECOND])) == [SECOND]


async def test_everything_is_in_its_own_schema(db: Database) -> None:
    async with db.transaction() as tx:
        outside = await tx.fetch(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        )
        assert outside == []
        assert await tx.fetch_value("SELECT to_regclass('rota.settings') IS NOT NULL")


async def test_a_schema_made_by_an_administrator_is_used_by_a_role_that_cannot_make_one(
    empty_dsn: str, empty_db: Database
) -> None:
    await make_login(empty_db, "rota_test_guest", member=True)
    async with await Database.open(as_login(empty_dsn, "rota_test_guest")) as db:
        assert list(await migrate.apply(db)) == migrate.known()


_FUNCTIONS: LiteralString = """
    SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text
      FROM pg_proc p WHERE p.pronamespace = 'rota'::regnamespace ORDER BY 1
"""


async def test_the_functions_of_a_new_database_are_those_of_the_files(db: Database) -> None:
    """All of them, and re-creating them changes neither text nor rights."""
    named = {
        name
        for text in migrate.functions().values()
        for name in re.findall(r"^CREATE OR REPLACE FUNCTION (\w+)\(", text, re.MULTILINE)
    }
    async with db.transaction() as tx:
        before = [tuple(row) for row in await tx.fetch(_FUNCTIONS)]
        for text in migrate.functions().values():
            await tx.execute(cast("LiteralString", text))
        after = [tuple(row) for row in await tx.fetch(_FUNCTIONS)]
    assert before == after
    assert {row[0].partition("(")[0] for row in after} == named


def test_a_change_of_a_function_comes_with_a_migration() -> None:
    """Only a new migration re-creates the functions in databases that there are."""
    said = [
        digest
        for each in migrate.known()
        for digest in re.findall(r"^-- functions: (\w+)$", each.sql, re.MULTILINE)
    ]
    wrong = f"end a new migration with the line\n-- functions: {migrate.functions_digest()}"
    assert said[-1] == migrate.functions_digest(), wrong


async def test_a_program_without_new_migrations_leaves_the_functions_alone(db: Database) -> None:
    """An earlier program that starts during a rolling upgrade does not put its functions back."""
    async with db.transaction() as tx:
        await tx.execute(
            "CREATE OR REPLACE FUNCTION is_queue_empty() RETURNS boolean LANGUAGE sql"
            " AS 'SELECT NULL::boolean'"
        )
    await migrate.apply(db)
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT is_queue_empty()") is None


async def test_foreign_keys_are_added_to_a_database_with_rows(empty_db: Database) -> None:
    """Also to one in which a timer has lost its schedule; timers of schedules stay."""
    old = [each for each in migrate.known() if each.number <= 33]
    await migrate.apply(empty_db, migrations=old)
    async with empty_db.transaction() as tx:
        await tenants_sql.make_tenant(tx, uuid4(), "default", timedelta(seconds=1))
        await tx.execute(
            """INSERT INTO schedules
                   (id, tenant_id, key, name, status, shard, anchor_at, definition)
               SELECT id, id, 'k', 'n', 'active', 0, now(), '{}' FROM tenants"""
        )
        await tx.execute("SET LOCAL rota.making = 'on'")
        await tx.execute(
            """INSERT INTO timers (schedule_id, shard, scheduled_for, due_at, version)
               SELECT id, 0, now(), now(), 1 FROM tenants
                UNION ALL SELECT gen_random_uuid(), 0, now(), now(), 1"""
        )
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 2
    await migrate.apply(empty_db)
    async with empty_db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM timers") == 1
        assert await tx.fetch_value(
            "SELECT bool_and(convalidated) FROM pg_constraint WHERE conname = ANY ($1)",
            ["schedules_tenant_id_fkey", "timers_schedule_id_fkey"],
        )


async def test_eight_tasks_at_once_apply_each_migration_once(empty_db: Database) -> None:
    migrations = [FIRST, SECOND, THIRD]
    done = await asyncio.gather(*(migrate.apply(empty_db, migrations=migrations) for _ in range(8)))
    applied = [migration for each in done for migration in each]
    assert sorted(applied, key=lambda each: each.number) == migrations


def test_eight_processes_at_once_apply_each_migration_once(empty_dsn: str) -> None:
    code = """if True:
        import asyncio, sys
        from rota.db import Database, migrate
        async def main():
            async with await Database.open(sys.argv[1], pool_size=1) as db:
                sys.stdin.readline()
                print(len(await migrate.apply(db)))
        asyncio.run(main())
    """
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, empty_dsn],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    counts = [process.communicate("go\n")[0] for process in processes]
    assert sum(map(int, counts)) == len(migrate.known())


async def test_a_migration_that_fails_leaves_nothing_and_those_before_it_stay(
    empty_db: Database,
) -> None:
    broken = Migration(2, "broken", "CREATE TABLE half (id integer); SELECT 1 / 0")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await migrate.apply(empty_db, migrations=[FIRST, broken])
    async with empty_db.transaction() as tx:
        assert await tx.fetch_value("SELECT to_regclass('half') IS NULL")
        assert await tx.fetch_value("SELECT to_regclass('first') IS NOT NULL")
    assert list(await migrate.pending(empty_db, migrations=[FIRST, SECOND])) == [SECOND]


async def test_a_changed_migration_is_refused(empty_db: Database) -> None:
    await migrate.apply(empty_db, migrations=[FIRST])
    changed = Migration(1, "first", FIRST.sql + " -- with a comment")
    with pytest.raises(MigrationError, match="0001_first is not the one that was applied"):
        await migrate.apply(empty_db, migrations=[changed, SECOND])
    with pytest.raises(MigrationError, match="must never change"):
        await migrate.pending(empty_db, migrations=[changed])


async def test_a_newer_database_is_refused(empty_db: Database) -> None:
    await migrate.apply(empty_db, migrations=[FIRST, SECOND])
    with pytest.raises(MigrationError, match=r"newer than this program.*0002_second.*Upgrade Rota"):
        await migrate.apply(empty_db, migrations=[FIRST])


async def test_a_number_missing_in_the_database_is_refused(empty_db: Database) -> None:
    await migrate.apply(empty_db, migrations=[FIRST, SECOND, THIRD])
    async with empty_db.transaction() as tx:
        await tx.execute("DELETE FROM rota_migrations WHERE number = 2")
    with pytest.raises(MigrationError, match="0002_second before 0003_third"):
        await migrate.apply(empty_db, migrations=[FIRST, SECOND, THIRD])


def test_a_number_missing_in_the_program_is_refused() -> None:
    with pytest.raises(MigrationError, match="expected migration 0002 next, got 0003_third"):
        still_to_apply([FIRST, THIRD], [])
    with pytest.raises(MigrationError, match="expected migration 0002 next, got 0001"):
        still_to_apply([FIRST, Migration(1, "twin", "")], [])


def test_what_is_still_to_apply() -> None:
    assert list(still_to_apply([FIRST, SECOND], [])) == [FIRST, SECOND]
    assert list(still_to_apply([FIRST, SECOND], as_applied(FIRST))) == [SECOND]
    assert list(still_to_apply([FIRST, SECOND], as_applied(FIRST, SECOND))) == []


def test_line_ends_of_a_checkout_do_not_change_a_migration() -> None:
    assert Migration(1, "x", "a\r\nb").sha256 == Migration(1, "x", "a\nb").sha256


def test_a_file_with_an_odd_name_is_refused() -> None:
    with pytest.raises(MigrationError, match=r"expected a migration named .*, got 1_x\.sql"):
        migrate.parse({"1_x.sql": ""})


async def test_an_installation_has_an_id_and_64_shards_for_ever(db: Database) -> None:
    async with db.transaction() as tx:
        found = await installation.read(tx)
        assert found == await installation.read(tx)
    assert found.shards == 64
