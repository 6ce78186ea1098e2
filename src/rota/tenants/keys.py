"""API keys: `rota_<prefix>_<secret>`. Pure, but for the drawing of a new one.

The prefix finds the key and may be shown and logged; the secret is 256 random bits, shown once and
stored only as its SHA-256. With that much entropy a slow hash would protect nothing more (S9).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from rota.errors import InvalidInput

# Letters and digits only: an underscore inside would blur where the secret begins, and a double
# click selects the whole key.
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PREFIX_LENGTH = 12
_SECRET_LENGTH = 43
#: 22 characters of 62 are 131 bits.
_SHORTEST_SECRET = 22
_KEY = re.compile(r"rota_([0-9A-Za-z]{4,32})_([0-9A-Za-z]{1,256})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key as its owner holds it."""

    prefix: str
    secret: str

    @property
    def text(self) -> str:
        """The whole key. To be shown once, and never logged."""
        return f"rota_{self.prefix}_{self.secret}"

    @property
    def sha256(self) -> bytes:
        """What is stored of it."""
        return hashlib.sha256(self.text.encode()).digest()

    def matches(self, sha256: bytes) -> bool:
        """Whether this is the key that was stored, in time that does not depend on the answer."""
        return hmac.compare_digest(self.sha256, sha256)

    def __repr__(self) -> str:
        return f"ApiKey('rota_{self.prefix}_…')"


def new() -> ApiKey:
    """A key nobody has seen."""
    return ApiKey(_draw(_PREFIX_LENGTH), _draw(_SECRET_LENGTH))


def read(text: str) -> ApiKey | None:
    """The key that the text is; None when it cannot be one."""
    match = _KEY.fullmatch(text)
    return None if match is None else ApiKey(match[1], match[2])


def given(text: str) -> ApiKey:
    """A key that an operator chose; InvalidInput when it is not one, or could be guessed."""
    key = read(text)
    if key is None or len(key.secret) < _SHORTEST_SECRET:
        raise InvalidInput(
            "Invalid admin key: expected rota_<prefix>_<secret> of letters and digits, the secret "
            f"at least {_SHORTEST_SECRET} of them (`rota key new` makes one)",
            field="admin_key",
        )
    return key


def _draw(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
