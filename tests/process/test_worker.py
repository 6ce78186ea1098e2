"""`rota worker`: several processes, one of which dies, and all of which end in order."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.deadlines import patience
from tests.process.test_library import until

from rota.queue.enqueue import EnqueueRequest, enqueue

if TYPE_CHECKING:
    from rota.db import Database

HERE = Path(__file__).parent


def start(dsn: str, home: Path) -> subprocess.Popen[str]:
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ROTA_DSN": dsn,
        "LEDGER": str(home),
    }
    options = ["--queues", "workshop", "--concurrency", "2", "--processes", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "rota", "worker", "worker_program:rota", *options],
        cwd=HERE,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def ask(db: Database, payload: str) -> None:
    async with db.transaction() as tx:
        await enqueue(tx, EnqueueRequest(task="who", payloads=[payload.encode()]))


async def is_declared(db: Database) -> bool:
    async with db.transaction() as tx:
        return bool(await tx.fetch_value("SELECT count(*) FROM schedules WHERE key = 'task:who'"))


async def test_processes_are_kept_alive_and_drained(dsn: str, db: Database, tmp_path: Path) -> None:
    """Issue 6, 3: `rota worker module:app --queues … --concurrency … --processes 2`."""
    program = start(dsn, tmp_path)
    said = ""
    one, last = tmp_path / "one", tmp_path / "last"
    try:
        async with asyncio.timeout(patience(40)):
            while not await is_declared(db):  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.05)  # noqa: TID251 - as above
        await ask(db, '["one", 3]')
        until(lambda: one.exists() and bool(one.read_text()))
        dead = one.read_text()
        os.kill(int(dead), signal.SIGKILL)
        until(lambda: one.read_text() not in {"", dead})  # another runs it anew
        await ask(db, '["last", 1]')
        until(last.exists)
    finally:
        program.send_signal(signal.SIGTERM)
        said = program.communicate(timeout=patience(30))[0]
    assert program.returncode == 0, said
    assert "ended by itself (SIGKILL); another is started in" in said
    async with db.transaction() as tx:
        ended = await tx.fetch("SELECT status FROM firings")
    assert [row["status"] for row in ended] == ["succeeded"] * 2, "what ran was finished first"
