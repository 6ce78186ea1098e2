"""The tokens in ping URLs: whoever has one may ping that monitor, and nothing else.

A token is the schedule's id and a digest of it with the installation's key: nothing is stored for
it, any node can check it, and nobody can guess it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final
from uuid import UUID

PATH: Final = "/ping/"

_CONTEXT = b"rota ping\0"
_ID = 16
_DIGEST = 16
_LENGTH = 43


def make(key: bytes, schedule_id: UUID) -> str:
    """The token of this schedule."""
    content = schedule_id.bytes + _digest(key, schedule_id.bytes)
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def read(key: bytes, token: str) -> UUID | None:
    """Whose token it is; None when it is none of ours."""
    if len(token) != _LENGTH or not token.isascii():
        return None
    try:
        content = base64.b64decode(f"{token}=", altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    id_, digest = content[:_ID], content[_ID:]
    return UUID(bytes=id_) if hmac.compare_digest(digest, _digest(key, id_)) else None


def _digest(key: bytes, id_: bytes) -> bytes:
    return hmac.digest(key, _CONTEXT + id_, hashlib.sha256)[:_DIGEST]
