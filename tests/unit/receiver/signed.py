"""Requests as Rota signs them: by the independent `standardwebhooks` package, and by the guide.

Nothing here uses Rota's own code: `call_signature` is written from docs/guides/verify-requests.md.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from standardwebhooks.webhooks import Webhook

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
NOW = datetime(2026, 3, 9, 13, tzinfo=UTC)


def headers(
    body: bytes = b"{}",
    *,
    firing: str = "fir_1",
    secret: str = SECRET,
    at: datetime = NOW,
    schedule: str | None = None,
    fence: int | None = None,
    method: str = "POST",
    **more: str,
) -> dict[str, str]:
    """The headers of a request with this body; `more` has further ones, as in `rota_attempt`."""
    facts = {
        "Rota-Schedule-Id": schedule,
        "Rota-Fence": None if fence is None else str(fence),
        **{name.replace("_", "-").title(): value for name, value in more.items()},
    }
    signed = {
        "webhook-id": firing,
        "webhook-timestamp": str(int(at.timestamp())),
        **{name: value for name, value in facts.items() if value is not None},
    }
    return {
        **signed,
        "webhook-signature": webhook_signature(signed, body, secret),
        "Rota-Signature": call_signature(method, signed, body, secret),
    }


def webhook_signature(signed: Mapping[str, str], body: bytes, secret: str) -> str:
    """By the specification's library where it takes the body; it wants text."""
    at = datetime.fromtimestamp(int(signed["webhook-timestamp"]), UTC)
    try:
        return Webhook(secret).sign(signed["webhook-id"], at, body.decode())
    except UnicodeDecodeError:
        message = f"{signed['webhook-id']}.{signed['webhook-timestamp']}.".encode() + body
        return _sign(message, secret)


def call_signature(method: str, signed: Mapping[str, str], body: bytes, secret: str) -> str:
    lower = {name.lower(): value for name, value in signed.items()}
    lines = [
        "rota-v1",
        lower["webhook-id"],
        lower["webhook-timestamp"],
        method,
        hashlib.sha256(body).hexdigest(),
    ]
    covered = {
        name: value
        for name, value in lower.items()
        if name == "idempotency-key" or (name.startswith("rota-") and name != "rota-signature")
    }
    lines += [f"{name}:{covered[name]}" for name in sorted(covered)]
    return _sign("\n".join(lines).encode(), secret)


def _sign(message: bytes, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode()
