"""What a server says when it starts, read as the outside reads it: by its lines and files."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_LINK = "a link that signs you in once is in this file: "
_KEY = "The first admin key, remove it once you have stored it: "


def sign_in_link(lines: Iterable[str]) -> str | None:
    """The link that signs in once; None while its line has not come."""
    return _content(lines, _LINK)


def first_admin_key(lines: Iterable[str]) -> str | None:
    """The first admin key; None while its line has not come."""
    return _content(lines, _KEY)


def _content(lines: Iterable[str], words: str) -> str | None:
    line = next((each for each in list(lines) if words in each), None)
    if line is None:
        return None
    path = Path(line.rpartition(words)[2].strip())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text("utf-8").strip()
