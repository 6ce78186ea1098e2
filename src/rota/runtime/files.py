"""What a server leaves in its data folder: its address and a key, so that commands find it, and
credentials that there was no terminal to show on.

All are files that only their owner can read. They are written whole under another name first, so
that a reader never sees half of one, and never through a link that stands in their place.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Final

from rota.config.server import KEY_FILE, URL_FILE

if TYPE_CHECKING:
    from pathlib import Path

URL: Final = URL_FILE
KEY: Final = KEY_FILE
FIRST_KEY: Final = "first-admin-key"
SIGN_IN_LINK: Final = "sign-in-link"


def read(folder: Path, name: str) -> str | None:
    """The text of one of the files; None when there is none."""
    try:
        return (folder / name).read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def write(folder: Path, name: str, text: str) -> None:
    """Make or replace one of the files: mode 0600 from its first byte."""
    draft = folder / f".{name}.{secrets.token_hex(4)}"
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(folder / name)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def forget(folder: Path, name: str, text: str) -> None:
    """Remove the file, unless it says something else by now: then it is another server's."""
    if read(folder, name) == text:
        (folder / name).unlink(missing_ok=True)
