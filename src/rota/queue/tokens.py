"""Tokens: what whoever does the work proves its claim with.

A token is made of (firing, attempt) with a key of the installation's, so nothing is stored for it,
any node can check it, and the token of an earlier attempt is another. It is the authority to
complete, fail or extend that one attempt and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from uuid import UUID

PREFIX: Final = "rft_"
_MAX_LENGTH = 100
_CONTEXT = b"rota claim\0"


class Tokens:
    """Makes and checks tokens. It shows nothing of its key."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        if len(key) < 16:
            raise ValueError(f"expected a key of at least 16 bytes, got {len(key)}")
        self._key = key

    def token(self, firing_id: UUID, attempt: int) -> str:
        """The token of this attempt."""
        message = _CONTEXT + firing_id.bytes + attempt.to_bytes(4, "big")
        digest = hmac.digest(self._key, message, hashlib.sha256)
        return PREFIX + base64.urlsafe_b64encode(digest).decode().rstrip("=")

    def attempt_of(self, token: str, firing_id: UUID, *, last: int) -> int | None:
        """Which attempt of the firing, up to the `last`, the token is of; None when it is of none.

        Looks at every one of them, whatever it finds: how long it takes tells nothing.
        """
        if len(token) > _MAX_LENGTH or not token.isascii():
            return None
        found = None
        for attempt in range(1, last + 1):
            if hmac.compare_digest(self.token(firing_id, attempt), token):
                found = attempt
        return found
