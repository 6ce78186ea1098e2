"""Instants as people read them: never without their zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import times

NOW = datetime(2026, 11, 16, 13, 56, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "now"),
        (0.4, "now"),
        (4, "in 4 s"),
        (-4, "4 s ago"),
        (75, "in 1 min 15 s"),
        (240, "in 4 min"),
        (245, "in 4 min"),
        (3_600, "in 1 h"),
        (5_400, "in 1 h 30 min"),
        (4 * 3_600 + 1, "in 4 h"),
        (86_400, "in 1 d"),
        (-3 * 86_400, "3 d ago"),
        (400 * 86_400, "in 1 y 35 d"),
    ],
)
def test_how_far_away_is_said_by_its_largest_units(seconds: float, words: str) -> None:
    assert times.relative(NOW + timedelta(seconds=seconds), NOW) == words


@pytest.mark.parametrize(
    ("instant", "zone", "words"),
    [
        (datetime(2026, 11, 16, 14, 0, tzinfo=UTC), "America/New_York", "09:00 New York"),
        (datetime(2026, 11, 16, 14, 0, 5, tzinfo=UTC), "America/New_York", "09:00:05 New York"),
        (datetime(2026, 11, 17, 14, 0, tzinfo=UTC), "UTC", "Tue 17 Nov 14:00 UTC"),
        (datetime(2027, 7, 1, 12, 0, tzinfo=UTC), "Europe/Madrid", "Thu 1 Jul 2027 14:00 Madrid"),
        (datetime(2026, 11, 16, 14, 0, tzinfo=UTC), "+05:30", "19:30 +05:30"),
        (datetime(2026, 11, 16, 19, 0, tzinfo=UTC), "+05:30", "Tue 17 Nov 00:30 +05:30"),
    ],
)
def test_a_wall_clock_names_its_zone_and_the_date_unless_it_is_todays(
    instant: datetime, zone: str, words: str
) -> None:
    """TZ9: whose midnight it is must be seen."""
    assert times.clock(instant, zone, NOW) == words


def test_a_next_run_says_all_three() -> None:
    at = datetime(2026, 11, 16, 14, 0, tzinfo=UTC)
    assert times.next_run(at, "America/New_York", NOW) == "in 4 min · 09:00 New York · 14:00 UTC"
    assert times.next_run(at, "UTC", NOW) == "in 4 min · 14:00 UTC"


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [(None, "-"), (0, "0 ms"), (999, "999 ms"), (1_250, "1.25 s"), (180_000, "3 min")],
)
def test_a_duration_has_a_unit(milliseconds: float | None, words: str) -> None:
    assert times.duration(milliseconds) == words


@given(st.timedeltas(min_value=timedelta(), max_value=timedelta(days=9_999)))
def test_a_length_is_never_overstated(length: timedelta) -> None:
    """What is shown is cut, not rounded up: "in 4 min" is at least four minutes away."""
    units = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "min": 60, "s": 1}
    words = times.compact(length).split()
    shown = sum(int(n) * units[unit] for n, unit in zip(words[::2], words[1::2], strict=True))
    assert shown <= length.total_seconds()
