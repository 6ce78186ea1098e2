"""The real program, in its own process, with a home of its own: what all commands share."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.deadlines import patience

from rota.version import __version__


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def _environment(home: Path, variables: dict[str, str]) -> dict[str, str]:
    # Nothing is inherited but the search path: the developer's own settings must not leak in.
    return {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", **variables}


def run(home: Path, *arguments: str, **variables: str) -> Result:
    """Run `rota` to its end, with `home` as its home folder and the folder it is started in."""
    done = subprocess.run(
        [sys.executable, "-m", "rota", *arguments],
        env=_environment(home, variables),
        cwd=home,
        capture_output=True,
        encoding="utf-8",
        timeout=patience(100),
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def _on_a_terminal(home: Path, *arguments: str, **variables: str) -> str:
    """What the program shows when its output is a terminal."""
    ours, theirs = pty.openpty()
    environment = _environment(home, {"TERM": "xterm-256color", "COLUMNS": "200", **variables})
    command = [sys.executable, "-m", "rota", *arguments]
    with subprocess.Popen(command, env=environment, cwd=home, stdout=theirs, stderr=theirs):
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # the other end is closed: Linux says EIO where others say end of file
        return b""


def test_it_says_its_version(tmp_path: Path) -> None:
    assert run(tmp_path, "--version") == Result(0, f"rota {__version__}\n", "")


def test_the_installed_command_is_the_same_program(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("rota")
    shown = subprocess.run(
        [command, "--version"], env=_environment(tmp_path, {}), capture_output=True, check=True
    )
    assert shown.stdout.decode() == f"rota {__version__}\n"


def test_help_lists_the_commands(tmp_path: Path) -> None:
    shown = run(tmp_path, "--help")
    assert shown.code == 0
    for command in ("config", "migrate", "doctor"):
        assert f"  {command} " in shown.out


def test_starting_loads_neither_the_driver_nor_the_engine() -> None:
    heavy = "{'asyncpg', 'asyncio', 'rich', 'rota.db', 'pydantic', 'ulid'}"
    code = f"import sys, rota.cli; print(*({heavy} & sys.modules.keys()))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert shown.stdout.decode().strip() == ""


@pytest.mark.parametrize("arguments", [("bogus",), ("config", "check", "--prot", "1"), ("config",)])
def test_wrong_usage_exits_with_2_and_no_traceback(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    shown = run(tmp_path, *arguments)
    assert shown.code == 2
    assert "Usage: rota" in shown.out + shown.err
    assert "Traceback" not in shown.err


def test_names_are_not_read_as_markup(tmp_path: Path) -> None:
    shown = run(tmp_path, "config", "check", "--data-dir", "/tmp/[red]x[/red]:smile:")
    assert "/tmp/[red]x[/red]:smile:" in shown.out


def test_a_narrow_encoding_is_no_reason_to_fail(tmp_path: Path) -> None:
    shown = run(tmp_path, "config", "check", "--data-dir", "/tmp/ñandú-☃", PYTHONIOENCODING="ascii")
    assert shown.code == 0
    assert "\\u2603" in shown.out


def test_a_terminal_gets_colour_unless_it_asks_for_none(tmp_path: Path) -> None:
    assert "\x1b[" in _on_a_terminal(tmp_path, "config", "check")
    assert "\x1b[" in _on_a_terminal(tmp_path, "config", "check", "--port", "x")
    assert "\x1b[" not in _on_a_terminal(tmp_path, "config", "check", NO_COLOR="1")
    assert "\x1b[" not in _on_a_terminal(tmp_path, "config", "check", "--json")
