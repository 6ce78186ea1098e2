"""A server that dies and comes back under the feet of its users."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from rota.backoff import Backoff
from rota.db import Cause, Database, Listener, Retry, Tx, embedded, migrate
from rota.db.embedded import binaries, layout, process

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

PATIENT = Retry(tries=200, backoff=Backoff(max_interval=timedelta(milliseconds=100)))
LONG = timedelta(minutes=1)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[embedded.Embedded]:
    async with await embedded.start(tmp_path / "data", extra_settings={"fsync": "off"}) as server:
        yield server
    await embedded.remove(tmp_path / "data")


async def crash(server: embedded.Embedded) -> None:
    """Stop as if the power had gone, only that the files remain."""
    account = server.pgdata.stat()
    owner = process.Account(account.st_uid, account.st_gid)
    copy = binaries.find()
    if not owner.is_self:
        copy = binaries.copy_into(layout.SHELTER, copy)
    argv = [copy.program("pg_ctl"), "stop", "-D", str(server.pgdata), "-m", "immediate"]
    done = await process.run(argv, account=owner)
    assert done.returncode == 0, done.stderr


async def test_work_goes_on_after_a_crash_and_nothing_committed_is_lost(
    server: embedded.Embedded,
) -> None:
    async with await Database.open(server.dsn, retry=PATIENT) as db:
        await migrate.apply(db)
        async with db.transaction() as tx:
            await tx.execute("INSERT INTO settings VALUES ('kept', '1')")
        crashed = False

        async def read(tx: Tx) -> list[str]:
            nonlocal crashed
            if not crashed:
                crashed = True
                await crash(server)
                await server.ensure_running()
            rows = await tx.fetch("SELECT name FROM settings WHERE name = 'kept'")
            return [row["name"] for row in rows]

        assert await db.run(read) == ["kept"]


async def test_a_listener_comes_back_after_a_crash(server: embedded.Embedded) -> None:
    async with Listener(server.dsn, ["timers"]) as listener:
        timers = listener.subscribe("timers")
        assert (await timers.wait(LONG)).cause is Cause.MISSED
        await crash(server)
        assert (await timers.wait(timedelta(milliseconds=5))).cause is Cause.POLLED
        await server.ensure_running()
        assert (await timers.wait(LONG)).cause is Cause.MISSED


async def test_a_running_server_is_left_alone(server: embedded.Embedded) -> None:
    before = (server.pgdata / "postmaster.pid").read_text()
    await server.ensure_running()
    assert (server.pgdata / "postmaster.pid").read_text() == before
