"""A signing secret, and the keys of hosts that are derived from it. Pure, but for drawing one."""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rota.errors import InvalidInput
from rota.signatures import PREFIX, host_key

if TYPE_CHECKING:
    from datetime import datetime

KEY_BYTES: Final = 32
"""Standard Webhooks wants 24 to 64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningSecret:
    """One version of a tenant's secret."""

    version: int
    key: bytes = field(repr=False)
    created_at: datetime
    retired_at: datetime | None = None
    """It signs until then; None for the newest."""
    shared: bool = False
    """Made before each host had a key of its own, and known to receivers: it is the key itself."""

    def key_for(self, host: str) -> bytes:
        """What calls to this host (`targets.signing_host`) are signed with."""
        return self.key if self.shared else host_key(self.key, host)

    def text_for(self, host: str) -> str:
        """The host's key as its receiver is given it. For admins' eyes, and never logged."""
        return PREFIX + base64.b64encode(self.key_for(host)).decode()

    def signs_at(self, instant: datetime) -> bool:
        return self.retired_at is None or instant < self.retired_at


def draw() -> bytes:
    """A key that nobody has seen."""
    return secrets.token_bytes(KEY_BYTES)


def key_of(text: str) -> bytes:
    """The key in a text such as `whsec_…`, with its prefix or without."""
    try:
        return base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidInput(f"Invalid signing secret: expected {PREFIX} and base64") from None
