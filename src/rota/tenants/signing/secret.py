"""A signing secret as its owner holds it: `whsec_` and base64. Pure, but for drawing one."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidInput

if TYPE_CHECKING:
    from datetime import datetime

PREFIX: Final = "whsec_"
KEY_BYTES: Final = 32
"""Standard Webhooks wants 24 to 64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningSecret:
    """One version of it."""

    version: int
    key: bytes = field(repr=False)
    created_at: datetime
    retired_at: datetime | None = None
    """It signs until then; None for the newest."""

    @property
    def text(self) -> str:
        """As receivers are given it. For admins' eyes, and never logged."""
        return PREFIX + base64.b64encode(self.key).decode()

    def signs_at(self, instant: datetime) -> bool:
        return self.retired_at is None or instant < self.retired_at


def draw() -> bytes:
    """A key that nobody has seen."""
    return secrets.token_bytes(KEY_BYTES)


def key_of(text: str) -> bytes:
    """The key in the text of a signing secret, with its prefix or without."""
    try:
        return base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"Invalid signing secret: expected {PREFIX} and base64") from None
