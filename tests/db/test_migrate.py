"""Migrations: each once, in order, by whoever comes first."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest
from tests.db.logins import as_login, make_login

from rota.db import Database, installation, migrate
from rota.db.migrate import Applied, Migration, still_to_apply
from rota.errors import MigrationError

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
