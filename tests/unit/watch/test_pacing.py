"""How often a thing is said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from rota.watch.pacing import MAX_TRIES, REPEATS, retry_interval

MINUTE = timedelta(minutes=1)


def test_the_longer_it_lasts_the_less_is_said_but_never_nothing() -> None:
    assert REPEATS[0] == MINUTE
    assert sorted(REPEATS) == list(REPEATS)
    assert REPEATS[-1] == timedelta(days=1)


@pytest.mark.parametrize(("tries", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320)])
def test_tries_are_further_and_further_apart(tries: int, seconds: int) -> None:
    assert retry_interval(tries) == timedelta(seconds=seconds)


def test_in_the_end_it_is_given_up() -> None:
    assert retry_interval(MAX_TRIES) is None


def test_a_receiver_may_ask_for_more_time_but_not_for_ever() -> None:
    assert retry_interval(1, wanted=MINUTE) == MINUTE
    assert retry_interval(3, wanted=timedelta(seconds=1)) == timedelta(seconds=20)
    assert retry_interval(1, wanted=timedelta(days=9)) == timedelta(minutes=10)
