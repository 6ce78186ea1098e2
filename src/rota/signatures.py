"""How Rota signs an HTTP request, and with which key. Pure; shared by the sender and the receiver.

Each request carries two signatures made with one key:

- `webhook-signature`: Standard Webhooks 1.0, over `id.timestamp.body`.
- `Rota-Signature`: over `call_message`, which also covers the method and everything that Rota says
  about the call in headers: schedule, slot, attempt, fence, token and so on.

The key belongs to one tenant and one target host, so that no receiver can sign for another.
`docs/guides/verify-requests.md` specifies both for other languages.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from binascii import b2a_base64
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"
CALL_SIGNATURE: Final = "Rota-Signature"

PREFIX: Final = "whsec_"
"""In front of the base64 of a key, as people are shown it."""
VERSION: Final = "v1,"
"""In front of each signature of either header."""
CALL_VERSION: Final = "rota-v1"
"""The first line of what `Rota-Signature` signs."""

_FACTS: Final = "rota-"
_INFO: Final = b"rota signing key v1\0"
_NO_SALT: Final = bytes(32)
_BLOCK: Final = 64
"""Bytes that SHA-256 takes at a time."""
_INNER_PAD: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD: Final = bytes(byte ^ 0x5C for byte in range(256))


class HmacKey:
    """HMAC-SHA256 with one key, whose two hash states are set up once and copied for each message.

    `hmac.digest` sets them up again for each message, which takes longer than hashing a short one.
    """

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = hashlib.sha256(key).digest() if len(key) > _BLOCK else key
        block = block.ljust(_BLOCK, b"\0")
        self._inner = hashlib.sha256(block.translate(_INNER_PAD))
        self._outer = hashlib.sha256(block.translate(_OUTER_PAD))

    def digest(self, message: bytes) -> bytes:
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    def signature(self, message: bytes) -> str:
        """As a header has it."""
        return VERSION + b2a_base64(self.digest(message), newline=False).decode()


# Bounded: one entry per key in use, as `host_key` has.
@lru_cache(maxsize=10_000)
def hmac_key(key: bytes) -> HmacKey:
    """The key, set up for signing."""
    return HmacKey(key)


def is_fact(name: str) -> bool:
    """Whether `call_message` covers the header of this name, given in lower case."""
    if name.startswith(_FACTS):
        return name != "rota-signature"
    return name == "idempotency-key"


# Bounded: one entry per (secret, host) in use. Deriving takes two HMACs, a hit takes none.
@lru_cache(maxsize=10_000)
def host_key(secret: bytes, host: str) -> bytes:
    """The key that signs calls to this host: HKDF-SHA256 without salt, 32 bytes."""
    extracted = hmac.digest(_NO_SALT, secret, hashlib.sha256)
    return hmac.digest(extracted, _INFO + host.encode() + b"\x01", hashlib.sha256)


def webhook_message(id_: str, timestamp: str, body: bytes) -> bytes:
    """What `webhook-signature` signs."""
    return f"{id_}.{timestamp}.".encode() + body


def call_message(
    method: str, id_: str, timestamp: str, facts: Mapping[str, str], body: bytes
) -> bytes:
    """What `Rota-Signature` signs. `facts` are the headers for which `is_fact` holds.

    ValueError where two different calls could give the same bytes: for a line break or a character
    beyond ASCII anywhere, or a colon in a header's name. HTTP permits none of them.
    """
    lines = [CALL_VERSION, id_, timestamp, method, hashlib.sha256(body).hexdigest()]
    for name, value in sorted(facts.items()):
        if ":" in name:
            raise ValueError("expected a header name without a colon")
        lines.append(f"{name}:{value}")
    message = "\n".join(lines)
    if message.count("\n") != len(lines) - 1:
        raise ValueError("expected no line break in what is signed")
    return message.encode("ascii")


def signature(keys: Iterable[bytes], message: bytes) -> str:
    """The header's value: one signature per key, in the order of the keys."""
    return " ".join([hmac_key(key).signature(message) for key in keys])


def sign(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256 as base64."""
    return base64.b64encode(hmac_key(key).digest(message))
