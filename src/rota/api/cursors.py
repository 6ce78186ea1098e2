"""Where a list goes on: an opaque text that says after which row, and refuses to be anything else.

A cursor names a row, not an offset, so rows that come and go between two pages neither repeat nor
vanish. It is not a secret and proves nothing: whatever it says, the tenant's own rows are read.
"""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

import msgspec

from rota.api.problems import Refused, bad_field, shown

T = TypeVar("T")

_MAX_LENGTH = 500


def encode(place: object) -> str:
    """The text for a place: any tuple or Struct of plain values."""
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def decode(text: str | None, kind: type[T]) -> T | None:
    """The place that a cursor names; a problem with `cursor` when it is not one of ours."""
    if text is None:
        return None
    try:
        # Cut rather than measured: what is left of a text that is too long is no cursor.
        padded = text[:_MAX_LENGTH] + "=" * (-len(text[:_MAX_LENGTH]) % 4)
        content = base64.b64decode(padded, altchars=b"-_", validate=True)
        return msgspec.json.decode(content, type=kind)
    except (ValueError, binascii.Error, msgspec.MsgspecError) as error:
        raise refused(text) from error


def refused(text: str) -> Refused:
    """A text that is no cursor of ours."""
    return bad_field("cursor", f"expected the next_cursor of an earlier page, got {shown(text)}")
