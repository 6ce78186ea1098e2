"""A real PostgreSQL for the tests: one server for all workers, a fresh database for each test.

The server is Rota's own embedded one, shared by pytest-xdist's workers the way processes share a
data folder; TEST_POSTGRES_DSN names another one instead (a role that may create databases). The
databases are cloned from a template that has all migrations.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import os
import secrets
import signal
import threading
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from asyncpg.exceptions import ObjectInUseError  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import HealthCheck, settings
from tests import memory_disk
from tests.deadlines import patience

from rota.backoff import Retry
from rota.clock import SystemClock
from rota.db import Database, Session, driver, embedded, migrate
from rota.db.embedded import locks
from rota.errors import EmbeddedError
from rota.events import Recorder
from rota.library import aside

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

# How long an example takes is the machine's affair: nothing here is told by the wall clock.
settings.register_profile("rota", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rota")

# Collecting ten thousand tests throws next to nothing away.
gc.disable()


def pytest_collection_finish() -> None:
    """From here on collections leave out what stays to the end: the modules and all tests."""
    gc.collect()
    gc.freeze()
    gc.enable()


# A crash of the machine may lose the tests' data; a crash of the server still loses nothing.
_FAST = {"fsync": "off", "full_page_writes": "off", "max_connections": "300"}


@dataclass(frozen=True)
class Postgres:
    """A server on which databases may be made."""

    dsn: str
    """A database to give orders from."""
    template: str
    strategy: str = ""
    """How databases are copied: whole files are copied in a third of the time, where that can be
    asked for (PostgreSQL 15)."""

    def dsn_of(self, database: str) -> str:
        """The same server, another database."""
        return urlsplit(self.dsn)._replace(path=f"/{database}").geturl()

    async def order(self, *statements: str) -> None:
        """Run statements that cannot be in a transaction."""
        connection = await driver.connect(self.dsn, _patient())
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    async def clone(self, *, empty: bool = False) -> str:
        """A new database: with all migrations, or without any. Returns its name."""
        name = f"rota_test_{secrets.token_hex(8)}"
        template = "template0" if empty else self.template
        await self.order(f"CREATE DATABASE {name} TEMPLATE {template}{self.strategy}")
        return name

    async def drop(self, name: str) -> None:
        """Drop it, once the sessions that this ends are gone: the server waits 5 s for them."""
        async with asyncio.timeout(patience(60)):
            while True:
                with contextlib.suppress(ObjectInUseError):
                    await self.order(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
                    return


def _patient() -> Session:
    """A session that is not ended because this process, or another, had to wait for a core."""
    longest = timedelta(seconds=patience(60))
    return Session(
        application_name="rota tests",
        statement_timeout=longest,
        lock_timeout=longest,
        idle_in_transaction_timeout=longest,
        connect_timeout=longest,
    )


async def _open(dsn: str) -> Database:
    session = _patient()
    pool = await driver.open_pool(dsn, session, size=10)
    return Database(pool, dsn=dsn, session=session, retry=Retry(), clock=SystemClock())


@pytest.fixture(autouse=True, scope="session")
def _programs_can_be_interrupted() -> None:
    """Let Ctrl-C reach the programs that tests start, also if this run ignores it.

    A script that runs the tests in the background has them ignore it, and programs inherit that.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _patient_recorders() -> None:
    """Recorders wait as long as this machine, as busy as it is now, may need."""
    Recorder.patience = timedelta(seconds=patience(10))


@pytest.fixture(autouse=True)
def _no_client_is_left() -> Generator[None]:
    """A client that nobody closed would go on in its thread, beside all tests that follow."""
    yield
    left = [each for each in threading.enumerate() if each.name == aside.THREAD]
    assert not left, "the program of this test has a client that was not closed (`asking.close`)"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Generator[Postgres]:
    """The server for all tests of all workers."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    outside = os.environ.get("TEST_POSTGRES_DSN")
    if outside:
        yield asyncio.run(_with_template(outside, shared))
        return
    data_dir = memory_disk.folder(shared)
    # Not that of this run, in which another worker may be starting the server.
    asyncio.run(memory_disk.remove_abandoned(besides=data_dir))
    server = asyncio.run(embedded.start(data_dir, extra_settings=_FAST))
    try:
        yield asyncio.run(_with_template(server.dsn, shared))
    finally:
        asyncio.run(_leave(server, data_dir))


@pytest.fixture
async def dsn(postgres: Postgres) -> AsyncGenerator[str]:
    """A database of the test's own, with all migrations."""
    name = await postgres.clone()
    yield postgres.dsn_of(name)
    await postgres.drop(name)


@pytest.fixture
async def empty_dsn(postgres: Postgres) -> AsyncGenerator[str]:
    """A database of the test's own, without any migration."""
    name = await postgres.clone(empty=True)
    yield postgres.dsn_of(name)
    await postgres.drop(name)


@pytest.fixture
async def db(dsn: str) -> AsyncGenerator[Database]:
    """`dsn`, opened."""
    async with await _open(dsn) as database:
        yield database


@pytest.fixture
async def empty_db(empty_dsn: str) -> AsyncGenerator[Database]:
    """`empty_dsn`, opened."""
    async with await _open(empty_dsn) as database:
        yield database


async def _with_template(dsn: str, shared: Path) -> Postgres:
    """The server once it has a template for these migrations, made by the first worker to come."""
    parts = [*(each.sha256 for each in migrate.known()), migrate.functions_digest()]
    digest = hashlib.sha256("".join(parts).encode())
    server = Postgres(
        dsn,
        template=f"rota_template_{digest.hexdigest()[:16]}",
        strategy=" STRATEGY FILE_COPY" if await _version(dsn) >= 150_000 else "",
    )
    async with locks.exclusive(shared / "template.lock", clock=SystemClock()):
        if not await _exists(server):
            await _make_template(server)
    return server


async def _make_template(server: Postgres) -> None:
    draft = await server.clone(empty=True)
    async with await Database.open(server.dsn_of(draft)) as database:
        await migrate.apply(database)
    # It gets its name when it is whole.
    await server.order(f"ALTER DATABASE {draft} RENAME TO {server.template}")


async def _version(dsn: str) -> int:
    async with await Database.open(dsn) as database, database.transaction() as tx:
        return int(await tx.fetch_value("SHOW server_version_num"))


async def _exists(server: Postgres) -> bool:
    async with await Database.open(server.dsn) as database, database.transaction() as tx:
        found = await tx.fetch_value(
            "SELECT count(*) FROM pg_database WHERE datname = $1", server.template
        )
        return found > 0


async def _leave(server: embedded.Embedded, data_dir: Path) -> None:
    await server.stop()
    # Whoever leaves last takes the data along.
    with contextlib.suppress(EmbeddedError):
        await embedded.remove(data_dir)
