"""Behind a connection pooler: a real PgBouncer, real servers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.process import pgbouncer
from tests.process.pgbouncer import pooling
from tests.process.serving import Server, Target, eventually, serving, target
from tests.process.test_cli_program import run

from rota.db import Database, Session, driver
from rota.db.pooler import Mode, mode_of
from rota.queue.enqueue import EnqueueRequest, enqueue
from rota.tenants import keys
from rota.tenants import service as tenants

if TYPE_CHECKING:
    from tests.conftest import Postgres


ADMIN = keys.new().text
HERE = Path(__file__).parent
SECOND = timedelta(seconds=1)
_SCHEDULES = 4

_OURS = """
    SELECT application_name AS name, count(*) AS count FROM pg_stat_activity
     WHERE datname = current_database() AND application_name LIKE 'rota%'
     GROUP BY application_name
"""
_LEFT = """
    SELECT concat_ws(' ', current_setting('search_path'), current_setting('jit'),
                     current_setting('enable_seqscan'), current_setting('TimeZone'),
                     current_setting('statement_timeout'), current_user,
                     coalesce(current_setting('rota.tenant', true), ''),
                     (SELECT count(*) FROM pg_prepared_statements WHERE name <> ''),
                     (SELECT count(*) FROM pg_locks
                       WHERE locktype = 'advisory' AND pid = pg_backend_pid()))
"""


@pytest.fixture(autouse=True, scope="module")
def _there_is_one() -> None:
    if pgbouncer.find() is None:
        if pgbouncer.is_required():
            pytest.fail(pgbouncer.MISSING)
        pytest.skip(pgbouncer.MISSING)


@pytest.fixture(autouse=True)
async def _every_second(db: Database) -> None:
    async with db.transaction() as tx:
        await tenants.default_tenant(tx, min_interval=SECOND)


def _folder(path: Path, name: str) -> Path:
    folder = path / name
    folder.mkdir()
    return folder


def _beside(server: Server) -> dict[str, str]:
    return {"ROTA_URL": server.url, "ROTA_API_KEY": ADMIN}


def _add(server: Server, sink: Target, name: str) -> None:
    added = server.rota(
        "add", name, "every 1 second", sink.url, "--overlap", "allow", **_beside(server)
    )
    assert added.code == 0, added.err


async def _left_behind(pooled: str) -> set[str]:
    """What sessions of the server look like to a stranger behind the same pooler."""
    session = Session(application_name="stranger", is_pooled=True)
    found: set[str] = set()
    strangers = [await driver.connect(pooled, session) for _ in range(4)]
    try:
        # At once, so that each has another session.
        for each in strangers:
            await each.execute("BEGIN")
        for each in strangers:
            found.add(await each.fetchval(_LEFT))
    finally:
        for each in strangers:
            await each.close()
    return found


async def test_schedules_fire_every_second_through_transaction_pooling(
    tmp_path: Path, dsn: str, db: Database, postgres: Postgres
) -> None:
    name = urlsplit(dsn).path.removeprefix("/")
    # As distributions ship it; the embedded server has it off.
    await postgres.order(f"ALTER DATABASE {name} SET jit = on")
    with pooling(tmp_path, dsn) as pooled, target() as sink:
        before = await _left_behind(pooled)
        ways = ("--dsn", pooled, "--direct-dsn", dsn)
        with serving(tmp_path, *ways, ROTA_ADMIN_KEY=ADMIN) as server:
            _add(server, sink, "tick")
            calls = [sink.next_call(within=60) for _ in range(6)]
            slots = sorted(datetime.fromisoformat(c.headers["rota-scheduled-for"]) for c in calls)
            assert {later - slot for slot, later in pairwise(slots)} == {SECOND}
            async with db.transaction(read_only=True) as tx:
                ours = {row["name"]: row["count"] for row in await tx.fetch(_OURS)}
            direct = ours["rota node"] + ours["rota listen"]
            assert (ours["rota node"], direct) == (1, 3), "engine: two; web process: one"
            checked = run(tmp_path, "doctor", *ways, "--json").json["checks"]
            assert run(tmp_path, "migrate", "--check", *ways).code == 0
            assert server.stop() == 0
        lossy = {"fsync", "full_page_writes"}  # as the tests' server is set
        assert {c["name"] for c in checked if c["ok"] is False} <= lossy
        assert [c["found"] for c in checked if c["name"] == "pooler"] == [
            "transaction mode, with direct connections past it"
        ]
        assert await _left_behind(pooled) == before
    async with db.transaction(read_only=True) as tx:
        ended = await tx.fetch("SELECT DISTINCT status FROM firings")
    assert [row["status"] for row in ended] == ["succeeded"]


async def test_another_node_takes_over_through_transaction_pooling(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    one, two = _folder(tmp_path, "one"), _folder(tmp_path, "two")
    with (
        pooling(tmp_path, dsn) as pooled,
        target() as sink,
        serving(one, "--dsn", pooled, "--direct-dsn", dsn, ROTA_ADMIN_KEY=ADMIN) as first,
        serving(two, "--dsn", pooled, "--direct-dsn", dsn, ROTA_ADMIN_KEY=ADMIN),
    ):
        for number in range(_SCHEDULES):
            _add(first, sink, f"s{number}")
        left: set[str] = set()
        while len(left) < _SCHEDULES:
            left.add(sink.next_call(within=120).headers["rota-schedule-id"])
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
        async with db.transaction(read_only=True) as tx:
            killed_at: datetime = await tx.fetch_value("SELECT clock_timestamp()")
        # All go on: those that the killed node fired are fired by the other one.
        while left:
            call = sink.next_call(within=120)
            if datetime.fromisoformat(call.headers["rota-scheduled-for"]) > killed_at:
                left.discard(call.headers["rota-schedule-id"])
    async with db.transaction(read_only=True) as tx:
        twice = await tx.fetch("SELECT id FROM firings GROUP BY id HAVING count(*) > 1")
    assert not twice


async def test_tasks_run_through_transaction_pooling(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    with pooling(tmp_path, dsn) as pooled:
        program = _worker(tmp_path, ROTA_DSN=pooled, ROTA_DIRECT_DSN=dsn)
        try:
            await _enqueued(pooled, db)
            eventually((tmp_path / "me").exists, within=60)
        finally:
            program.send_signal(signal.SIGTERM)
            said = program.communicate(timeout=60)[0]
    assert program.returncode == 0, said


def _worker(home: Path, **variables: str) -> subprocess.Popen[str]:
    """A program's own worker process."""
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "LEDGER": str(home), **variables}
    return subprocess.Popen(
        [sys.executable, "-m", "rota", "worker", "worker_program:rota"],
        cwd=HERE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def _enqueued(pooled: str, db: Database) -> None:
    """Ask for a run of the task once it is known, through the pooler as well."""
    async with asyncio.timeout(120):
        while True:
            async with db.transaction(read_only=True) as tx:
                if await tx.fetch_value("SELECT count(*) FROM schedules WHERE key = 'task:who'"):
                    break
            await asyncio.sleep(0.1)  # noqa: TID251 - another process does it
    async with (
        await Database.open(pooled, is_pooled=True, pool_size=1) as shared,
        shared.transaction() as tx,
    ):
        await enqueue(tx, EnqueueRequest(task="who", payloads=[b'["me"]']))


async def test_session_pooling_and_polling_alone_are_enough(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    """No startup parameters, so a session pooler needs no settings of its own; and no LISTEN."""
    with (
        pooling(tmp_path, dsn, "session", pool_size=60) as pooled,
        target() as sink,
        serving(tmp_path, "--dsn", pooled, ROTA_LISTEN="no", ROTA_ADMIN_KEY=ADMIN) as server,
    ):
        _add(server, sink, "tick")
        for _ in range(3):
            sink.next_call(within=60)
        async with db.transaction(read_only=True) as tx:
            ours = {row["name"] for row in await tx.fetch(_OURS)}
        assert "rota node" in ours
        assert "rota listen" not in ours
        assert server.stop() == 0


async def test_what_cannot_work_is_refused_in_one_sentence(
    tmp_path: Path, dsn: str, empty_dsn: str
) -> None:
    with pooling(tmp_path, dsn) as pooled, pooling(tmp_path, dsn, "statement") as torn:
        refused = {
            ("--dsn", pooled): "dsn leads to a pooler in transaction mode, expected",
            ("--dsn", pooled, "--direct-dsn", pooled): "got a pooler in transaction mode",
            ("--dsn", pooled, "--direct-dsn", empty_dsn): "expected the database that dsn leads to",
            ("--direct-dsn", dsn): "expected the pooler's dsn next to it",
            ("--dsn", torn): "got a pooler in statement mode",
        }
        for ways, sentence in refused.items():
            shown = run(tmp_path, "serve", "--port", "0", *ways)
            assert shown.code == 1
            assert sentence in shown.err
            assert "Traceback" not in shown.err
            if "--dsn" in ways:
                checked = run(tmp_path, "doctor", *ways)
                assert checked.code == 1
                assert "Traceback" not in checked.err


async def test_the_mode_is_told_however_few_sessions_a_pooler_has(
    tmp_path: Path, dsn: str, postgres: Postgres
) -> None:
    assert await mode_of(dsn) is Mode.DIRECT
    assert await mode_of(postgres.dsn) is Mode.DIRECT
    for size in (1, 2, 20):
        with pooling(tmp_path, dsn, pool_size=size) as pooled:
            assert await mode_of(pooled) is Mode.TRANSACTION
        with pooling(tmp_path, dsn, "session", pool_size=size) as pooled:
            assert await mode_of(pooled) is Mode.SESSION
    with pooling(tmp_path, dsn, "statement") as pooled:
        assert await mode_of(pooled) is Mode.STATEMENT
