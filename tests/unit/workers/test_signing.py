"""Signing a request: Standard Webhooks 1.0, and all that Rota says about the call."""

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
from rota.receiver import InvalidSignature, verify_call
from rota.tenants.signing.secret import SigningSecret, draw, key_of
from rota.workers.delivery import signing
from rota.workers.delivery.request import request_of

if TYPE_CHECKING:
    from rota.queue.claim import Claim

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOST = "x.example"


def firing(claim: Claim) -> str:
    return request_of(claim, made.schedule()).headers["Rota-Firing-Id"]


def signed(keys: list[bytes], id_: str, timestamp: str, body: bytes) -> str:
    headers = {signing.ID: id_, signing.TIMESTAMP: timestamp}
    return signing.signed_headers(keys, "POST", headers, body)[signing.SIGNATURE]


def test_the_vector_of_the_specification() -> None:
    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert (
        signed([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", b'{"test": 2432232314}')
        == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=200))
def test_the_specifications_own_library_verifies_what_we_sign(body: str) -> None:
    secret = SigningSecret(version=1, key=draw(), created_at=NOW)
    headers = signing.unsigned_headers(firing(made.claim()), SystemClock().now())
    keys = [draw(), secret.key_for(HOST)]
    headers |= signing.signed_headers(keys, "POST", headers, body.encode())
    # It reads the body as JSON once it has verified it, and not every body here is JSON.
    with contextlib.suppress(json.JSONDecodeError):
        Webhook(secret.text_for(HOST)).verify(body, headers)
    for wrong, text in ((body + " ", HOST), (body, "other.example"), (body, f"{HOST}:8443")):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret.text_for(text)).verify(wrong, headers)


@given(st.binary(max_size=100), st.sampled_from(["GET", "POST", "DELETE"]))
def test_the_receiver_verifies_all_that_we_say(body: bytes, method: str) -> None:
    secret = SigningSecret(version=1, key=draw(), created_at=NOW)
    claim = made.claim(attempt=3, catch_up=True)
    headers = dict(request_of(claim, made.schedule()).headers)
    headers |= signing.unsigned_headers(firing(claim), NOW)
    headers |= signing.signed_headers([draw(), secret.key_for(HOST)], method, headers, body)
    call = verify_call(method, headers, body, [secret.text_for(HOST)], NOW)
    assert (call.id, call.firing_id) == (firing(claim), firing(claim))
    assert call.schedule_id == headers["Rota-Schedule-Id"]
    assert (call.scheduled_for, call.sent_at) == (claim.scheduled_for, NOW)
    assert (call.attempt, call.catch_up, call.fence) == (3, True, claim.fence)
    with pytest.raises(InvalidSignature):
        verify_call(method, headers, body, [secret.text_for("other.example")], NOW)


def test_every_key_signs_and_the_newest_comes_first() -> None:
    one, two = draw(), draw()
    both = signed([two, one], "a", "1", b"\x00\xff")
    assert both.split() == [signed([key], "a", "1", b"\x00\xff") for key in (two, one)]


def test_the_id_is_the_firings_and_the_time_the_attempts() -> None:
    """The id has no dot, and is the same for every attempt."""
    first = signing.unsigned_headers(firing(made.claim()), NOW)
    second = signing.unsigned_headers(firing(made.claim(attempt=2)), NOW + timedelta(seconds=90.7))
    assert first[signing.ID] == second[signing.ID]
    assert first[signing.ID].startswith("fir_")
    assert "." not in first[signing.ID]
    assert int(second[signing.TIMESTAMP]) - int(first[signing.TIMESTAMP]) == 90


def test_a_secret_signs_until_it_retires_and_shows_only_when_asked() -> None:
    secret = SigningSecret(version=1, key=b"K" * 32, created_at=NOW, retired_at=NOW)
    assert secret.signs_at(NOW - timedelta(seconds=1))
    assert not secret.signs_at(NOW)
    assert "KKKK" not in repr(secret)
    assert secret.text_for(HOST) not in repr(secret)
    assert key_of(secret.text_for(HOST)) == secret.key_for(HOST) != secret.key
    with pytest.raises(InvalidInput):
        key_of("whsec_???")


def test_a_secret_from_before_is_the_key_of_every_host() -> None:
    secret = SigningSecret(version=1, key=b"K" * 32, created_at=NOW, shared=True)
    assert secret.key_for(HOST) == secret.key_for("other.example") == secret.key
