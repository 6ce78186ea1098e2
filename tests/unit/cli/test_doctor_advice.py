"""What `rota doctor` advises when it cannot get in."""

from __future__ import annotations

import pytest

from rota.cli.doctor import advice_on


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("TooManyConnectionsError: sorry, too many clients already", "max_connections"),
        ("connection refused", "see that the server runs"),
    ],
)
def test_a_full_server_is_not_a_server_that_is_away(error: str, words: str) -> None:
    assert words in advice_on(error)
