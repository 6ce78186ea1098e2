"""Whole transactions, tried again when the trouble is of the passing kind."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import asyncpg  # pyright: ignore[reportMissingTypeStubs]
import pytest

from rota.backoff import Backoff
from rota.db import CommitUnknown, Conflict, Database, Retry, Tx
from rota.errors import DatabaseUnavailable, InvalidConfig

QUICK = Backoff(first_interval=timedelta(milliseconds=1), max_interval=timedelta(milliseconds=20))


@pytest.fixture
async def accounts(db: Database) -> Database:
    async with db.transaction() as tx:
        await tx.execute("CREATE TABLE accounts (id integer PRIMARY KEY, balance integer)")
        await tx.execute("INSERT INTO accounts VALUES (1, 0), (2, 0)")
    return db


async def balances(db: Database) -> list[int]:
    async with db.transaction() as tx:
        rows = await tx.fetch("SELECT balance FROM accounts ORDER BY id")
        return [row["balance"] for row in rows]


async def end_session(db: Database, pid: int) -> None:
    async with db.transaction() as tx:
        await tx.fetch_value("SELECT pg_terminate_backend($1, 10000)", pid)


async def test_a_serialization_failure_is_tried_again(accounts: Database) -> None:
    both_have_read = asyncio.Barrier(2)
    tries = 0

    async def add_one(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        balance = await tx.fetch_value("SELECT balance FROM accounts WHERE id = 1")
        if tries <= 2:
            await both_have_read.wait()
        await tx.execute("UPDATE accounts SET balance = $1 WHERE id = 1", balance + 1)

    await asyncio.gather(
        *(accounts.run(add_one, isolation="serializable") for _ in range(2)),
    )
    assert await balances(accounts) == [2, 0]
    assert tries == 3


async def test_without_retries_a_serialization_failure_is_a_conflict(accounts: Database) -> None:

    async def lose_against_another() -> None:
        async with accounts.transaction(isolation="repeatable_read") as tx:
            await tx.fetch("SELECT * FROM accounts")
            async with accounts.transaction() as other:
                await other.execute("UPDATE accounts SET balance = 5 WHERE id = 1")
            await tx.execute("UPDATE accounts SET balance = 6 WHERE id = 1")

    with pytest.raises(Conflict):
        await lose_against_another()
    assert await balances(accounts) == [5, 0]


async def test_a_deadlock_is_tried_again(accounts: Database) -> None:
    both_hold_one = asyncio.Barrier(2)
    tries = 0

    async def add_to(tx: Tx, first: int, second: int) -> None:
        nonlocal tries
        tries += 1
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = $1", first)
        if tries <= 2:
            await both_hold_one.wait()
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = $1", second)

    await asyncio.gather(
        accounts.run(lambda tx: add_to(tx, 1, 2)), accounts.run(lambda tx: add_to(tx, 2, 1))
    )
    assert await balances(accounts) == [2, 2]
    assert tries == 3


async def test_a_lock_that_is_not_granted_in_time_is_a_conflict(dsn: str, db: Database) -> None:
    async with (
        await Database.open(dsn, lock_timeout=timedelta(milliseconds=20)) as impatient,
        db.transaction() as holder,
    ):
        await holder.execute("SELECT pg_advisory_xact_lock(1)")
        with pytest.raises(Conflict):
            async with impatient.transaction() as tx:
                await tx.execute("SELECT pg_advisory_xact_lock(1)")


async def test_a_session_ended_by_the_server_is_replaced(accounts: Database) -> None:
    tries = 0

    async def add_one(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
        if tries == 1:
            await end_session(accounts, await tx.fetch_value("SELECT pg_backend_pid()"))
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 2")

    await accounts.run(add_one)
    assert await balances(accounts) == [1, 1]
    assert tries == 2


async def test_an_idle_session_ended_by_the_server_is_not_noticed(dsn: str, db: Database) -> None:
    async with await Database.open(dsn, pool_size=1) as small:

        async def own_pid(tx: Tx) -> int:
            return await tx.fetch_value("SELECT pg_backend_pid()")

        first = await small.run(own_pid)
        await end_session(db, first)
        assert await small.run(own_pid) != first


async def test_a_frozen_transaction_is_ended_and_its_writer_told(dsn: str, db: Database) -> None:
    """`idle_in_transaction_session_timeout`: a frozen holder must not block its successor."""

    async def freeze(tx: Tx) -> None:
        await tx.execute("SET LOCAL idle_in_transaction_session_timeout = '10ms'")
        await _until_gone(db, await tx.fetch_value("SELECT pg_backend_pid()"))
        await tx.execute("SELECT 1")

    async with await Database.open(dsn, pool_size=1) as small:
        with pytest.raises(DatabaseUnavailable):
            await small.run(freeze, retry=Retry(tries=1))


async def test_a_session_lost_before_the_commit_changed_nothing_and_is_tried_again(
    accounts: Database,
) -> None:
    tries = 0

    async def add_one(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")
        if tries == 1:
            await end_session(accounts, await tx.fetch_value("SELECT pg_backend_pid()"))

    await accounts.run(add_one)
    assert tries == 2
    assert await balances(accounts) == [1, 0]


@pytest.mark.parametrize("repeatable", [False, True])
async def test_a_session_lost_during_the_commit_is_tried_again_only_when_that_does_no_harm(
    accounts: Database, repeatable: bool
) -> None:
    async with accounts.transaction() as tx:
        await tx.execute(_COMMIT_WAITS_FOR_A_LOCK)
    tries: list[int] = []

    async def add_one(tx: Tx) -> None:
        tries.append(await tx.fetch_value("SELECT pg_backend_pid()"))
        await tx.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 1")

    async with accounts.transaction() as holder:
        await holder.execute("SELECT pg_advisory_xact_lock(1)")
        task = asyncio.create_task(accounts.run(add_one, repeatable=repeatable))
        await _until_waiting(accounts)
        await end_session(accounts, tries[0])
    if repeatable:
        await task
        assert await balances(accounts) == [1, 0]
    else:
        with pytest.raises(CommitUnknown):
            await task
    assert len(tries) == (2 if repeatable else 1)


@pytest.mark.parametrize("repeatable", [False, True])
async def test_so_is_a_statement_that_is_a_transaction_by_itself(
    accounts: Database, repeatable: bool
) -> None:
    statement = "UPDATE accounts SET balance = balance + 1 WHERE id = 1 RETURNING balance"
    assert [row[0] for row in await accounts.fetch_alone(statement)] == [1]
    async with accounts.transaction() as holder:
        await holder.execute("SELECT FROM accounts WHERE id = 1 FOR UPDATE")
        task = asyncio.create_task(accounts.fetch_alone(statement, repeatable=repeatable))
        await end_session(accounts, await _until_waiting(accounts))
    if repeatable:
        assert [row[0] for row in await task] == [2]
    else:
        with pytest.raises(CommitUnknown):
            await task
    with pytest.raises(asyncpg.DivisionByZeroError):
        await accounts.fetch_alone("SELECT 1 / 0")


async def test_a_lasting_error_is_not_tried_again(db: Database) -> None:
    tries = 0

    async def divide(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        await tx.execute("SELECT 1 / 0")

    with pytest.raises(asyncpg.DivisionByZeroError):
        await db.run(divide)
    assert tries == 1


async def test_after_the_last_try_the_database_is_unavailable(db: Database) -> None:
    tries = 0

    async def lose(tx: Tx) -> None:
        nonlocal tries
        tries += 1
        await tx.execute("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$")

    with pytest.raises(DatabaseUnavailable, match="gave up after 3 tries") as caught:
        await db.run(lose, retry=Retry(tries=3, backoff=QUICK))
    assert tries == 3
    assert isinstance(caught.value.__cause__, Conflict)


async def test_a_plan_made_stale_by_a_migration_is_made_anew(dsn: str, db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("CREATE TABLE things (id integer)")
        await tx.execute("INSERT INTO things VALUES (1)")
    async with await Database.open(dsn, pool_size=1) as old:

        async def read(tx: Tx) -> list[object]:
            row = await tx.fetch_row("SELECT * FROM things")
            assert row is not None
            return list(row.values())

        assert await old.run(read) == [1]
        async with db.transaction() as tx:
            await tx.execute("ALTER TABLE things ADD COLUMN name text DEFAULT 'x'")
        assert await old.run(read) == [1, "x"]


async def test_a_full_pool_is_an_unavailable_database(dsn: str) -> None:
    async with await Database.open(dsn, pool_size=1) as small:
        object.__setattr__(small.session, "connect_timeout", timedelta(milliseconds=20))
        async with small.transaction():
            with pytest.raises(DatabaseUnavailable):
                async with small.transaction():
                    pass


@pytest.mark.parametrize(
    "dsn", ["mysql://localhost/x", "postgresql://user:se:cret@ho:st/x", "postgresql://h:port/x"]
)
async def test_a_dsn_that_cannot_be_read_is_refused_without_repeating_it(dsn: str) -> None:
    with pytest.raises(InvalidConfig, match="dsn: expected postgresql://") as caught:
        await Database.open(dsn)
    assert "cret" not in str(caught.value)


async def test_a_database_that_does_not_exist_is_refused_at_once(dsn: str) -> None:
    with pytest.raises(InvalidConfig, match="does not exist"):
        await Database.open(dsn.replace("rota_test_", "no_such_"))


async def test_a_server_that_is_away_is_tried_again_and_then_unavailable() -> None:
    with pytest.raises(DatabaseUnavailable, match="gave up after 2 tries"):
        await Database.open(
            "postgresql://rota@/rota?host=%2Fno%2Fsuch%2Ffolder",
            retry=Retry(tries=2, backoff=QUICK),
        )


_COMMIT_WAITS_FOR_A_LOCK = """
    CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON accounts DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_for_lock();
"""


async def _until_waiting(db: Database) -> int:
    """Whose backend waits for a lock."""
    while True:
        async with db.transaction() as tx:
            # Of this database: the server is shared with tests in other processes.
            pid = await tx.fetch_value(
                "SELECT l.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
                "WHERE NOT l.granted AND a.datname = current_database() LIMIT 1"
            )
            if pid is not None:
                return pid


async def _until_gone(db: Database, pid: int) -> None:
    while True:
        async with db.transaction() as tx:
            if not await tx.fetch_value(
                "SELECT count(*) FROM pg_stat_activity WHERE pid = $1", pid
            ):
                return
