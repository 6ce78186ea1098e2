"""S13: who signed these bytes, by the standard's own vector and its own library."""

from __future__ import annotations

import base64
import hashlib
import hmac
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook
from tests.unit.receiver.signed import NOW, OTHER, SECRET, headers

from rota.receiver import InvalidSecret, InvalidSignature, verify, verify_call

VECTOR = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
VECTOR_BODY = b'{"test": 2432232314}'
VECTOR_NOW = datetime.fromtimestamp(1614265330, UTC)
SECOND = timedelta(seconds=1)


def test_the_vector_of_the_standard_holds() -> None:
    verify(VECTOR, VECTOR_BODY, [SECRET], VECTOR_NOW)


def test_names_of_headers_are_read_in_any_case() -> None:
    shouted = {name.title(): value for name, value in VECTOR.items()}
    verify(shouted, VECTOR_BODY, [SECRET], VECTOR_NOW)


@given(st.text(), st.integers(0, 10**9))
def test_what_the_independent_library_signs_is_believed(body: str, number: int) -> None:
    raw = body.encode(errors="replace")
    verify(headers(raw, firing=f"fir_{number}"), raw, [SECRET], NOW)


@given(st.binary(max_size=200), st.data())
def test_any_changed_byte_of_the_body_is_refused(body: bytes, data: st.DataObject) -> None:
    """Also of bodies that are no text at all."""
    signed = _sign(body)
    verify(signed, body, [SECRET], NOW)
    with pytest.raises(InvalidSignature):
        verify(signed, _changed(body or b"\0", data), [SECRET], NOW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@given(data=st.data())
def test_any_changed_byte_of_a_header_is_refused(name: str, data: st.DataObject) -> None:
    signed = headers(b"{}")
    changed = _changed(signed[name].encode(), data).decode("latin-1")
    with pytest.raises(InvalidSignature):
        verify({**signed, name: changed}, b"{}", [SECRET], NOW)


@given(st.dictionaries(st.sampled_from(sorted(VECTOR)), st.text()), st.binary())
def test_whatever_a_stranger_sends_is_refused_and_raises_nothing_else(
    strange: dict[str, str], body: bytes
) -> None:
    with pytest.raises(InvalidSignature):
        verify(strange, body, [SECRET], NOW)


@given(st.binary(max_size=200), st.data())
def test_a_call_is_believed_as_it_was_sent_and_no_other_way(
    body: bytes, data: st.DataObject
) -> None:
    signed = headers(body, schedule="sch_1", fence=7, rota_attempt="2", rota_catch_up="false")
    call = verify_call("POST", signed, body, [OTHER, SECRET], NOW)
    assert (call.id, call.schedule_id, call.fence, call.attempt) == ("fir_1", "sch_1", 7, 2)
    assert (call.sent_at, call.catch_up, call.scheduled_for) == (NOW, False, None)
    name = data.draw(st.sampled_from(sorted(signed.keys() - {"webhook-signature"})))
    changed = _changed(signed[name].encode(), data).decode("latin-1")
    for method, told, sent in (
        ("PUT", signed, body),
        ("POST", signed, body + b"\0"),
        ("POST", signed | {name: changed}, body),
        ("POST", {each: signed[each] for each in signed if each != name}, body),
    ):
        with pytest.raises(InvalidSignature):
            verify_call(method, told, sent, [OTHER, SECRET], NOW)
    with pytest.raises(InvalidSignature, match="rota signing --host"):
        verify_call("POST", signed, body, [OTHER], NOW)


@given(st.dictionaries(st.text() | st.sampled_from(["rota-fence", "rota-a:b"]), st.text()))
def test_a_call_with_strange_headers_is_refused_and_raises_nothing_else(
    strange: dict[str, str],
) -> None:
    for given_ in (strange, strange | headers(), headers(rota_x="1") | strange):
        try:
            verify_call("POST", given_, b"{}", [SECRET], NOW)
        except InvalidSignature:
            continue
        covered = {name.lower() for name in strange if name.lower().startswith("rota-")}
        assert covered <= {"rota-signature", "rota-x"}


def test_bytes_cannot_move_between_id_timestamp_and_body() -> None:
    """An id with a dot would make two requests of one signature."""
    stamp = int(NOW.timestamp())
    body = f"{stamp}.rest".encode()
    signed = _sign(body)
    verify(signed, body, [SECRET], NOW)
    moved = {**signed, "webhook-id": f"fir_1.{stamp}"}
    with pytest.raises(InvalidSignature, match="without dots"):
        verify(moved, b"rest", [SECRET], NOW)


def test_during_a_rotation_either_secret_will_do() -> None:
    """S13: two signatures in the header, two secrets at the receiver, in any order."""
    old, new = headers(b"x"), headers(b"x", secret=OTHER)
    both = f"{old['webhook-signature']} {new['webhook-signature']}"
    verify({**old, "webhook-signature": both}, b"x", [SECRET], NOW)
    verify({**old, "webhook-signature": both}, b"x", [OTHER], NOW)
    verify(old, b"x", [OTHER, SECRET], NOW)
    verify(new, b"x", [OTHER, SECRET], NOW)
    with pytest.raises(InvalidSignature, match="one of the keys"):
        verify(old, b"x", [OTHER], NOW)


def test_signatures_of_other_versions_are_passed_over() -> None:
    signed = headers(b"x")
    mixed = f"v1a,AAAA nonsense {signed['webhook-signature']}"
    verify({**signed, "webhook-signature": mixed}, b"x", [SECRET], NOW)
    only = signed["webhook-signature"].replace("v1,", "v2,")
    with pytest.raises(InvalidSignature):
        verify({**signed, "webhook-signature": only}, b"x", [SECRET], NOW)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_timestamp_more_than_five_minutes_away_is_refused(sign: int) -> None:
    signed = headers(b"x")
    verify(signed, b"x", [SECRET], NOW + sign * 300 * SECOND)
    with pytest.raises(InvalidSignature, match="within 300 s of now, got one that is 301 s"):
        verify(signed, b"x", [SECRET], NOW + sign * 301 * SECOND)


@pytest.mark.parametrize("missing", sorted(VECTOR))
def test_an_unsigned_request_is_told_so(missing: str) -> None:
    signed = {name: value for name, value in headers(b"x").items() if name != missing}
    with pytest.raises(InvalidSignature, match=f"expected the header {missing}, got none"):
        verify(signed, b"x", [SECRET], NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "pässword"])
def test_what_is_no_secret_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(InvalidSecret) as refused:
        verify(VECTOR, VECTOR_BODY, [secret], VECTOR_NOW)
    assert not secret.removeprefix("whsec_") or secret not in str(refused.value)


def _sign(body: bytes) -> dict[str, str]:
    """By the library's own key handling, for bodies that it will not take."""
    key: Any = Webhook(SECRET)._whsecret
    stamp = str(int(NOW.timestamp()))
    mac = hmac.new(key, f"fir_1.{stamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": "fir_1",
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }


def _changed(raw: bytes, data: st.DataObject) -> bytes:
    """One byte another one."""
    place = data.draw(st.integers(0, len(raw) - 1))
    bits = data.draw(st.integers(1, 255))
    return raw[:place] + bytes([raw[place] ^ bits]) + raw[place + 1 :]
