"""Large bodies of JSON, read in parts: the same values and refusals as in one go."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from bench.loop_hold import bodies
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.api import parsing
from rota.api.problems import Refused
from rota.time_slicer import run_at_once

NAMES = ("items", "schedules")

texts = st.text(st.sampled_from('ab:"\\é\n'), max_size=6)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(-1e9, 1e9), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=6), st.dictionaries(texts, inner, max_size=6)),
    max_leaves=30,
)


def padded(value: Any) -> Any:
    """The value among others that make it too large to be read in one call."""
    filler = ["x" * 1_000] * 20
    return {"before": filler, "value": value, "after": [filler, {"again": value}]}


@given(value=values, indent=st.sampled_from([None, 1]))
@settings(max_examples=50)
def test_a_large_value_reads_as_a_small_one_does(value: Any, indent: int | None) -> None:
    content = json.dumps(padded(value), indent=indent).encode()
    assert len(content) > parsing.CHUNK
    assert run_at_once(parsing.value(content)) == msgspec.json.decode(content)


@pytest.mark.parametrize("body", [b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{":":1,"\\u003a":2}'])
def test_a_name_that_is_twice_is_found_in_a_large_body(body: bytes) -> None:
    large = b'{"filler":"' + b"x" * 100_000 + b'","value":' + body + b"}"
    with pytest.raises(Refused, match="more than once"):
        run_at_once(parsing.value(large))


@pytest.mark.parametrize("make", bodies.HARD.values(), ids=bodies.HARD.keys())
def test_a_body_that_is_hard_to_read_takes_many_steps_or_is_refused(make: Any) -> None:
    steps = parsing.value(make())
    count = 0
    try:
        for _ in steps:
            count += 1
    except Refused:
        return
    assert count > 5


def test_a_large_value_that_lies_too_deep_is_refused() -> None:
    content = b"[" * 100 + b'"' + b"x" * 100_000 + b'"' + b"]" * 100
    with pytest.raises(Refused, match="nested too deeply"):
        run_at_once(parsing.value(content))


def read(content: bytes, most: int = 10_000) -> list[dict[str, Any]]:
    return run_at_once(parsing.items(content, NAMES, most=most))


@pytest.mark.parametrize("commas", [1, 300_000])
@pytest.mark.parametrize("shape", ["[{}]", ' {{ "items" : [ {} ] }} ', '{{"schedules":[{}]}}'])
def test_items_are_found_however_many_commas_there_are(shape: str, commas: int) -> None:
    items = [{"name": "a", "payload": [0] * 20_000} for _ in range(commas // 20_000)]
    items += [{"name": 'b", {[', "n": 1.5}, {}]
    content = shape.format(json.dumps(items)[1:-1]).encode()
    assert read(content) == items


@pytest.mark.parametrize("filler", ["", "," + "0," * 210_000 + "0"])
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("[]", "list of 1 to 10,000"),
        ('{"items": [{}], "more": 1}', "nothing but items"),
        ('{"others": [{}]}', "items"),
        ("[{}, 1]", "items[1]"),
        ("[{}", "JSON"),
        ("[{}] x", "JSON"),
        ("[{},]", "JSON"),
        ("17", "list of 1 to 10,000"),
    ],
)
def test_what_is_no_list_of_objects_is_refused(body: str, words: str, filler: str) -> None:
    content = body.replace("[{}", f'[{{"p": [0{filler}]}}').encode()
    with pytest.raises(Refused) as refused:
        read(content)
    assert words in str(refused.value) or "JSON" in str(refused.value)


def test_more_items_than_there_may_be_are_not_all_read() -> None:
    found = parsing.items(b"[" + b",".join([b"{}"] * 3_000_000) + b"]", NAMES, most=10)
    with pytest.raises(Refused, match="at most 10"):
        run_at_once(found)


def test_an_item_larger_than_a_request_of_its_own_is_refused() -> None:
    large = b'[{},{"payload":"' + b"x" * 600_000 + b'"}]'
    with pytest.raises(Refused, match="512 kB"):
        read(large)
    many = b'[{},{"payload":[' + b",".join([b"0"] * 400_000) + b"]}]"
    with pytest.raises(Refused, match="512 kB"):
        read(many)
