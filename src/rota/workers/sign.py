"""Signing a request the way of Standard Webhooks 1.0 (S13). Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"

HIDDEN: Final = "…"
"""In place of a value that is not to be seen."""


def unsigned_headers(firing_id: str, at: datetime) -> dict[str, str]:
    """The headers of a request that is yet to be signed: the id is the same for every attempt, the
    time is the attempt's."""
    return {
        ID: firing_id,
        TIMESTAMP: str(int(at.timestamp())),
        SIGNATURE: HIDDEN,
    }


def signature(keys: Iterable[bytes], *, id_: str, timestamp: str, body: bytes) -> str:
    """One signature for each key, in their order: a receiver is content with any it can verify."""
    message = b".".join((id_.encode(), timestamp.encode(), body))
    return " ".join(_v1(key, message) for key in keys)


def _v1(key: bytes, message: bytes) -> str:
    digest = hmac.digest(key, message, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"
