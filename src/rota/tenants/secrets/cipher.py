"""Sealing and opening: AES-256-GCM with a random nonce. Pure, but for drawing the nonce.

What is sealed is bound to where it belongs: `place` is authenticated beside the text (S7), so that
a row moved to another tenant, name or version does not open.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final, NamedTuple

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from rota.errors import OperatorError

if TYPE_CHECKING:
    from uuid import UUID

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12


class BrokenSecret(OperatorError):
    """It was changed, moved, or sealed with another key: it does not open."""


class Sealed(NamedTuple):
    """What may be stored."""

    nonce: bytes
    ciphertext: bytes


def new_key() -> bytes:
    """A key that nobody has seen."""
    return secrets.token_bytes(KEY_BYTES)


def new_nonce() -> bytes:
    """Never the same twice."""
    return secrets.token_bytes(NONCE_BYTES)


def seal(key: bytes, text: bytes, *, place: bytes) -> Sealed:
    """The text, readable only with the key and only in its place.

    The nonce is drawn anew each time: a repeated one would give both texts away. Random ones of 96
    bits stay apart for some 2**32 texts under one key, far more than a tenant has.
    """
    nonce = new_nonce()
    return Sealed(nonce, AESGCM(key).encrypt(nonce, text, place))


def unseal(key: bytes, sealed: Sealed, *, place: bytes) -> bytes:
    """The text; BrokenSecret when anything is not as it was sealed."""
    if len(sealed.nonce) != NONCE_BYTES:
        raise BrokenSecret(_BROKEN)
    try:
        return AESGCM(key).decrypt(sealed.nonce, sealed.ciphertext, place)
    except InvalidTag:
        # Not chained: there is nothing more to know, and the frames hold the key.
        raise BrokenSecret(_BROKEN) from None


_BROKEN = (
    "a stored secret does not open: it was changed or moved in the database, or the key of this id "
    "in the ring is not the one it was sealed with"
)

# Each kind of place begins with its own words and has parts of fixed length before the only open
# one, so that no two places are written the same.


def place_of_data_key(tenant_id: UUID, key_id: UUID) -> bytes:
    return b"rota data key\0" + tenant_id.bytes + key_id.bytes


def place_of_secret(tenant_id: UUID, secret_id: UUID, version: int, name: str) -> bytes:
    number = version.to_bytes(8, "big")
    return b"rota secret\0" + tenant_id.bytes + secret_id.bytes + number + name.encode()


def place_of_signing(tenant_id: UUID, version: int) -> bytes:
    return b"rota signing\0" + tenant_id.bytes + version.to_bytes(8, "big")


def place_of_channel(tenant_id: UUID, channel_id: UUID, version: int) -> bytes:
    return b"rota channel\0" + tenant_id.bytes + channel_id.bytes + version.to_bytes(8, "big")


def place_of_installation_key(name: str) -> bytes:
    return b"rota installation key\0" + name.encode()
