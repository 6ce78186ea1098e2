"""The password of the embedded server: made once, kept in a file that only we can read.

When root starts it, the server runs as another account. Whatever else runs as that account can open
its socket, so the socket alone must not be enough to get in.

The file is in PostgreSQL's own format, and the DSN names it (`passfile=`): the DSN itself holds no
secret, and `psql` and every driver can use it. It gets its name when the server has the password
and asks for it; until then it is a draft, and the next start begins again with the same password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rota.errors import EmbeddedError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from rota.db.embedded.layout import Home

SUPERUSER: Final = "rota"
_BYTES: Final = 32
# 256 random bits gain nothing from stretching, and it would slow down every connection.
_ITERATIONS: Final = 1
_VERIFIER: Final = "verifier-"


def is_settled(home: Home) -> bool:
    """Whether the server has the password and asks for it."""
    return home.pgpass.exists()


def file(home: Home) -> Path:
    """Where the password is: under its name, or as a draft."""
    return home.pgpass if is_settled(home) else home.pgpass_draft


def ensure(home: Home) -> None:
    """Make a password when there is none. Call it under the lock."""
    if not file(home).exists():
        line = f"*:*:*:{SUPERUSER}:{secrets.token_urlsafe(_BYTES)}\n"
        unfinished = home.control / f".{home.pgpass.name}-{secrets.token_hex(4)}"
        _write(unfinished, line)
        unfinished.rename(home.pgpass_draft)


def settle(home: Home) -> None:
    """Say that the server has the password and asks for it. Call it under the lock."""
    home.pgpass_draft.rename(home.pgpass)
    descriptor = os.open(home.control, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def forget(home: Home) -> None:
    """Remove it, with the cluster that it was for."""
    for path in (home.pgpass, home.pgpass_draft, *home.control.glob(f"{_VERIFIER}*")):
        path.unlink(missing_ok=True)


def verifier(home: Home) -> str:
    """What the server stores to check the password (RFC 5803): it opens nothing.

    Given instead of the password, so that no statement, file or log of the server ever holds it.
    """
    password = _read(home)
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, _ITERATIONS)
    stored = hashlib.sha256(_hmac(salted, b"Client Key")).digest()
    parts = (_base64(salt), _base64(stored), _base64(_hmac(salted, b"Server Key")))
    return f"SCRAM-SHA-256${_ITERATIONS}:{parts[0]}${parts[1]}:{parts[2]}"


@contextmanager
def verifier_file(home: Home) -> Generator[Path]:
    """The verifier in a file that the server's account can read, for initdb."""
    for unfinished in home.control.glob(f"{_VERIFIER}*"):
        unfinished.unlink()
    path = home.control / f"{_VERIFIER}{secrets.token_hex(4)}"
    _write(path, f"{verifier(home)}\n", owner=None if home.account.is_self else home.account.uid)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _read(home: Home) -> str:
    path = file(home)
    user, _, password = path.read_text("ascii").strip().removeprefix("*:*:*:").partition(":")
    if user != SUPERUSER or not password:
        raise EmbeddedError(f"expected a line *:*:*:{SUPERUSER}:PASSWORD in {path}, got another")
    return password


def _write(path: Path, text: str, *, owner: int | None = None) -> None:
    """A new file of mode 0600 from its first byte, on the disk when this returns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as opened:
        if owner is not None:
            os.fchown(opened.fileno(), owner, -1)
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())


def _hmac(key: bytes, text: bytes) -> bytes:
    return hmac.digest(key, text, "sha256")


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode("ascii")
