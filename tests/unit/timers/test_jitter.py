"""Jitter: a stable offset for each schedule, so that herds thin out and periods stay even."""

from __future__ import annotations

from datetime import timedelta
from statistics import mean
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from rota.timers import offset

windows = st.timedeltas(timedelta(0), timedelta(days=1))


@given(st.uuids(), windows)
def test_the_offset_is_within_the_window_and_always_the_same(id_: UUID, window: timedelta) -> None:
    found = offset(id_, window)
    assert timedelta(0) <= found <= window
    assert found == offset(UUID(str(id_)), window)


def test_without_a_window_there_is_no_offset() -> None:
    assert offset(UUID(int=1), timedelta(0)) == timedelta(0)


def test_schedules_are_spread_evenly() -> None:
    minute = timedelta(seconds=60)
    found = [offset(UUID(int=n), minute).total_seconds() for n in range(6000)]
    counts = [sum(1 for each in found if low <= each < low + 6) for low in range(0, 60, 6)]
    assert abs(mean(found) - 30) < 1
    assert min(counts) > 450


def test_schedules_of_one_instant_are_distributed_over_the_window() -> None:
    """Fifty thousand at midnight become about as many in every second of the window."""
    window = timedelta(seconds=50)
    seconds = [offset(UUID(int=n * 7919 + 1), window).seconds for n in range(5_000)]
    counts = [seconds.count(second) for second in range(50)]
    assert min(counts) > 50
    assert max(counts) < 170
