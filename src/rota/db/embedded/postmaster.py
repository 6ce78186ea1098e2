"""The server's first process: finding it, starting it, stopping it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rota.db.embedded import process, settings, sockets
from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.db.embedded.binaries import Binaries
    from rota.db.embedded.layout import Home

_PROC = Path("/proc")

# The shell leaves the server behind as nobody's child, and tells its number: the server outlives
# us, and no zombie of it remains in a process that only used it.
_LEAVE_BEHIND = '"$@" >"$0" 2>&1 </dev/null & echo $!'


@dataclass(frozen=True, slots=True)
class PidFile:
    """What `postmaster.pid` says. It outlives a postmaster that was killed."""

    pid: int
    socket_dir: Path | None
    """None while the postmaster has not come so far."""


def read_pid_file(home: Home) -> PidFile | None:
    """None when there is none, or when it is being written."""
    try:
        lines = (home.pgdata / "postmaster.pid").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return None
    if not lines or not lines[0].strip().isdecimal():
        return None
    folder = lines[4].strip() if len(lines) > 4 else ""
    return PidFile(pid=int(lines[0]), socket_dir=Path(folder) if folder else None)


def is_running(home: Home) -> bool:
    """Whether the postmaster that the file names is alive."""
    found = read_pid_file(home)
    return found is not None and is_postmaster(found.pid, home)


def is_postmaster(pid: int, home: Home) -> bool:
    """Whether that process is this cluster's postmaster, and not another one that got its number.

    A zombie is none: it has no command line.
    """
    if not is_alive(pid):
        return False
    arguments = _command_line(pid)
    return f"-D\0{home.pgdata}\0" in arguments or _is_in(pid, home.pgdata)


def is_starting(pid: int) -> bool:
    """Whether a process that was just started runs, though it may not have become PostgreSQL yet.

    In the midst of `exec` a process has no command line, for tens of milliseconds on a busy
    machine. Nor has a zombie, but that is told by its state.
    """
    return is_alive(pid) and not _is_zombie(pid)


def is_alive(pid: int) -> bool:
    """Whether a process has that number (a zombie has)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def start(
    home: Home, binaries: Binaries, *, socket_dir: Path, extra: Mapping[str, str]
) -> int:
    """Start the server and return its process id; it is not ready yet."""
    stale = read_pid_file(home)
    environment: dict[str, str] = {}
    if stale is not None and is_alive(stale.pid):
        # After a reboot or in a new container, a stranger may have the number in the file, and
        # PostgreSQL would take it for a running server and refuse. Telling it that the number is
        # its grandparent's makes it look further: at the shared memory, which cannot be mistaken.
        # The file itself must stay, because it is what leads there.
        environment["PG_GRANDPARENT_PID"] = str(stale.pid)
    done = await process.run(
        [
            "/bin/sh",
            "-c",
            _LEAVE_BEHIND,
            str(home.startup_log),
            binaries.program("postgres"),
            "-D",
            str(home.pgdata),
            *settings.arguments(socket_dir, extra),
        ],
        account=home.account,
        environment=environment,
    )
    if done.returncode != 0:
        raise EmbeddedError(f"could not start {binaries.program('postgres')}: {done.stderr}")
    return int(done.stdout)


async def stop(home: Home, binaries: Binaries) -> None:
    """Stop the server if it runs: ends sessions, writes a checkpoint, returns when it is gone."""
    found = read_pid_file(home)
    if found is None or not is_postmaster(found.pid, home):
        return
    # pg_ctl as the server's account: root must not send signals to a number in a file it
    # does not own.
    argv = [binaries.program("pg_ctl"), "stop", "-D", str(home.pgdata), "-m", "fast", "-t", "60"]
    done = await process.run(argv, account=home.account)
    if done.returncode != 0 and is_postmaster(found.pid, home):
        raise EmbeddedError(f"could not stop the server at {home.pgdata}: {done.stderr.strip()}")
    if found.socket_dir is not None:
        sockets.tidy(home, found.socket_dir)


def last_words(home: Home) -> str:
    """The end of what the server wrote, for the message when it did not start."""
    logs = [home.startup_log, *(home.pgdata / "log").glob("*.log")]
    written = [log for log in logs if log.is_file() and log.stat().st_size > 0]
    newest = sorted(written, key=lambda log: log.stat().st_mtime)[-2:]
    lines = [line for log in newest for line in _tail(log)]
    return "\n".join(lines) or "it wrote nothing"


def _tail(log: Path) -> list[str]:
    return log.read_text("utf-8", "replace").splitlines()[-10:]


def _command_line(pid: int) -> str:
    """The arguments of a process, each followed by NUL."""
    if _PROC.joinpath("self").exists():
        try:
            return _PROC.joinpath(str(pid), "cmdline").read_text("utf-8", "surrogateescape")
        except OSError:
            return ""
    # macOS. The path may hold blanks, and then only the folder tells; PostgreSQL itself still
    # refuses a second server.
    listed = subprocess.run(  # noqa: S603 - a number
        ["/bin/ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip().replace(" ", "\0") + "\0"


def _is_zombie(pid: int) -> bool:
    if _PROC.joinpath("self").exists():
        try:
            stat = _PROC.joinpath(str(pid), "stat").read_text("utf-8", "replace")
        except OSError:
            return True
        # The program's name stands in brackets before the state, and may hold any character.
        return stat.rpartition(")")[2].split()[0] in {"Z", "X"}
    listed = subprocess.run(  # noqa: S603 - a number
        ["/bin/ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip()[:1] in {"", "Z"}


def _is_in(pid: int, folder: Path) -> bool:
    """Whether the process works in that folder, as a postmaster does in its data.

    True also after the data folder was moved under a running server.
    """
    try:
        return (_PROC / str(pid) / "cwd").samefile(folder)
    except OSError:
        return False
