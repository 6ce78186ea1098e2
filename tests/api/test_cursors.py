"""Cursors: opaque texts that come back as they went."""

from __future__ import annotations

from uuid import UUID

import pytest

from rota.api import cursors
from rota.api.problems import Refused

PLACE = UUID("0192f0c1-0000-7000-8000-00000000abcd")


def test_a_place_comes_back_as_it_went() -> None:
    assert cursors.decode(cursors.encode(PLACE), UUID) == PLACE
    assert cursors.decode(None, UUID) is None


@pytest.mark.parametrize("text", ["x", "====", "%%%", "bnVsbA", "W10", "é", "A" * 10_000, " "])
def test_what_is_not_a_cursor_of_ours_is_refused_by_name(text: str) -> None:
    with pytest.raises(Refused) as refused:
        cursors.decode(text, UUID)
    assert [error.field for error in refused.value.errors] == ["cursor"]
