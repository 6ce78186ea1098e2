"""Waiting between attempts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInput
from rota.queue.retry import SHAPES, delay, require_shape

FIVE = timedelta(seconds=5)
HOUR = timedelta(hours=1)


@pytest.mark.parametrize(
    ("shape", "seconds"),
    [("exponential", [5, 10, 20, 40]), ("linear", [5, 10, 15, 20]), ("fixed", [5, 5, 5, 5])],
)
def test_each_shape_has_the_waits_it_is_known_for(shape: str, seconds: list[int]) -> None:
    waits = [delay(require_shape(shape), failures=n, base=FIVE) for n in range(1, 5)]
    assert [wait.total_seconds() for wait in waits] == seconds


@given(
    st.sampled_from(SHAPES),
    st.integers(1, 40_000),
    st.timedeltas(timedelta(), timedelta(days=365)),
    st.timedeltas(timedelta(), timedelta(days=365)),
)
def test_a_wait_is_never_negative_never_too_long_and_never_shrinks(
    name: str, failures: int, base: timedelta, longest: timedelta
) -> None:
    shape = require_shape(name)
    wait = delay(shape, failures=failures, base=base, longest=longest)
    assert timedelta() <= wait <= longest
    assert wait <= delay(shape, failures=failures + 1, base=base, longest=longest)


def test_an_unknown_backoff_is_refused_and_not_replaced() -> None:
    with pytest.raises(InvalidInput, match="expected one of exponential, linear, fixed, got") as e:
        require_shape("expotential")
    assert e.value.field == "backoff"


def test_no_failure_has_no_wait() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        delay("fixed", failures=0, base=FIVE)
