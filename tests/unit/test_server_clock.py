"""The database's clock, known from afar: never ahead of it (I9, TZ10)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.workers.made import SLOT

from rota.clock import ManualClock
from rota.db.server_clock import ClockStepped, DatabaseClock

HOUR = timedelta(hours=1)


def test_before_the_first_answer_it_is_the_local_clock() -> None:
    clock = ManualClock(SLOT)
    assert DatabaseClock(clock).now() == SLOT
    assert DatabaseClock(clock).age == timedelta.max


async def test_it_goes_on_from_the_answer_by_the_monotonic_clock() -> None:
    clock = ManualClock(SLOT)
    time = DatabaseClock(clock)
    time.note(SLOT + HOUR, asked=0.0, answered=0.0)
    await clock.advance(timedelta(seconds=3))
    assert time.now() == SLOT + HOUR + timedelta(seconds=3)
    assert time.until(SLOT + HOUR + timedelta(seconds=4)) == timedelta(seconds=1)
    assert time.age == timedelta(seconds=3)


@given(st.none() | st.floats(0, 1e6), st.floats(0, 1e6))
def test_whole_seconds_are_those_of_now(answered: float | None, passed: float) -> None:
    clock = ManualClock(SLOT + timedelta(seconds=passed))
    time = DatabaseClock(clock)
    if answered is not None:
        time.note(SLOT + HOUR, asked=answered, answered=answered)
    # A microsecond apart at the most, where the one is about to become the next.
    assert abs(time.now_seconds() - time.now().timestamp()) < 1.00001


@given(st.lists(st.tuples(st.floats(0, 0.5), st.floats(0, 1)), min_size=1, max_size=30))
def test_whatever_the_round_trips_it_is_never_ahead_of_the_database(
    trips: list[tuple[float, float]],
) -> None:
    """The server reads its clock at any moment of the round trip."""
    clock = ManualClock(SLOT)
    time = DatabaseClock(clock)
    at = 0.0
    for trip, share in trips:
        server = SLOT + timedelta(seconds=at + trip * share)
        time.note(server, asked=at, answered=at + trip)
        at += trip
    quickest = min(trip for trip, _ in trips)
    behind = SLOT - time.now()
    # The manual clock stands at 0, when the server's said SLOT.
    assert timedelta(microseconds=-2) <= behind <= timedelta(seconds=quickest, microseconds=2)


def test_a_clock_that_was_set_is_noticed_and_believed() -> None:
    time = DatabaseClock(ManualClock(SLOT))
    assert not time.note(SLOT, asked=0.0, answered=0.0)
    assert not time.note(SLOT + timedelta(seconds=1.02), asked=1.0, answered=1.01)
    assert time.note(SLOT - HOUR, asked=2.0, answered=2.01)
    assert time.now() == SLOT - HOUR - timedelta(seconds=2.01)
    assert time.note(SLOT, asked=3.0, answered=3.0)


def test_old_answers_are_forgotten() -> None:
    time = DatabaseClock(ManualClock(SLOT))
    time.note(SLOT, asked=0.0, answered=0.0)
    drifted = SLOT + timedelta(seconds=20.02)
    assert not time.note(drifted, asked=20.0, answered=20.01)
    assert time.now() == drifted - timedelta(seconds=20.01)


@pytest.mark.parametrize("step", [-3600.0, -1.5, 1.5, 3600.0])
def test_a_step_of_more_than_a_second_is_told_once_with_its_size(step: float) -> None:
    """TZ10, F4."""
    time = DatabaseClock(ManualClock(SLOT))
    time.note(SLOT, asked=0.0, answered=0.0)
    assert time.alarm("worker") is None
    time.note(SLOT + timedelta(seconds=1 + step), asked=1.0, answered=1.0)
    assert time.alarm("worker") == ClockStepped(by=timedelta(seconds=step), seen_by="worker")
    time.note(SLOT + timedelta(seconds=2 + step), asked=2.0, answered=2.0)
    assert time.alarm("worker") is None, "the new time is believed"


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 1), st.floats(0, 60)), max_size=20),
    st.floats(-0.99, 0.99),
)
def test_slow_answers_and_small_corrections_are_no_alarm(
    trips: list[tuple[float, float, float]], nudge: float
) -> None:
    """However slow: no more is believed of an answer than its round trip allows."""
    time = DatabaseClock(ManualClock(SLOT))
    at = 0.0
    for number, (trip, share, pause) in enumerate(trips):
        corrected = nudge if number > len(trips) // 2 else 0.0
        server_at = SLOT + timedelta(seconds=at + trip * share + corrected)
        time.note(server_at, asked=at, answered=at + trip)
        assert time.alarm("scheduler") is None
        at += trip + pause
