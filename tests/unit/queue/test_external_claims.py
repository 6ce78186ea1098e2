"""Tokens of claims."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.external_claims import TOKEN_PREFIX, Tokens

FIRING = UUID("019cd1e3-0000-7000-8000-000000000001")
KEY = bytes(range(32))
TOKENS = Tokens(KEY)


def test_a_token_is_the_same_on_every_node_and_shows_nothing() -> None:
    token = TOKENS.token(FIRING, 1)
    assert token == Tokens(KEY).token(FIRING, 1)
    assert token.startswith(TOKEN_PREFIX)
    assert len(token) == len(TOKEN_PREFIX) + 43
    assert KEY.hex() not in repr(TOKENS)


@given(attempt=st.integers(1, 40), last=st.integers(0, 40))
def test_it_is_of_one_attempt(attempt: int, last: int) -> None:
    found = TOKENS.attempt_of(TOKENS.token(FIRING, attempt), FIRING, last=last)
    assert found == (attempt if attempt <= last else None)


@given(text=st.text())
def test_any_other_text_is_of_none(text: str) -> None:
    assert TOKENS.attempt_of(text, FIRING, last=5) is None


def test_it_is_of_one_firing_and_one_installation() -> None:
    token = TOKENS.token(FIRING, 1)
    assert TOKENS.attempt_of(token, UUID(int=FIRING.int + 1), last=5) is None
    assert Tokens(b"x" * 32).attempt_of(token, FIRING, last=5) is None


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Tokens(b"short")
