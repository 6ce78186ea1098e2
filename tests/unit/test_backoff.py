"""Waits before trying again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.backoff import Backoff, Retry

BACKOFF = Backoff(first_interval=timedelta(milliseconds=50), max_interval=timedelta(seconds=2))


def test_waits_double_up_to_the_longest() -> None:
    waits = [BACKOFF.interval(failures, draw=1.0) for failures in range(1, 9)]
    assert [wait / timedelta(milliseconds=1) for wait in waits] == [
        50, 100, 200, 400, 800, 1600, 2000, 2000,
    ]  # fmt: skip


@given(failures=st.integers(1, 10**9), draw=st.floats(0, 1, exclude_max=True))
def test_no_wait_is_longer_than_the_longest_or_shorter_than_half_the_first(
    failures: int, draw: float
) -> None:
    assert timedelta(milliseconds=25) <= BACKOFF.interval(failures, draw=draw)
    assert BACKOFF.interval(failures, draw=draw) <= timedelta(seconds=2)


def test_there_is_no_wait_before_a_failure() -> None:
    with pytest.raises(ValueError, match="at least 1 failure, got 0"):
        BACKOFF.interval(0, draw=0.5)


def test_something_has_to_be_tried() -> None:
    with pytest.raises(ValueError, match="at least 1 try, got 0"):
        Retry(tries=0)
