"""Debian's own packages, for tests that need another program: installed where that can be done.

`python -m tests.debian ARGUMENTS` runs pytest on Debian's own PostgreSQL (`make test-debian`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.ports import reserve_port

if TYPE_CHECKING:
    from collections.abc import Generator

MISSING = "No PostgreSQL was found in /usr/lib/postgresql (on Debian: apt-get install postgresql)."

_PATIENCE = ("-o", "DPkg::Lock::Timeout=300")


def is_required(variable: str) -> bool:
    """Whether tests without the program count as failed: asked for by name, or because of CI."""
    asked = os.environ.get(variable) or os.environ.get("CI", "")
    return asked.lower() not in ("", "0", "false")


def install(*packages: str) -> None:
    """Install them if this is root on such a system; what went wrong is told."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    say(f"Installing {' and '.join(packages)} for the tests …")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for step in (("update",), ("install", "--yes", "--no-install-recommends", *packages)):
        done = subprocess.run(
            ["apt-get", "-qq", *_PATIENCE, *step],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=900,
            check=False,
        )
        if done.returncode != 0:
            say(f"apt-get {step[0]} failed:\n{done.stdout[-2000:]}")


def say(text: str) -> None:
    """To whoever runs the tests."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def postgresql() -> Generator[str]:
    """The DSN of a new server of this machine's own PostgreSQL, for as long as the block lasts.

    As the distribution ships it, except that a crash of the machine may lose its data, and for the
    number of connections.
    """
    programs = find_postgresql()
    assert programs is not None, MISSING
    account = "postgres" if os.geteuid() == 0 else None
    port = reserve_port()
    options = f"-p {port} -k '' -c listen_addresses=127.0.0.1 -c max_connections=300"
    options += " -c fsync=off -c full_page_writes=off"
    with tempfile.TemporaryDirectory(prefix="rota-debian-") as folder:
        if account is not None:
            shutil.chown(folder, account)
        data = f"{folder}/data"
        control = [programs / "pg_ctl", "-D", data, "-w", "-t", "120"]

        def run(*command: str | Path) -> None:
            subprocess.run(command, cwd=folder, user=account, check=True, stdout=subprocess.DEVNULL)

        run(programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust")
        run(*control, "-l", f"{folder}/log", "-o", options, "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            run(*control, "-m", "immediate", "stop")


def find_postgresql() -> Path | None:
    """Where the programs of the newest one are."""
    found = Path("/usr/lib/postgresql").glob("*/bin/pg_ctl")
    return max(
        (each.parent for each in found), key=lambda each: int(each.parent.name), default=None
    )


def main() -> int:
    """Run tests on the distribution's PostgreSQL: the arguments are those of pytest."""
    if find_postgresql() is None:
        install("postgresql")
    if find_postgresql() is None:
        say(MISSING)
        return 1
    with postgresql() as dsn:
        environment = os.environ | {"TEST_POSTGRES_DSN": dsn}
        command = [sys.executable, "-m", "pytest", *sys.argv[1:]]
        return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
