"""Where a process has its ring from: the environment, or a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidConfig
from rota.tenants.secrets import ring as rings
from rota.tenants.secrets.ring import NoSecretKeys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rota.config import Config
    from rota.tenants.secrets.ring import Ring

FILE_NAME: Final = "secret_keys"
"""Of the embedded server's ring, in its data folder."""

_MAX_FILE = 64 * 1024


class Rings:
    """Gives the ring as it is now: a file is read again when it has changed."""

    def __init__(self, read: Callable[[], Ring] | None, path: Path | None = None) -> None:
        self._read = read
        self.path = path
        """The file, when it is one."""
        self._stamp: object = _stamp(path)
        self._ring = read() if read else None

    @staticmethod
    def of(config: Config) -> Rings:
        """As configured; the embedded server's is the file in its data folder.

        Raises InvalidConfig for keys that cannot be used: a process must not start and find out
        later.
        """
        path = file_of(config)
        if config.secret_keys is not None and path is not None:
            raise InvalidConfig(
                ("secret_keys: expected it or secret_keys_file, got both; leave one of them out",)
            )
        if config.secret_keys is not None:
            return Rings.fixed(rings.parse(config.secret_keys, where="secret_keys"))
        return Rings(None) if path is None else Rings.in_file(path)

    @staticmethod
    def fixed(ring: Ring) -> Rings:
        return Rings(lambda: ring)

    @staticmethod
    def in_file(path: Path) -> Rings:
        return Rings(lambda: read_file(path), path)

    @property
    def is_there(self) -> bool:
        return self._ring is not None

    def now(self) -> Ring:
        """NoSecretKeys when there is none."""
        if self._read is None or self._ring is None:
            raise NoSecretKeys
        stamp = _stamp(self.path)
        # Without a stamp the file is away, perhaps being replaced: what was read is still good.
        if stamp is not None and stamp != self._stamp:
            self._ring = self._read()
            self._stamp = stamp
        return self._ring


def file_of(config: Config) -> Path | None:
    """The file that holds the ring by this configuration; None when no file does."""
    if config.secret_keys_file is not None:
        return config.secret_keys_file
    is_embedded = config.dsn is None and config.secret_keys is None
    return config.data_dir / FILE_NAME if is_embedded else None


def read_file(path: Path) -> Ring:
    """The ring in a file that nobody but its owner can read."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(_MAX_FILE + 1)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise InvalidConfig((f"{path}: expected a file of secret keys, got {why}",)) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        got = f"got mode {stat.S_IMODE(mode):04o}; run chmod 600 on it"
        raise InvalidConfig((f"{path}: expected a file that only its owner can read, {got}",))
    if len(content) > _MAX_FILE or not content.isascii():
        raise InvalidConfig((f"{path}: expected lines of id:base64key, got something else",))
    return rings.parse(content.decode("ascii"), where=str(path))


def make_file(path: Path) -> None:
    """A file with one new key, unless another process was faster."""
    draft = _draft(path, [rings.new_entry("k1")])
    try:
        # Linked and not renamed: of two that start together, both must use the first one's key.
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def add_key(path: Path) -> str:
    """Put a new key in front of the file's others; returns its id."""
    before = read_file(path)
    key_id = rings.next_id(before.ids)
    kept = path.read_text("ascii").splitlines()
    _draft(path, [rings.new_entry(key_id), *kept]).replace(path)
    return key_id


def _draft(path: Path, lines: list[str]) -> Path:
    """A whole file under another name, beside `path`: mode 0600 from its first byte."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write("".join(f"{line}\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
    return draft


def _stamp(path: Path | None) -> object:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size
