"""What one firing hands on to the next."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.result_handoff import MAX_RESULT, joined, result


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (None, None),
        (b"", None),
        (b"null", None),
        (b'{"rows": [1, 2.5, null]}', {"rows": [1, 2.5, None]}),
        (b"all good", "all good"),
        (b"\xff\x00", "\ufffd\ufffd"),
        (b'"a\\u0000b"', None),
        (b"${secrets.KEY}", "$ {secrets.KEY}"),
        (b'{"${secrets.KEY}": "\\u0024{secrets.KEY}"}', {"$ {secrets.KEY}": "$ {secrets.KEY}"}),
        (b"x" * MAX_RESULT, "x" * MAX_RESULT),
        (b"x" * (MAX_RESULT + 1), None),
        (b"[" * 5000, "[" * 5000),
    ],
)
def test_a_result_is_json_or_text_and_never_a_placeholder(
    body: bytes | None, expected: Any
) -> None:
    """A target that answers with a placeholder gets no secret filled in."""
    assert result(body) == expected


@given(st.binary(max_size=200))
def test_whatever_was_answered_can_be_stored(body: bytes) -> None:
    text = msgspec.json.encode(result(body)).decode()
    assert "${secrets" not in text
    assert "\\u0000" not in text.replace("\\\\", "")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (None, {"after": 1}),
        ({"team": "ops"}, {"team": "ops", "after": 1}),
        ({"after": 0}, {"after": 1}),
        ([1, 2], [1, 2]),
        ("text", "text"),
        (0, 0),
    ],
)
def test_only_an_object_takes_one_member_more(payload: Any, expected: Any) -> None:
    assert joined(payload, "after", 1) == expected
