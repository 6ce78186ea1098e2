"""What a tenant is made of (TN2, TN3, TR16)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.tenants import fields
from rota.tenants.fields import Terms

GOOD: list[tuple[str, Any, Any]] = [
    ("name", "acme", "acme"),
    ("weight", 3, 3),
    ("weight", None, 1),
    ("max_concurrency", 10, 10),
    ("max_concurrency", None, None),
    ("create_rate", 2.5, 2.5),
    ("create_rate", 1, 1.0),
    ("max_schedules", 1_000_000, 1_000_000),
    ("min_interval", "5s", timedelta(seconds=5)),
    ("min_interval", 90, timedelta(seconds=90)),
    ("min_interval", None, timedelta(seconds=60)),
]
BAD: list[tuple[str, Any]] = [
    ("name", ""),
    ("name", None),
    ("name", 5),
    ("name", "a" * 101),
    ("name", "a\nb"),
    ("name", " acme"),
    ("name", "ten_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    ("weight", 0),
    ("weight", 1_001),
    ("weight", True),
    ("weight", "3"),
    ("max_concurrency", 0),
    ("max_concurrency", -1),
    ("create_rate", 0),
    ("create_rate", 1e-50),
    ("create_rate", float("nan")),
    ("create_rate", "fast"),
    ("max_schedules", 1.5),
    ("min_interval", "0s"),
    ("min_interval", "2d"),
    ("min_interval", "soon"),
    ("min_interval", float("inf")),
    ("min_interval", []),
]


@pytest.mark.parametrize(("field", "value", "expected"), GOOD)
def test_a_term_is_taken_as_it_is_meant(field: str, value: Any, expected: Any) -> None:
    assert getattr(fields.read({"name": "acme", field: value}), field) == expected


@pytest.mark.parametrize(("field", "value"), BAD)
def test_a_term_out_of_range_is_refused_by_name(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        fields.change(Terms(name="acme"), {field: value})
    assert caught.value.field == field
    assert "expected" in caught.value.message


def test_a_tenant_needs_a_name() -> None:
    with pytest.raises(InvalidInput, match="expected a name"):
        fields.read({"weight": 2})


def test_an_unknown_term_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput) as caught:
        fields.read({"name": "acme", "wieght": 2})
    assert caught.value.field == "wieght"


@given(
    st.dictionaries(
        st.sampled_from([*fields.NAMES, "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_whatever_is_given_is_taken_or_refused_with_a_field(given_: dict[str, Any]) -> None:
    try:
        terms = fields.change(Terms(name="acme"), given_)
    except InvalidInput as error:
        refused = error.field
    else:
        refused = None
        assert 1 <= terms.weight <= fields.MAX_WEIGHT
        assert timedelta(seconds=1) <= terms.min_interval <= timedelta(days=1)
    assert refused is None or refused in given_
