"""`rota demo`: it starts by itself, shows firings, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.process.serving import eventually
from tests.process.test_cli_program import run

if TYPE_CHECKING:
    from pathlib import Path


def test_it_shows_firings_and_ends_by_itself(tmp_path: Path) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    shown = run(tmp_path, "demo", "--seconds", "8", "--port", "0", TMPDIR=str(scratch))
    assert shown.code == 0, shown.err
    assert re.search(r"Rota is at http://127\.0\.0\.1:\d+", shown.out)
    assert re.search(r"signs you in once is in this file: /\S+/sign-in-link", shown.out)
    assert "token=" not in shown.out
    assert len(re.findall(r"heartbeat +succeeded +HTTP 200", shown.out)) >= 2
    assert re.search(r"flaky +retrying +HTTP 503", shown.out)
    assert "Traceback" not in shown.err
    assert list(scratch.iterdir()) == []
    # Nothing of it in the user's own folder either.
    assert not (tmp_path / ".local").exists()


def test_a_database_of_a_real_server_is_never_touched(tmp_path: Path) -> None:
    shown = run(
        tmp_path, "demo", "--seconds", "1", "--port", "0", ROTA_DSN="postgresql://x@127.0.0.1:9/x"
    )
    assert shown.code == 0, shown.err


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("marker", "times"),
    [
        # Modules, in the order in which they are imported: of the command line, of the engine.
        ("typer", 1),
        ("asyncpg.connection", 1),
        ("rota.runtime.serve", 1),
        ("Starting PostgreSQL", 1),
        ("/data", 1),
        ("Ctrl-C ends it.", 1),
        ("Ctrl-C ends it.", 3),
        ("Stopped", 1),
    ],
)
def test_ctrl_c_is_quiet_whenever_it_comes(tmp_path: Path, marker: str, times: int) -> None:
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    seconds = ("--seconds", "1") if marker == "Stopped" else ()
    command = (sys.executable, "-X", "importtime", "-u", "-m", "rota", "demo", "--port", "0")
    said: list[str] = []
    with subprocess.Popen(
        (*command, *seconds),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "TMPDIR": str(scratch)},
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                said.append(line)
                if _is_reached(line, "Starting PostgreSQL" if marker == "/data" else marker):
                    break
            if marker == "/data":
                # PostgreSQL is being started: its folder is there.
                eventually(lambda: any(scratch.glob("rota-demo-*/data*")), within=300)
            for _ in range(times):
                process.send_signal(signal.SIGINT)
            said += process.stdout
            code = process.wait()
        finally:
            process.kill()
    shown = "".join(line for line in said if not line.startswith("import time:"))
    assert any(_is_reached(line, marker) for line in said) or marker == "/data", shown
    assert "Traceback" not in shown, shown
    assert "KeyboardInterrupt" not in shown, shown
    assert "rror" not in shown, shown
    # In a shell, 130 is what an end by the signal itself is.
    assert code in (0, 130, -signal.SIGINT), shown
    assert list(scratch.iterdir()) == []


def _is_reached(line: str, marker: str) -> bool:
    if line.startswith("import time:"):
        return line.rpartition("|")[2].strip() == marker
    return marker in line
