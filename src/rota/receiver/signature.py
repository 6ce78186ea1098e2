"""Standard Webhooks signatures: whether a request is from somebody who knows the secret. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota.errors import CallerError, InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOLERANCE: Final = timedelta(minutes=5)
"""How far a signature's instant may be from ours. What was recorded longer ago is a replay."""

_PREFIX = "whsec_"
_VERSION = "v1,"
_MAX_SIGNATURES = 32
# No dot: "a.1" signed at 2 would be the same bytes as "a" signed at 1 with a body that begins "2.".
_ID = re.compile(r"[\x21-\x2d\x2f-\x7e]{1,200}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


class InvalidSignature(CallerError):
    """The request is not signed, or not by anybody we know; the message says which."""


class InvalidSecret(InvalidInput):
    """Not a signing secret. The message does not repeat it."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: Iterable[str],
    now: datetime,
    *,
    tolerance: timedelta = TOLERANCE,
) -> None:
    """Return when `webhook-signature` holds for these bytes; raise `InvalidSignature` otherwise.

    `headers` may have names in any case, `now` is aware, `secrets` are as Rota shows them
    (`whsec_…`): several while one replaces another. One signature of the header that one of the
    secrets made is enough.
    """
    check([key_of(secret) for secret in secrets], headers, body, now, tolerance)


def check(
    keys: Iterable[bytes],
    headers: Mapping[str, str],
    body: bytes,
    now: datetime,
    tolerance: timedelta,
) -> str:
    """`verify` for keys that were read already; returns the id that was signed."""
    given = {name.lower(): value for name, value in headers.items()}
    id_ = _header(given, "webhook-id", _ID, "an id without dots and spaces")
    timestamp = _header(given, "webhook-timestamp", _TIMESTAMP, "seconds since 1970")
    signatures = _signatures(given)
    _check_time(int(timestamp), now, tolerance)
    signed = f"{id_}.{timestamp}.".encode() + body
    # Every pair is compared, whatever the result so far: the time taken tells nothing.
    matches = [
        hmac.compare_digest(_sign(key, signed), signature)
        for key in keys
        for signature in signatures
    ]
    if not any(matches):
        raise InvalidSignature(
            "expected a signature of this body by one of the secrets known here, got none: "
            "compare the signing secret, and see that nothing on the way changes the body"
        )
    return id_


def key_of(secret: str) -> bytes:
    """The key that `whsec_…` stands for; `InvalidSecret` when it is not one."""
    text = secret.strip().removeprefix(_PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    # Rota's have 24 bytes and more, and a short one can be guessed.
    if len(key) < 16:
        raise InvalidSecret(
            "expected a signing secret such as whsec_… (base64 of at least 16 bytes), "
            "got another text",
            field="secrets",
        )
    return key


def _sign(key: bytes, signed: bytes) -> bytes:
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256))


def _header(given: Mapping[str, str], name: str, form: re.Pattern[str], expected: str) -> str:
    value = given.get(name)
    if value is None:
        raise InvalidSignature(f"expected the header {name}, got none: this request is not signed")
    if not form.fullmatch(value):
        raise InvalidSignature(f"expected {expected} in the header {name}, got something else")
    return value


def _signatures(given: Mapping[str, str]) -> list[bytes]:
    """As text, not decoded: base64 has several spellings of the same bytes."""
    value = given.get("webhook-signature")
    if value is None:
        raise InvalidSignature(
            "expected the header webhook-signature, got none: this request is not signed"
        )
    listed = value.split(" ")[:_MAX_SIGNATURES]
    # surrogateescape: whatever a server made of a stranger's bytes must not raise here.
    return [
        each.removeprefix(_VERSION).encode(errors="surrogateescape")
        for each in listed
        if each.startswith(_VERSION)
    ]


def _check_time(timestamp: int, now: datetime, tolerance: timedelta) -> None:
    age = now.timestamp() - timestamp
    if abs(age) > tolerance.total_seconds():
        direction = "old" if age > 0 else "in the future"
        raise InvalidSignature(
            f"expected a webhook-timestamp within {tolerance.total_seconds():g} s of now, got one "
            f"that is {abs(age):.0f} s {direction}: compare the clocks"
        )
