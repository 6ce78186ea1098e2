"""API keys: their form, and what is kept of them (S9)."""

from __future__ import annotations

import hashlib
import math

import pytest
from tests.unit.tenants.examples import tenant

from rota.errors import InvalidInput
from rota.tenants import keys
from rota.tenants.tenant import Principal, Scope, Tenant


def test_a_new_key_has_the_written_form_and_at_least_128_random_bits() -> None:
    key = keys.new()
    assert key.text == f"rota_{key.prefix}_{key.secret}"
    assert len(key.secret) * math.log2(62) >= 128
    assert keys.read(key.text) == key


def test_no_two_keys_are_alike() -> None:
    made = [keys.new() for _ in range(1000)]
    assert len({key.prefix for key in made}) == len({key.secret for key in made}) == 1000


def test_what_is_kept_is_the_hash_of_the_whole_key() -> None:
    key = keys.new()
    assert key.sha256 == hashlib.sha256(key.text.encode()).digest()
    assert key.matches(key.sha256)
    assert not key.matches(keys.new().sha256)


def test_the_secret_does_not_show_when_a_key_is_printed() -> None:
    key = keys.new()
    assert key.secret not in repr(key)
    assert key.secret not in f"{key!s}"


@pytest.mark.parametrize(
    "text",
    [
        *("", "rota_", "rota_abcd", "rota_abcd_", "abcd_efgh", "rota_ab_cd_ef", "x" * 999),
        *("rota_abcd_ü", "Rota_abcdefgh_abcdefgh", "rota_abcd_secret\n", " rota_abcd_secret"),
    ],
)
def test_what_is_not_a_key_is_not_read_as_one(text: str) -> None:
    assert keys.read(text) is None


@pytest.mark.parametrize("text", ["hunter2", "rota_admin_hunter2", "rota_admin_" + "a" * 21])
def test_an_operators_own_key_must_be_one_that_cannot_be_guessed(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        keys.given(text)
    assert text not in str(caught.value)


def test_an_operators_own_key_is_taken() -> None:
    text = "rota_admin_" + "a1" * 11
    assert keys.given(text).text == text


@pytest.mark.parametrize(
    ("scopes", "may"),
    [
        ({"read"}, {"read"}),
        ({"write"}, {"read", "write"}),
        ({"admin"}, {"read", "write", "admin"}),
        ({"read", "write"}, {"read", "write"}),
        (set[Scope](), set[Scope]()),
    ],
)
def test_each_scope_includes_the_ones_before_it(scopes: set[Scope], may: set[Scope]) -> None:
    owner: Tenant = tenant()
    principal = Principal(tenant=owner, scopes=frozenset(scopes), key_id=owner.id)
    every: tuple[Scope, ...] = ("read", "write", "admin")
    assert {scope for scope in every if principal.may(scope)} == may
