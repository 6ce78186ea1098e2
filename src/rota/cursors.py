"""Where a list goes on, as an opaque text. Pure.

A place names a row, not an offset, so rows that come and go between two pages neither repeat nor
vanish. It is not a secret and proves nothing: whatever it says, the tenant's own rows are read.
"""

from __future__ import annotations

import base64
from typing import TypeVar

import msgspec

T = TypeVar("T")

_MAX_LENGTH = 500


def encode(place: object) -> str:
    """The text for a place: any tuple or Struct of plain values."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def decode(text: str, kind: type[T]) -> T:
    """The place that a text names; ValueError when it is not one of ours."""
    # Cut rather than measured: what is left of a text that is too long is no cursor.
    cut = text[:_MAX_LENGTH]
    content = base64.b64decode(cut + "=" * (-len(cut) % 4), altchars=b"-_", validate=True)
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise ValueError(f"expected {kind}, got something else") from error
