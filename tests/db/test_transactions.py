"""Transactions: all or nothing, on a session that is set as Rota needs it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

import rota
from rota.db import Database, FencedTx, Tx
from rota.db.tx import affected
from rota.errors import ContractBroken


@pytest.fixture
async def notes(db: Database) -> Database:
    async with db.transaction() as tx:
        await tx.execute("CREATE TABLE notes (id integer PRIMARY KEY, text text)")
    return db


async def count(db: Database) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT count(*) FROM notes")


async def test_what_a_block_wrote_is_there_after_it(notes: Database) -> None:
    async with notes.transaction() as tx:
        await tx.execute("INSERT INTO notes VALUES (1, $1)", "one")
    assert await count(notes) == 1


async def test_a_block_that_raises_leaves_nothing(notes: Database) -> None:
    async def fail(tx: Tx) -> None:
        await tx.execute("INSERT INTO notes VALUES (1, 'one')")
        raise RuntimeError("on the way")

    with pytest.raises(RuntimeError, match="on the way"):
        await notes.run(fail)
    assert await count(notes) == 0


async def test_a_block_that_is_cancelled_leaves_nothing_and_the_pool_stays_whole(
    dsn: str, notes: Database
) -> None:
    inserted = asyncio.Event()

    async with await Database.open(dsn, pool_size=1) as small:

        async def write() -> None:
            async with small.transaction() as tx:
                await tx.execute("INSERT INTO notes VALUES (1, 'one')")
                inserted.set()
                await tx.execute("SELECT pg_sleep(60)")

        task = asyncio.create_task(write())
        await inserted.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await count(small) == 0


async def test_results_come_as_rows_a_row_a_value_and_a_count(notes: Database) -> None:
    async with notes.transaction() as tx:
        assert await tx.execute("INSERT INTO notes VALUES (1, 'one'), (2, 'two')") == 2
        assert await tx.execute("UPDATE notes SET text = 'x' WHERE id = $1", 7) == 0
        rows = await tx.fetch("SELECT id, text FROM notes ORDER BY id")
        assert [(row["id"], row["text"]) for row in rows] == [(1, "one"), (2, "two")]
        row = await tx.fetch_row("SELECT text FROM notes WHERE id = $1", 2)
        assert row is not None
        assert dict(row.items()) == {"text": "two"}
        assert await tx.fetch_row("SELECT text FROM notes WHERE id = $1", 3) is None
        assert await tx.fetch_value("SELECT text FROM notes WHERE id = $1", 3) is None


@pytest.mark.parametrize(
    ("tag", "rows"),
    [("INSERT 0 5", 5), ("UPDATE 3", 3), ("DELETE 0", 0), ("SELECT 12", 12), ("CREATE TABLE", 0)],
)
def test_the_count_is_read_from_the_command_tag(tag: str, rows: int) -> None:
    assert affected(tag) == rows


async def test_a_lasting_error_is_raised_as_it_is(notes: Database) -> None:
    async def insert_twice(tx: Tx) -> None:
        await tx.execute("INSERT INTO notes VALUES (1, 'one')")
        await tx.execute("INSERT INTO notes VALUES (1, 'again')")

    with pytest.raises(asyncpg.UniqueViolationError):
        await notes.run(insert_twice)
    assert await count(notes) == 0


async def test_a_swallowed_error_cannot_end_in_a_commit_that_did_nothing(notes: Database) -> None:
    async def swallow(tx: Tx) -> None:
        await tx.execute("INSERT INTO notes VALUES (1, 'one')")
        with pytest.raises(asyncpg.UniqueViolationError):
            await tx.execute("INSERT INTO notes VALUES (1, 'again')")

    with pytest.raises(ContractBroken, match="swallowed"):
        await notes.run(swallow)
    assert await count(notes) == 0


async def test_a_part_in_a_savepoint_may_fail_by_itself(notes: Database) -> None:
    async def insert_two_and_fail(tx: Tx) -> None:
        async with tx.savepoint():
            await tx.execute("INSERT INTO notes VALUES (2, 'two')")
            await tx.execute("INSERT INTO notes VALUES (1, 'again')")

    async with notes.transaction() as tx:
        await tx.execute("INSERT INTO notes VALUES (1, 'one')")
        with pytest.raises(asyncpg.UniqueViolationError):
            await insert_two_and_fail(tx)
        async with tx.savepoint():
            await tx.execute("INSERT INTO notes VALUES (3, 'three')")
    async with notes.transaction() as tx:
        assert [row["id"] for row in await tx.fetch("SELECT id FROM notes ORDER BY id")] == [1, 3]


async def test_a_transaction_cannot_be_used_after_its_block(notes: Database) -> None:
    async with notes.transaction() as tx:
        pass
    with pytest.raises(ContractBroken, match="after its block"):
        await tx.fetch("SELECT 1")


async def test_a_fenced_transaction_is_the_transaction_it_was_proven_in(notes: Database) -> None:
    async with notes.transaction() as tx:
        fenced = FencedTx.prove(tx, {3: 7})
        await fenced.execute("INSERT INTO notes VALUES (1, 'fenced')")
        assert await tx.fetch_value("SELECT text FROM notes") == "fenced"
        assert dict(fenced.fences) == {3: 7}
        assert isinstance(fenced, Tx)


async def test_a_failure_seen_by_the_fenced_transaction_stops_the_commit(notes: Database) -> None:
    async def swallow(tx: Tx) -> None:
        with pytest.raises(asyncpg.DivisionByZeroError):
            await FencedTx.prove(tx, {3: 7}).execute("SELECT 1 / 0")

    with pytest.raises(ContractBroken):
        await notes.run(swallow)


async def test_a_fence_has_to_be_proven(db: Database) -> None:
    with pytest.raises(ContractBroken):
        FencedTx()
    async with db.transaction() as tx:
        with pytest.raises(ContractBroken, match="at least one"):
            FencedTx.prove(tx, {})


def test_only_the_leases_may_prove_a_fence() -> None:
    source = Path(rota.__file__).parent
    users = {
        file.relative_to(source).parts[0]
        for file in source.rglob("*.py")
        if "FencedTx.prove(" in file.read_text("utf-8")
    }
    assert users <= {"leases"}


async def test_the_session_is_set_as_the_leases_need_it(dsn: str) -> None:
    async with (
        await Database.open(
            dsn,
            application_name="rota scheduler",
            statement_timeout=timedelta(seconds=7),
            lock_timeout=timedelta(milliseconds=1500),
        ) as db,
        db.transaction() as tx,
    ):
        rows = await tx.fetch("SELECT name, setting FROM pg_settings")
        setting = {row["name"]: row["setting"] for row in rows}
    assert setting["application_name"] == "rota scheduler"
    assert setting["TimeZone"] == "UTC"
    assert setting["search_path"] == "rota"
    assert setting["statement_timeout"] == "7000"
    assert setting["lock_timeout"] == "1500"
    assert int(setting["idle_in_transaction_session_timeout"]) < 15_000 / 2


async def test_instants_are_aware_and_in_utc(db: Database) -> None:
    instant = datetime(2025, 3, 30, 1, 30, tzinfo=UTC)
    async with db.transaction() as tx:
        found = await tx.fetch_value("SELECT $1::timestamptz", instant)
    assert found == instant
    assert found.utcoffset() == timedelta()


async def test_settings_of_a_transaction_do_not_reach_the_next_one(dsn: str) -> None:
    """The pool does not reset sessions, so only what ends with the transaction may be set."""
    async with await Database.open(dsn, pool_size=1) as db:
        async with db.transaction() as tx:
            await tx.execute("SET LOCAL lock_timeout = '1ms'")
        async with db.transaction() as tx:
            assert await tx.fetch_value("SHOW lock_timeout") == "5s"


async def test_a_read_only_transaction_cannot_write(notes: Database) -> None:
    with pytest.raises(asyncpg.ReadOnlySQLTransactionError):
        async with notes.transaction(read_only=True) as tx:
            await tx.execute("INSERT INTO notes VALUES (1, 'one')")


async def test_statements_that_read_need_no_transaction_around_them(notes: Database) -> None:
    async with notes.reading() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM notes") == 0
        begun = await tx.fetch_value("SELECT now()")
        assert await tx.fetch_value("SELECT now()") > begun, "each is a transaction by itself"
    with pytest.raises(ContractBroken, match="after its block"):
        await tx.fetch("SELECT 1")


async def test_a_reading_that_is_cancelled_gives_its_session_to_nobody(dsn: str) -> None:
    async with await Database.open(dsn, pool_size=1) as db:
        async with db.reading() as tx:
            before = await tx.fetch_value("SELECT pg_backend_pid()")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), db.reading() as tx:
                await tx.fetch("SELECT pg_sleep(30)")
        async with db.reading() as tx:
            assert await tx.fetch_value("SELECT pg_backend_pid()") != before


async def test_a_shared_session_is_left_as_it_was_found(dsn: str) -> None:
    """Behind a transaction pooler: what a transaction needs begins and ends with it."""
    found = "SELECT current_setting('search_path'), current_setting('jit'), current_user"
    async with await Database.open(dsn, pool_size=1, is_pooled=True) as db:
        async with db._connection() as connection:
            before = await connection.fetchrow(found)
        async with db.transaction() as tx:
            assert await tx.fetch_value("SHOW search_path") == "rota"
            assert await tx.fetch_value("SHOW lock_timeout") == "5s"
            assert await tx.fetch_value("SELECT count(*) FROM tenants WHERE id = ANY ($1)", []) == 0
        assert await db.fetch_alone("SELECT id FROM tenants") == []
        async with db._connection() as connection:
            assert await connection.fetchrow(found) == before
            assert await connection.fetchval("SELECT count(*) FROM pg_prepared_statements") == 0
