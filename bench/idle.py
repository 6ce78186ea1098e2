"""What two servers cost that have nothing to do: processor time of PostgreSQL and of Rota."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests import debian

from bench.frame.discover import Benchmark
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.db import Session as DatabaseSession
from rota.db import driver, embedded

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from bench.frame.measure import Session

SERVERS: Final = 2
POSTGRES_GOAL: Final = 0.05
ROTA_GOAL: Final = 0.04
MOST_RUNS: Final = 3

_CLOCK = SystemClock()
_SETTLED = timedelta(seconds=30)
_WINDOW = timedelta(seconds=60)
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")

_METHOD = (
    (
        "Two processes of `rota serve` (each an engine and its web process) on an empty database, "
        f"{_SETTLED.total_seconds():g} s after they have started. Processor time as Linux counts "
        f"it, of all processes of the PostgreSQL server and of all of Rota's, over windows of "
        f"{_WINDOW.total_seconds():g} s. Other work on the machine makes the same instructions "
        "take longer, so a busy one shows more."
    ),
    (
        "On the distribution's own PostgreSQL as it is shipped (jit on; durability off, which "
        "matters little to servers that write nothing), and on the embedded one."
    ),
)


def run(session: Session) -> list[Row]:
    """Both servers, as far as they are there."""
    return asyncio.run(_run(session))


async def _run(session: Session) -> list[Row]:
    rows: list[Row] = []
    if debian.find_postgresql() is not None:
        with debian.postgresql() as dsn:
            rows += await _rows(session, "the distribution's PostgreSQL", dsn)
    async with _embedded() as dsn:
        rows += await _rows(session, "embedded PostgreSQL", dsn)
    for row in rows:
        session.tell(row)
    return rows


@asynccontextmanager
async def _embedded() -> AsyncGenerator[str]:
    with tempfile.TemporaryDirectory(prefix="rota-bench-", ignore_cleanup_errors=True) as folder:
        home = Path(folder) / "data"
        server = await embedded.start(home)
        try:
            yield server.dsn
        finally:
            await server.stop()
            await asyncio.shield(embedded.remove(home))


async def _rows(session: Session, title: str, dsn: str) -> list[Row]:
    postgres: list[float] = []
    rota: list[float] = []
    postmaster = await _postmaster(dsn)
    session.at(title, "starting")
    with tempfile.TemporaryDirectory(prefix="rota-bench-") as folder, _serving(folder, dsn) as pids:
        await _CLOCK.sleep(_SETTLED)
        for number in range(min(session.rounds, MOST_RUNS)):
            session.at(title, f"window {number + 1}")
            before = _seconds(postmaster), sum(map(_seconds, pids)), _CLOCK.monotonic()
            await _CLOCK.sleep(_WINDOW)
            took = _CLOCK.monotonic() - before[2]
            postgres.append((_seconds(postmaster) - before[0]) / took)
            rota.append((sum(map(_seconds, pids)) - before[1]) / took)
    return [
        _row(f"PostgreSQL, two idle servers on {title}", postgres, POSTGRES_GOAL),
        _row(f"Rota, two idle servers on {title}", rota, ROTA_GOAL),
    ]


@contextmanager
def _serving(folder: str, dsn: str) -> Generator[list[int]]:
    command = [sys.executable, "-m", "rota", "serve", "--port", "0", "--dsn", dsn]
    environment = {"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    processes = [
        subprocess.Popen(
            [*command, "--data-dir", f"{folder}/{number}"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        for number in range(SERVERS)
    ]
    try:
        for each in processes:
            # The line that says where it is: both of its processes have started.
            assert each.stdout is not None
            assert each.stdout.readline(), "the server ended"
        yield [each.pid for each in processes]
    finally:
        for each in processes:
            each.terminate()
        for each in processes:
            each.wait()


async def _postmaster(dsn: str) -> int:
    """The parent of all processes of the server."""
    connection = await driver.connect(dsn, DatabaseSession())
    try:
        return int(_stat(await connection.fetchval("SELECT pg_backend_pid()"))[1])
    finally:
        await connection.close()


def _seconds(pid: int) -> float:
    """Processor time of a process and all below it, also of those that have ended."""
    ticks = sum(map(int, _stat(pid)[11:15]))
    below = [child for each in (_PROC / str(pid) / "task").iterdir() for child in _children(each)]
    return ticks / _TICKS + sum(map(_running_seconds, below))


def _running_seconds(pid: int) -> float:
    try:
        return _seconds(pid)
    except OSError:
        return 0.0


def _children(task: Path) -> list[int]:
    return [int(each) for each in (task / "children").read_text("ascii").split()]


def _stat(pid: int) -> list[str]:
    """After the name, which may hold anything, in its parentheses."""
    return (_PROC / str(pid) / "stat").read_text("ascii").rpartition(")")[2].split()


def _row(title: str, runs: list[float], goal: float) -> Row:
    return Row(title, "cores", Figure("Rota", tuple(runs)), goal=Goal(goal), better="less")


BENCHMARK = Benchmark("Idle servers", (), _METHOD, run)
