"""What a target is told, so that it can complete its work later."""

from __future__ import annotations

import pytest
from tests.unit.workers.made import claim

from rota import ids
from rota.queue.external_claims import Tokens
from rota.workers.delivery.callback import Callback

TOKENS = Tokens(b"k" * 32)


def test_each_attempt_has_a_token_of_its_own() -> None:
    first, second = (Callback(TOKENS).token(claim(attempt=n)) for n in (1, 2))
    assert first == TOKENS.token(claim().id, 1)
    assert first != second
    assert Callback(TOKENS).url(claim()) is None


@pytest.mark.parametrize("url", ["https://rota.example", "https://rota.example/"])
def test_the_address_is_there_where_the_api_can_be_reached(url: str) -> None:
    address = Callback(TOKENS, url).url(claim())
    firing = ids.to_text(ids.Kind.FIRING, claim().id)
    assert address == f"https://rota.example/v1/firings/{firing}"
