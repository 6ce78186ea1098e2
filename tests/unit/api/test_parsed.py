"""JSON as it is read from bodies (S6): strict, and every name of an object once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.api import parsing
from rota.api.problems import Refused
from rota.time_slicer import run_at_once

REFUSED: list[tuple[bytes, str]] = [
    (b'{"a": 1, "a": 2}', "'a' is more than once"),
    (b'{"a": 1, "\\u0061": 1}', "'a' is more than once"),
    (b'[{"x": [{"b": {}, "c": 1, "b": {}}]}]', "'b' is more than once"),
    (b'{"a:b": ":", "a\\u003ab": 1}', "'a:b' is more than once"),
    (b'{"": 1, "": 1}', "'' is more than once"),
    (b"\xef\xbb\xbf{}", "byte order mark"),
    ('{"a": "é"}'.encode("latin-1"), "not UTF-8"),
    ("{}".encode("utf-16"), "malformed"),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"),
    (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
    (b'{"a": NaN}', "malformed"),
    (b'{"a": Infinity}', "malformed"),
    (b'{"a": -Infinity}', "malformed"),
    (b'{"a": 1e999}', "out of range"),
    (b'{"a": "\\ud800"}', "expected a body of JSON"),
    (b"{'a': 1}", "malformed"),
    (b'{"a": 1,}', "malformed"),
    (b'{"a": 01}', "malformed"),
    (b'{"a": "\x00"}', "expected a body of JSON"),
    (b"{} {}", "malformed"),
    (b"// x\n{}", "malformed"),
]


@pytest.mark.parametrize(("content", "words"), REFUSED, ids=lambda each: str(each)[:40])
def test_what_is_not_plain_json_is_refused_in_words(content: bytes, words: str) -> None:
    with pytest.raises(Refused) as refused:
        run_at_once(parsing.value(content))
    assert refused.value.status == 400
    assert words in refused.value.detail
    assert len(refused.value.detail) < 300


@pytest.mark.parametrize(
    "content",
    [b'{"a:b": "c:d:", ":": {":": ":"}}', b'{"\\u003a": 1, "x\\u003a": ":"}', b'{"a":{"a":1}}'],
)
def test_colons_in_names_and_texts_are_no_trouble(content: bytes) -> None:
    assert run_at_once(parsing.value(content)) == json.loads(content)


texts = st.text(st.sampled_from('ab:"\\\u003aé\n'), max_size=4)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**64 - 1), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=20,
)


@given(value=values, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
def test_whatever_is_written_reads_back(value: Any, ascii_only: bool, indent: int | None) -> None:
    content = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    assert run_at_once(parsing.value(content)) == value


@given(
    pairs=st.lists(st.tuples(texts, values), min_size=1, max_size=5),
    at=st.integers(0, 4),
    again=values,
    escaped=st.booleans(),
)
def test_a_name_that_comes_twice_is_never_passed_over(
    pairs: list[tuple[str, Any]], at: int, again: Any, escaped: bool
) -> None:
    name = pairs[at % len(pairs)][0]
    names = [json.dumps(each) for each, _ in pairs]
    other = '"' + "".join(f"\\u{ord(each):04x}" for each in name) + '"'
    members = [
        f"{written}: {json.dumps(each)}" for written, (_, each) in zip(names, pairs, strict=True)
    ]
    members.append(f"{other if escaped else json.dumps(name)}: {json.dumps(again)}")
    with pytest.raises(Refused, match="more than once"):
        run_at_once(parsing.value(f'{{"outer": [{{{", ".join(members)}}}]}}'.encode()))
