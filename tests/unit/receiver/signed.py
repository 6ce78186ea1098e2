"""Requests as Rota signs them, made by the independent `standardwebhooks` package."""

from __future__ import annotations

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
) -> dict[str, str]:
    """The headers of a request with this body."""
    more: Mapping[str, str | None] = {
        "Rota-Schedule-Id": schedule,
        "Rota-Fence": None if fence is None else str(fence),
    }
    return {
        "webhook-id": firing,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign(firing, at, body.decode()),
        **{name: value for name, value in more.items() if value is not None},
    }
