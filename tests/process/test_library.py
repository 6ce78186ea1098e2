"""Programs that use Rota as a library, as real processes on one database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.deadlines import patience

if TYPE_CHECKING:
    from collections.abc import Callable

    from rota.db import Database

PROGRAM = Path(__file__).with_name("library_program.py")
SLOTS = 3


def start(dsn: str, home: Path, *arguments: str, **more: str) -> subprocess.Popen[str]:
    environment = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "ROTA_DSN": dsn,
        "LEDGER": str(home / "ledger"),
        **more,
    }
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=PROGRAM.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def until(holds: Callable[[], bool], *, within: float = 40) -> None:
    end = time.monotonic() + patience(within)  # noqa: TID251 - of another process
    while not holds():
        assert time.monotonic() < end, "it never came"  # noqa: TID251 - as above
        time.sleep(0.05)  # noqa: TID251 - as above


def runs(home: Path) -> list[tuple[int, int]]:
    """Slot and process of every run so far."""
    ledger = home / "ledger"
    lines = ledger.read_text("utf-8").splitlines() if ledger.exists() else []
    return [(int(slot), int(pid)) for slot, pid in (line.split() for line in lines)]


def require_each_slot_once(home: Path) -> None:
    counts = Counter(slot for slot, _ in runs(home))
    assert set(counts.values()) == {1}, counts
    assert sorted(counts) == list(range(min(counts), max(counts) + 1)), "a slot is missing"


async def test_four_processes_of_one_program_run_each_slot_once(
    dsn: str, db: Database, tmp_path: Path
) -> None:
    """Safe to run in every replica: one firing for each slot."""
    processes = [start(dsn, tmp_path, str(PROGRAM)) for _ in range(4)]
    try:
        until(lambda: len(runs(tmp_path)) >= SLOTS)
        # One of them leaves, and the others go on.
        processes[0].send_signal(signal.SIGTERM)
        seen = len(runs(tmp_path))
        until(lambda: len(runs(tmp_path)) >= seen + 2)
    finally:
        for process in processes[1:]:
            process.send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=patience(30))[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0, 0], said
    require_each_slot_once(tmp_path)
    async with db.transaction() as tx:
        made = await tx.fetch_value("SELECT count(*) FROM schedules WHERE key = 'tick'")
        assert made == 1
        assert await tx.fetch_value("SELECT version FROM schedules WHERE key = 'tick'") == 1


def test_a_web_server_with_workers_runs_each_slot_once(dsn: str, tmp_path: Path) -> None:
    """Safe in every worker of a web server: one line in the app, one firing for each slot."""
    app = tmp_path / "web.py"
    app.write_text(
        "from fastapi import FastAPI\n"
        "from library_program import rota\n"
        "app = FastAPI(lifespan=rota.lifespan)\n"
    )
    server = start(
        dsn, tmp_path, "-m", "uvicorn", "web:app", "--workers", "2", "--port", "0",
        "--app-dir", str(tmp_path),
    )  # fmt: skip
    try:
        until(lambda: len(runs(tmp_path)) >= SLOTS)
    finally:
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=patience(30))[0]
    assert server.returncode == 0, said
    require_each_slot_once(tmp_path)


def test_a_fork_starts_its_own_and_cannot_use_its_parents(dsn: str, tmp_path: Path) -> None:
    process = start(dsn, tmp_path, str(PROGRAM), "fork")
    said = process.communicate(timeout=patience(40))[0]
    assert process.returncode == 0, said
    assert "started in process" in said
    assert "start it in each process after the fork" in said
    assert "started after the fork" in said


async def test_two_programs_on_one_database_leave_each_others_slots_alone(
    dsn: str, db: Database, tmp_path: Path
) -> None:
    """With default settings, and the same function: neither claims what is the other's."""
    homes = {name: tmp_path / name for name in ("shop", "mail")}
    for home in homes.values():
        home.mkdir()
    programs = {name: start(dsn, home, str(PROGRAM), PROGRAM=name) for name, home in homes.items()}
    try:
        until(lambda: all(len(runs(home)) >= SLOTS + 2 for home in homes.values()))
    finally:
        for program in programs.values():
            program.send_signal(signal.SIGTERM)
        said = {
            name: program.communicate(timeout=patience(30))[0] for name, program in programs.items()
        }
    assert not any("unknown" in each for each in said.values()), said
    for name, home in homes.items():
        require_each_slot_once(home)
        assert {pid for _, pid in runs(home)} == {programs[name].pid}
    async with db.transaction() as tx:
        tries = await tx.fetch("SELECT DISTINCT attempt, status FROM firings")
    assert [(row["attempt"], row["status"]) for row in tries] == [(1, "succeeded")]
