"""A real PgBouncer in front of the tests' server: found on this machine, or installed.

`make test` runs this first. Without one, the tests of poolers are skipped; on CI that is a failure.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests import debian
from tests.ports import reserve_port
from tests.process.serving import eventually

if TYPE_CHECKING:
    from collections.abc import Generator

Mode = Literal["session", "transaction", "statement"]

MISSING = (
    "No PgBouncer was found, and Rota behind poolers is tested with one. Install it (on Debian or "
    "Ubuntu: apt-get install pgbouncer)."
)
_FOLDERS = "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"

_CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {pool_size}
max_client_conn = 500
"""


def find() -> str | None:
    """Where it is; not always on the path of those who are not root."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path=_FOLDERS)


def is_required() -> bool:
    """Whether tests without it count as failed."""
    return debian.is_required("REQUIRE_POOLER")


@contextmanager
def pooling(
    folder: Path, dsn: str, mode: Mode = "transaction", *, pool_size: int = 20
) -> Generator[str]:
    """The DSN of the same database behind a pooler, for as long as the block lasts."""
    program = find()
    assert program is not None, MISSING
    port = reserve_port()
    file = folder / f"pgbouncer-{mode}-{port}.ini"
    text = _CONFIGURATION.format(server=_server(dsn), port=port, mode=mode, pool_size=pool_size)
    file.touch(0o600)
    file.write_text(text, "utf-8")
    command = [program, *_account(dsn), str(file)]
    with (folder / "pgbouncer.log").open("ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        eventually(lambda: process.poll() is not None or _answers(port))
        assert process.poll() is None, (folder / "pgbouncer.log").read_text("utf-8")
        yield f"postgresql://rota@127.0.0.1:{port}{urlsplit(dsn).path}"
    finally:
        process.kill()
        process.wait()


def _server(dsn: str) -> str:
    """How PgBouncer reaches the server, whoever asks."""
    parts = urlsplit(dsn)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    password = parts.password and unquote(parts.password)
    if password is None and "passfile" in asked:
        password = Path(asked["passfile"]).read_text("utf-8").strip().rpartition(":")[2]
    found = {
        "host": asked.get("host") or parts.hostname or "127.0.0.1",
        "port": asked.get("port") or str(parts.port or 5432),
        "user": parts.username or "postgres",
    }
    if password is not None:
        found["password"] = password
    return " ".join(f"{name}='{value}'" for name, value in found.items())


def _account(dsn: str) -> list[str]:
    """As whom it runs: never root, and as the owner of a socket that nobody else may use."""
    if os.geteuid() != 0:
        return []
    folder = parse_qs(urlsplit(dsn).query).get("host", [""])[0]
    owner = Path(folder).stat().st_uid if folder.startswith("/") else 0
    return ["-u", pwd.getpwuid(owner).pw_name if owner else "nobody"]


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def main() -> int:
    """See to it that there is one; fails only where it is required."""
    if find() is None:
        debian.install("pgbouncer")
    if find() is not None:
        return 0
    debian.say(MISSING)
    return 1 if is_required() else 0


if __name__ == "__main__":
    sys.exit(main())
