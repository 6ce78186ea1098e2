"""JSON as people read it. Payloads and answers are hostile input (S5, S14)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import shown

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_json_has_line_breaks_and_other_text_stays() -> None:
    assert shown.pretty('{"a": [1]}') == '{\n  "a": [\n    1\n  ]\n}'
    assert shown.pretty(b"caf\xc3\xa9 {") == "café {"
    assert shown.pretty({"a": 1}) == '{\n  "a": 1\n}'


@given(st.lists(_JSON, max_size=4) | st.dictionaries(st.text(), _JSON, max_size=4))
def test_it_stays_the_same_value(value: object) -> None:
    assert json.loads(shown.pretty(value)) == value
    assert json.loads(shown.pretty(json.dumps(value))) == value


@pytest.mark.parametrize("depth", [10, 100, 900, 985, 50_000])
def test_brackets_in_brackets_do_not_become_a_page_of_megabytes(depth: int) -> None:
    """64 kB of an answer, indented a thousand levels deep, would be 60 MB: for each attempt."""
    body = "[" * depth + "1," * 30_000 + "1" + "]" * depth
    assert len(shown.pretty(body)) < 1_500_000
    assert len(shown.pretty(body.encode())) < 1_500_000
