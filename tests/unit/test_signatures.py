"""What is signed, with which key: no two calls alike, and no two hosts."""

from __future__ import annotations

import base64
import hmac

import pytest
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given
from hypothesis import strategies as st

from rota import signatures

_KEY = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
_VALUES = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=12)
_NAMES = st.from_regex(r"rota-[a-z-]{1,4}", fullmatch=True) | st.just("idempotency-key")
_CALLS = st.tuples(
    st.sampled_from(["GET", "POST"]),
    _VALUES,
    _VALUES,
    st.dictionaries(_NAMES, _VALUES, max_size=4),
    st.binary(max_size=8),
)
# Close to one another, where a sloppy form would give the same bytes.
_NEAR = st.tuples(
    st.just("POST"),
    st.sampled_from(["a", "a\nb", "a.b", ""]),
    st.sampled_from(["1", "1\n2", ""]),
    st.dictionaries(
        st.sampled_from(["rota-a", "rota-a:b", "rota-a\nrota-b", "rota-b", "rota-ab"]),
        st.sampled_from(["", "b", "b:", ":b", "b\nrota-b:c", "c", "\r", " b", "é"]),
        max_size=2,
    ),
    st.sampled_from([b"", b"\0", b"\n", b"rota-a:b"]),
)

Call = tuple[str, str, str, dict[str, str], bytes]


def _message(call: Call) -> bytes | None:
    try:
        return signatures.call_message(*call)
    except ValueError:
        return None


@given(_CALLS | _NEAR, _CALLS | _NEAR)
def test_no_two_different_calls_give_the_same_signed_bytes(one: Call, other: Call) -> None:
    first, second = _message(one), _message(other)
    if first is not None and second is not None:
        assert (first == second) == (one == other)


@given(_CALLS, st.from_regex(r"[!-~]{1,20}", fullmatch=True), st.binary(max_size=20))
def test_no_plain_signature_is_one_of_a_call(call: Call, id_: str, body: bytes) -> None:
    """Both are made with one key: their bytes must never be the same."""
    assert signatures.call_message(*call) != signatures.webhook_message(id_, "1", body)


@given(_CALLS)
def test_what_rota_sends_can_always_be_signed(call: Call) -> None:
    message = signatures.call_message(*call)
    assert message.startswith(b"rota-v1\n")
    assert message.count(b"\n") == 4 + len(call[3])


@pytest.mark.parametrize(
    "call",
    [
        ("POST", "a\nb", "1", {}, b""),
        ("POST", "a", "1", {"rota-a": "x\nrota-b:y"}, b""),
        ("POST", "a", "1", {"rota-a:b": "x"}, b""),
        ("POST", "a", "1", {"rota-a": "é"}, b""),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused(call: Call) -> None:
    with pytest.raises(ValueError, match=r"expected|ascii"):
        signatures.call_message(*call)


def test_the_vector_of_the_guide() -> None:
    """docs/guides/verify-requests.md gives these values to implementers in other languages."""
    message = signatures.call_message(
        "POST",
        "fir_01KK8Y3G000000000000000001",
        "1773061200",
        {
            "idempotency-key": "fir_01KK8Y3G000000000000000001",
            "rota-schedule-id": "sch_01KK8Y3G000000000000000002",
            "rota-firing-id": "fir_01KK8Y3G000000000000000001",
            "rota-scheduled-for": "2026-03-09T13:00:00Z",
            "rota-attempt": "1",
            "rota-catch-up": "false",
            "rota-fence": "7",
        },
        b'{"team": "ops"}',
    )
    assert message.decode().splitlines() == [
        "rota-v1",
        "fir_01KK8Y3G000000000000000001",
        "1773061200",
        "POST",
        "32ba2551452ab37469d7ee25f812d6b2ef9a01356015a939e27d18a36675aa18",
        "idempotency-key:fir_01KK8Y3G000000000000000001",
        "rota-attempt:1",
        "rota-catch-up:false",
        "rota-fence:7",
        "rota-firing-id:fir_01KK8Y3G000000000000000001",
        "rota-schedule-id:sch_01KK8Y3G000000000000000002",
        "rota-scheduled-for:2026-03-09T13:00:00Z",
    ]
    assert (
        signatures.signature([_KEY], message) == "v1,CQtRx+3hwek3HnCxjOfcRieiw0g9gVu7As7eX+BYHi8="
    )


@given(st.binary(min_size=24, max_size=64), st.from_regex(r"[a-z0-9.:-]{1,30}", fullmatch=True))
def test_the_key_of_a_host_is_hkdf(secret: bytes, host: str) -> None:
    """By another implementation, so that nothing of ours decides what HKDF is."""
    info = b"rota signing key v1\0" + host.encode()
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)
    assert signatures.host_key(secret, host) == derived


@given(
    st.tuples(st.binary(min_size=32, max_size=32), st.text(max_size=9)),
    st.tuples(st.binary(min_size=32, max_size=32), st.text(max_size=9)),
)
def test_no_two_hosts_and_no_two_secrets_have_one_key(
    one: tuple[bytes, str], other: tuple[bytes, str]
) -> None:
    assert (signatures.host_key(*one) == signatures.host_key(*other)) == (one == other)


def test_the_keys_that_are_remembered_are_bounded() -> None:
    assert signatures.host_key.cache_info().maxsize == 10_000


@given(st.binary(max_size=200), st.binary(max_size=500))
def test_a_key_that_is_set_up_once_signs_as_hmac_does(key: bytes, message: bytes) -> None:
    prepared = signatures.HmacKey(key)
    for text in (message, b"", message):
        assert prepared.digest(text) == hmac.digest(key, text, "sha256")
    assert signatures.sign(key, message) == base64.b64encode(hmac.digest(key, message, "sha256"))
