"""Signatures of Standard Webhooks 1.0 (S13)."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook, WebhookVerificationError
from tests.unit.workers import made

from rota.clock import SystemClock
from rota.errors import InvalidInput
from rota.tenants.signing.secret import SigningSecret, draw, key_of
from rota.workers import sign
from rota.workers.request import request_of

if TYPE_CHECKING:
    from rota.queue.claim import Claim

NOW = datetime(2026, 5, 1, tzinfo=UTC)


def firing(claim: Claim) -> str:
    return request_of(claim, made.schedule()).headers["Rota-Firing-Id"]


def test_the_vector_of_the_specification() -> None:
    """S13."""
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert (
        sign.signature(
            [key],
            id_="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp="1614265330",
            body=b'{"test": 2432232314}',
        )
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_the_specifications_own_library_verifies_what_we_sign(body: str) -> None:
    secret = SigningSecret(version=1, key=draw(), created_at=NOW)
    headers = sign.unsigned_headers(firing(made.claim()), SystemClock().now())
    headers[sign.SIGNATURE] = sign.signature(
        [draw(), secret.key],
        id_=headers[sign.ID],
        timestamp=headers[sign.TIMESTAMP],
        body=body.encode(),
    )
    # It reads the body as JSON once it has verified it, and not every body here is JSON.
    with contextlib.suppress(json.JSONDecodeError):
        Webhook(secret.text).verify(body, headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret.text).verify(body + " ", headers)


def test_every_key_signs_and_the_newest_comes_first() -> None:
    one, two = draw(), draw()
    both = sign.signature([two, one], id_="a", timestamp="1", body=b"\x00\xff")
    assert both.split() == [
        sign.signature([key], id_="a", timestamp="1", body=b"\x00\xff") for key in (two, one)
    ]


def test_the_id_is_the_firings_and_the_time_the_attempts() -> None:
    """S13: the id has no dot, and is the same for every attempt."""
    first = sign.unsigned_headers(firing(made.claim()), NOW)
    second = sign.unsigned_headers(firing(made.claim(attempt=2)), NOW + timedelta(seconds=90.7))
    assert first[sign.ID] == second[sign.ID]
    assert first[sign.ID].startswith("fir_")
    assert "." not in first[sign.ID]
    assert int(second[sign.TIMESTAMP]) - int(first[sign.TIMESTAMP]) == 90


def test_a_secret_signs_until_it_retires_and_shows_only_when_asked() -> None:
    secret = SigningSecret(version=1, key=b"K" * 32, created_at=NOW, retired_at=NOW)
    assert secret.signs_at(NOW - timedelta(seconds=1))
    assert not secret.signs_at(NOW)
    assert "KKKK" not in repr(secret)
    assert secret.text not in repr(secret)
    assert key_of(secret.text) == secret.key
    with pytest.raises(InvalidInput):
        key_of("whsec_???")
