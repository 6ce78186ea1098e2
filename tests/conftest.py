"""A real PostgreSQL for the tests: one server for all workers, a fresh database for each test.

The server is Rota's own embedded one, shared by pytest-xdist's workers the way processes share a
data folder; ROTA_TEST_DSN names another one instead (a role that may create databases). Databases
are cloned from a template that has all migrations.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, settings

from rota.clock import SystemClock
from rota.db import Database, Session, driver, embedded, migrate
from rota.db.embedded import locks
from rota.errors import EmbeddedError
from rota.library import aside

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from pathlib import Path

# How long an example takes is the machine's affair: nothing here is told by the wall clock.
settings.register_profile("rota", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rota")

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
        connection = await driver.connect(self.dsn, Session(application_name="rota tests"))
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
        await self.order(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


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
    outside = os.environ.get("ROTA_TEST_DSN")
    if outside:
        yield asyncio.run(_with_template(outside, shared))
        return
    data_dir = shared / "postgres"
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
    async with await Database.open(dsn, application_name="rota tests") as database:
        yield database


@pytest.fixture
async def empty_db(empty_dsn: str) -> AsyncGenerator[Database]:
    """`empty_dsn`, opened."""
    async with await Database.open(empty_dsn, application_name="rota tests") as database:
        yield database


async def _with_template(dsn: str, shared: Path) -> Postgres:
    """The server once it has a template for these migrations, made by the first worker to come."""
    digest = hashlib.sha256("".join(each.sha256 for each in migrate.known()).encode())
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
