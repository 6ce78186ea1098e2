"""Signatures: whether a request is from somebody who knows the key. Pure."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from rota import signatures
from rota.errors import CallerError, InvalidInput
from rota.receiver.call import Call

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOLERANCE: Final = timedelta(minutes=5)
"""How far a signature's instant may be from ours. What was recorded longer ago is a replay."""

_MAX_SIGNATURES = 32
# No dot: "a.1" signed at 2 would be the same bytes as "a" signed at 1 with a body that begins "2.".
_ID = re.compile(r"[\x21-\x2d\x2f-\x7e]{1,200}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


class InvalidSignature(CallerError):
    """The request is not signed, or not by anybody we know; the message says which."""


class InvalidSecret(InvalidInput):
    """Not a signing key. The message does not repeat it."""


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secrets: Iterable[str],
    now: datetime,
    *,
    tolerance: timedelta = TOLERANCE,
) -> None:
    """Return when `webhook-signature` holds for these bytes; raise `InvalidSignature` otherwise.

    This is Standard Webhooks, and covers `webhook-id`, `webhook-timestamp` and the body: believe
    nothing else of the request. `verify_call` covers all that Rota says.

    `headers` may have names in any case, `now` is aware, `secrets` are as Rota shows them for this
    host (`whsec_…`): several while one replaces another. One signature of the header that one of
    the secrets made is enough.
    """
    given = _lower(headers)
    id_, timestamp = _who_and_when(given, now, tolerance)
    message = signatures.webhook_message(id_, timestamp, body)
    _check([key_of(secret) for secret in secrets], given, signatures.SIGNATURE, message)


def verify_call(
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    secrets: Iterable[str],
    now: datetime,
    *,
    tolerance: timedelta = TOLERANCE,
) -> Call:
    """What Rota says about this request, when `Rota-Signature` holds for all of it.

    Raises `InvalidSignature` otherwise. The parameters are those of `verify`.
    """
    keys = [key_of(secret) for secret in secrets]
    return check_call(keys, method, _lower(headers), body, now=now, tolerance=tolerance)


def check_call(
    keys: Iterable[bytes],
    method: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now: datetime,
    tolerance: timedelta,
) -> Call:
    """`verify_call` for keys that were read already, and names of headers in lower case."""
    id_, timestamp = _who_and_when(headers, now, tolerance)
    facts = {name: value for name, value in headers.items() if signatures.is_fact(name)}
    try:
        message = signatures.call_message(method, id_, timestamp, facts, body)
    except ValueError:
        raise InvalidSignature(
            "expected visible ASCII in the method and the Rota-* headers, got something else"
        ) from None
    _check(keys, headers, signatures.CALL_SIGNATURE, message)
    try:
        return Call.of(id_, int(timestamp), facts)
    except ValueError:
        raise InvalidSignature(
            "expected Rota-* headers as this version of Rota writes them, got others: compare the "
            "versions of sender and receiver"
        ) from None


def key_of(secret: str) -> bytes:
    """The key that `whsec_…` stands for; `InvalidSecret` when it is not one."""
    text = secret.strip().removeprefix(signatures.PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    # Rota's have 24 bytes and more, and a short one can be guessed.
    if len(key) < 16:
        raise InvalidSecret(
            "expected a signing key such as whsec_… (base64 of at least 16 bytes), "
            "got another text",
            field="secrets",
        )
    return key


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _who_and_when(
    headers: Mapping[str, str], now: datetime, tolerance: timedelta
) -> tuple[str, str]:
    """The id and the timestamp, which are near enough; still to be verified."""
    id_ = _header(headers, signatures.ID, _ID, "an id without dots and spaces")
    timestamp = _header(headers, signatures.TIMESTAMP, _TIMESTAMP, "seconds since 1970")
    _check_time(int(timestamp), now, tolerance)
    return id_, timestamp


def _check(keys: Iterable[bytes], headers: Mapping[str, str], name: str, message: bytes) -> None:
    listed = _signatures(headers, name)
    # Every pair is compared, whatever the result so far: the time taken tells nothing.
    matches = [
        hmac.compare_digest(signatures.sign(key, message), each) for key in keys for each in listed
    ]
    if not any(matches):
        raise InvalidSignature(
            f"expected a {name} of this request by one of the keys known here, got none: compare "
            "the key with `rota signing --host` for this host, and see that nothing on the way "
            "changes the body or Rota's headers"
        )


def _header(headers: Mapping[str, str], name: str, form: re.Pattern[str], expected: str) -> str:
    value = headers.get(name)
    if value is None:
        raise InvalidSignature(f"expected the header {name}, got none: this request is not signed")
    if not form.fullmatch(value):
        raise InvalidSignature(f"expected {expected} in the header {name}, got something else")
    return value


def _signatures(headers: Mapping[str, str], name: str) -> list[bytes]:
    """As text, not decoded: base64 has several spellings of the same bytes."""
    value = headers.get(name.lower())
    if value is None:
        raise InvalidSignature(f"expected the header {name}, got none: this request is not signed")
    listed = value.split(" ")[:_MAX_SIGNATURES]
    # surrogateescape: whatever a server made of a stranger's bytes must not raise here.
    return [
        each.removeprefix(signatures.VERSION).encode(errors="surrogateescape")
        for each in listed
        if each.startswith(signatures.VERSION)
    ]


def _check_time(timestamp: int, now: datetime, tolerance: timedelta) -> None:
    age = now.timestamp() - timestamp
    if abs(age) > tolerance.total_seconds():
        direction = "old" if age > 0 else "in the future"
        raise InvalidSignature(
            f"expected a webhook-timestamp within {tolerance.total_seconds():g} s of now, got one "
            f"that is {abs(age):.0f} s {direction}: compare the clocks"
        )
