"""Transactional enqueue on the caller's own connection: there if it commits, never if not.

Real commits and rollbacks on asyncpg, psycopg (sync, async) and SQLAlchemy (sync, async; connection
and session): issue 6, 2.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg.rows import dict_row
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session
from tests.db.library_kit import program
from tests.db.queue_support import queue_rows
from tests.db.tasks_kit import declare

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db import Database
    from rota.library.task import Task


asyncpg: Any = importlib.import_module("asyncpg")
"""Without types, so as it comes."""


class Undo(Exception):
    """Ends a transaction."""


def end(*, commit: bool) -> None:
    if not commit:
        raise Undo


async def by_asyncpg(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    connection: Any = await asyncpg.connect(dsn)
    try:
        # A program that has its own ideas of JSON changes nothing.
        await connection.set_type_codec("jsonb", encoder=str, decoder=str, schema="pg_catalog")
        async with connection.transaction():
            await connection.execute("INSERT INTO orders VALUES (1)")
            handle = await task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
            end(commit=commit)
        return handle
    finally:
        await connection.close()


async def by_asyncpg_pool(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    pool: Any
    async with asyncpg.create_pool(dsn, min_size=1) as pool, pool.acquire() as connection:
        async with connection.transaction():
            await connection.execute("INSERT INTO orders VALUES (1)")
            handle = await task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
            end(commit=commit)
        return handle


async def by_psycopg(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    def work() -> Any:
        with psycopg.Connection[Any].connect(dsn, row_factory=dict_row) as connection:
            connection.execute("INSERT INTO orders VALUES (1)")
            handle = task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
            end(commit=commit)
            return handle

    return await asyncio.to_thread(work)


async def by_psycopg_async(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        await connection.execute("INSERT INTO orders VALUES (1)")
        handle = await task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
        end(commit=commit)
        return handle


def _url(dsn: str, driver: str) -> str:
    return dsn.replace("postgresql://", f"postgresql+{driver}://").replace("host=", "host=")


async def by_sqlalchemy(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    def work() -> Any:
        engine = sa.create_engine(_url(dsn, "psycopg"))
        try:
            with engine.begin() as connection:
                connection.execute(sa.text("INSERT INTO orders VALUES (1)"))
                handle = task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
                end(commit=commit)
                return handle
        finally:
            engine.dispose()

    return await asyncio.to_thread(work)


async def by_session(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    def work() -> Any:
        engine = sa.create_engine(_url(dsn, "psycopg"))
        try:
            with Session(engine) as session, session.begin():
                session.execute(sa.text("INSERT INTO orders VALUES (1)"))
                handle = task.enqueue(1, delay="90m", priority=3, key="k", connection=session)
                end(commit=commit)
                return handle
        finally:
            engine.dispose()

    return await asyncio.to_thread(work)


async def by_sqlalchemy_async(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    engine = create_async_engine(_url(dsn, "asyncpg"))
    try:
        async with engine.begin() as connection:
            await connection.execute(sa.text("INSERT INTO orders VALUES (1)"))
            handle = await task.enqueue(1, delay="90m", priority=3, key="k", connection=connection)
            end(commit=commit)
            return handle
    finally:
        await engine.dispose()


async def by_async_session(dsn: str, task: Task[..., Any], *, commit: bool) -> Any:
    engine = create_async_engine(_url(dsn, "psycopg"))
    try:
        async with AsyncSession(engine) as session, session.begin():
            await session.execute(sa.text("INSERT INTO orders VALUES (1)"))
            handle = await task.enqueue(1, delay="90m", priority=3, key="k", connection=session)
            end(commit=commit)
            return handle
    finally:
        await engine.dispose()


WAYS = [
    by_asyncpg,
    by_asyncpg_pool,
    by_psycopg,
    by_psycopg_async,
    by_sqlalchemy,
    by_session,
    by_sqlalchemy_async,
    by_async_session,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda each: each.__name__)
async def test_a_run_is_there_if_the_transaction_commits_and_never_if_not(
    dsn: str, db: Database, way: Callable[..., Any]
) -> None:
    rota = program(dsn)

    @rota.task(name="t")
    async def task(n: int) -> None: ...

    schedule_id = await declare(db, "t")
    async with db.transaction() as tx:
        await tx.execute("CREATE TABLE public.orders (id integer)")

    with pytest.raises(Undo):
        await way(dsn, task, commit=False)
    assert not await queue_rows(db)

    handle = await way(dsn, task, commit=True)
    rows = await queue_rows(db)
    assert list(rows) == [handle.firing_id]
    row = rows[handle.firing_id]
    assert (row["schedule_id"], row["payload"], row["priority"]) == (
        schedule_id,
        '{"args": [1]}',
        3,
    )
    assert row["unique_key"] == "k"
    async with db.transaction() as tx:
        assert await tx.fetch_value("SELECT count(*) FROM public.orders") == 1
        late = await tx.fetch_value("SELECT available_at - now() FROM queue")
    assert 80 < late.total_seconds() / 60 < 91


async def test_many_go_in_one_transaction(dsn: str, db: Database) -> None:
    rota = program(dsn)

    @rota.task(name="t")
    async def task(n: int) -> None: ...

    await declare(db, "t")
    async with await psycopg.AsyncConnection.connect(dsn) as connection:
        handles = await task.options(connection=connection).enqueue_many(range(2_500))
        assert not await queue_rows(db), "not before the commit"
    assert [each.firing_id for each in handles][:1] == [handles[0].firing_id]
    assert set(await queue_rows(db)) == set(handles.firing_ids)
