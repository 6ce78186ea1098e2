"""Where the server's socket is, so that its name fits and nobody else can come to it."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from urllib.parse import quote

from rota.db.embedded.layout import Home, make_private
from rota.db.embedded.password import SUPERUSER
from rota.db.embedded.settings import PORT
from rota.errors import EmbeddedError

DATABASE = "rota"

_MAX_PATH = 103  # bytes: 107 on Linux, 103 on macOS

# A comma separates folders for both the server and the driver; the rest is caution.
_PLAIN = re.compile(r"[A-Za-z0-9/._+@-]+")


def socket_dir(home: Home) -> Path:
    """The folder for the socket: the cluster's own, or a short one when that name is too long."""
    if _fits(home.socket):
        return home.socket
    digest = hashlib.sha256(str(home.pgdata).encode()).hexdigest()[:16]
    for parent in (Path("/tmp"), Path(tempfile.gettempdir())):  # noqa: S108 - it is made 0700
        short = parent / f"rota-{home.account.uid}-{digest}"
        if parent.is_dir() and _fits(short):
            make_private(short, home.account)
            return short
    raise EmbeddedError(f"found no folder whose name is short enough for a socket of {home.pgdata}")


def tidy(home: Home, used: Path) -> None:
    """Remove the short folder after the server has stopped."""
    if used != home.socket and used.is_dir():
        for name in (f".s.PGSQL.{PORT}", f".s.PGSQL.{PORT}.lock"):
            (used / name).unlink(missing_ok=True)
        used.rmdir()


def dsn(folder: Path, passfile: Path, *, database: str = DATABASE) -> str:
    """How to connect to the server whose socket is in `folder`. It is no secret: the password is in
    `passfile`."""
    host, file = (quote(str(each), safe="") for each in (folder, passfile))
    return f"postgresql://{SUPERUSER}@/{database}?host={host}&port={PORT}&passfile={file}"


def _fits(folder: Path) -> bool:
    name = f"{folder}/.s.PGSQL.{PORT}"
    return len(name.encode()) <= _MAX_PATH and _PLAIN.fullmatch(str(folder)) is not None
