"""The rate of a host, as places that are an interval apart (HX6, S18)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.workers.hosts.limits import Limits

SECOND = timedelta(seconds=1)
MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("rate", "interval", "lateness"),
    [
        (1, 1000, 1000),
        (20, 50, 50),
        (50, 20, 20),
        (100, 10.1, 20),
        (1000, 1.019, 20),
    ],
)
def test_places_are_a_part_of_a_second_apart_and_good_for_as_long(
    rate: int, interval: float, lateness: float
) -> None:
    limits = Limits(rate=rate)
    assert limits.interval == interval * MILLISECOND
    assert limits.lateness == lateness * MILLISECOND


@given(st.integers(1, 2000), st.data())
def test_however_late_each_starts_no_second_has_more_than_the_rate_and_one(
    rate: int, data: st.DataObject
) -> None:
    limits = Limits(rate=rate)
    # The worst of all: the places before the second are as late as may be, those in it prompt.
    first = data.draw(st.integers(0, 3))
    late = data.draw(st.floats(0, 1))
    places = [n * limits.interval for n in range(2 * rate + 5)]
    starts = sorted(
        place + (limits.lateness * late if n <= first else timedelta())
        for n, place in enumerate(places)
    )
    begin = starts[0]
    assert sum(begin <= each < begin + SECOND for each in starts) <= rate + 1
