"""Spread: a stable offset for each schedule, so that herds thin out and periods stay even (JF1)."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from rota.timers import offset

ANY_ID = st.uuids()
ANY_WINDOW = st.timedeltas(timedelta(), timedelta(hours=1))


@given(ANY_ID, ANY_WINDOW)
def test_an_offset_lies_within_the_window_and_is_always_the_same(
    schedule_id: UUID, window: timedelta
) -> None:
    found = offset(schedule_id, window)
    assert timedelta() <= found <= window
    assert offset(schedule_id, window) == found


def test_schedules_of_one_instant_are_spread_over_the_window() -> None:
    """F5: fifty thousand at midnight become about as many in every second of the window."""
    window = timedelta(seconds=50)
    seconds = [offset(UUID(int=n * 7919 + 1), window).seconds for n in range(5_000)]
    counts = [seconds.count(second) for second in range(50)]
    assert min(counts) > 50
    assert max(counts) < 170
