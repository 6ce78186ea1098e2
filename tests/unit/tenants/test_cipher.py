"""Sealing: what opens, and what must not (S7)."""

from __future__ import annotations

import pickle
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.tenants.secrets import cipher
from rota.tenants.secrets.cipher import BrokenSecret, Sealed
from rota.tenants.secrets.masked import Masked

KEYS = st.binary(min_size=32, max_size=32)
IDS = st.uuids()
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,63}", fullmatch=True)
A, B = UUID(int=1), UUID(int=2)


@given(KEYS, st.binary(max_size=500), st.binary(max_size=100))
def test_what_is_sealed_opens_in_its_place(key: bytes, text: bytes, place: bytes) -> None:
    sealed = cipher.seal(key, text, place=place)
    assert cipher.unseal(key, sealed, place=place) == text


@given(KEYS, st.binary(min_size=8, max_size=50))
def test_the_text_does_not_show(key: bytes, text: bytes) -> None:
    sealed = cipher.seal(key, text, place=b"")
    assert text not in sealed.ciphertext


def test_no_byte_can_be_changed() -> None:
    """S7: each byte of the nonce and the ciphertext, flipped."""
    key = cipher.new_key()
    place = cipher.place_of_secret(A, B, 1, "NAME")
    nonce, ciphertext = cipher.seal(key, b"a secret of some length", place=place)
    for at in range(len(nonce)):
        with pytest.raises(BrokenSecret):
            cipher.unseal(key, Sealed(_flipped(nonce, at), ciphertext), place=place)
    for at in range(len(ciphertext)):
        with pytest.raises(BrokenSecret):
            cipher.unseal(key, Sealed(nonce, _flipped(ciphertext, at)), place=place)


@given(KEYS, st.binary(max_size=50), st.binary(max_size=80))
def test_nothing_else_opens_with_a_key(key: bytes, made_up: bytes, place: bytes) -> None:
    with pytest.raises(BrokenSecret):
        cipher.unseal(key, Sealed(made_up[:12], made_up[12:]), place=place)


@given(st.data())
def test_no_two_places_are_written_the_same(data: st.DataObject) -> None:
    """S7: a row that is moved does not open, whatever it is moved to."""
    one, other = (data.draw(_places()) for _ in range(2))
    assert (one[0] == other[0]) == (one[1] == other[1])


def test_a_million_nonces_are_all_different() -> None:
    """S7. The drawing only: encrypting a million texts would show nothing more."""
    key = bytes(32)
    few = {cipher.seal(key, b"", place=b"").nonce for _ in range(20_000)}
    assert len(few) == 20_000
    many = {cipher.new_nonce() for _ in range(1_000_000)}
    assert len(many) == 1_000_000


def test_an_error_holds_neither_the_key_nor_the_text() -> None:
    key = b"K" * 32
    sealed = cipher.seal(key, b"TEXT", place=b"here")
    with pytest.raises(BrokenSecret) as caught:
        cipher.unseal(key, sealed, place=b"there")
    assert "K" * 8 not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_a_masked_value_shows_itself_to_nobody() -> None:
    """S8."""
    value = Masked("CANARY")
    seen = f"{value} {value!r} {value!s} {[value]} {{'a': {value}}}" + "%s" % value  # noqa: UP031
    assert "CANARY" not in seen
    assert value.reveal() == "CANARY"
    with pytest.raises(TypeError):
        pickle.dumps(value)


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


@st.composite
def _places(draw: st.DrawFn) -> tuple[object, bytes]:
    tenant, other = draw(st.sampled_from([A, B])), draw(st.sampled_from([A, B]))
    version, name = draw(st.integers(1, 3)), draw(st.sampled_from(["a", "ab", "b"]))
    return draw(
        st.sampled_from(
            [
                (("data", tenant, other), cipher.place_of_data_key(tenant, other)),
                (
                    ("secret", tenant, other, version, name),
                    cipher.place_of_secret(tenant, other, version, name),
                ),
                (("signing", tenant, version), cipher.place_of_signing(tenant, version)),
                (("installation", name), cipher.place_of_installation_key(name)),
            ]
        )
    )
