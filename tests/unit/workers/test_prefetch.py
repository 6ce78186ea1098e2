"""How much a worker may hold."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from rota.workers import prefetch
from rota.workers.prefetch import Prefetch

LEAD = timedelta(seconds=2)


def fed(rate: int, *, seconds: int = 2, prefetch: int = 10) -> tuple[Prefetch, float]:
    one, now = Prefetch(prefetch=prefetch, lead=LEAD), 100.0
    for _ in range(seconds * 100):
        now += 0.01
        one.record(rate // 100, now)
    return one, now


def test_who_does_little_holds_what_it_was_given() -> None:
    one, now = fed(1_000)
    assert one.prefetch(now) == 10
    assert Prefetch(prefetch=3, lead=LEAD).ahead(0.0) == 3


def test_who_does_much_holds_what_it_does_in_a_moment() -> None:
    one, now = fed(20_000)
    assert 4_500 <= one.prefetch(now) <= 5_500
    assert one.ahead(now) == prefetch.MOST_AHEAD
    one, now = fed(10_000)
    assert 36_000 <= one.ahead(now) <= 44_000


def test_after_a_rest_it_holds_little_of_what_is_due_and_much_of_what_is_ahead() -> None:
    """A herd that comes once an hour finds nobody who has just been at work."""
    one, now = fed(20_000)
    assert one.prefetch(now + 2) == 10
    assert one.ahead(now + 2) > 30_000
    assert one.ahead(now + prefetch.FORGET + 1) == 10


def test_who_was_quick_may_take_at_once_what_it_did_in_a_moment_and_who_was_slow_may_not() -> None:
    """Not what it does in seconds: others who have nothing to do could have begun it."""
    one, now = fed(20_000)
    assert 4_500 <= one.peak(now + 2) <= 5_500
    assert one.peak(now + prefetch.FORGET + 1) == 10
    one, now = fed(1_000)
    assert one.ahead(now + 2) > 3_000
    assert one.peak(now + 2) == 10


def test_who_held_too_much_claims_no_more_than_given_until_it_does_much_again() -> None:
    one, now = fed(20_000)
    one.reset()
    assert one.ahead(now) == 10
    for _ in range(20):
        now += 0.01
        one.record(200, now)
    assert one.ahead(now) > 30_000


@given(st.lists(st.tuples(st.integers(0, 5_000), st.floats(0.0, 3.0)), max_size=50))
def test_it_is_never_less_than_given_nor_more_than_the_most(did: list[tuple[int, float]]) -> None:
    one, now = Prefetch(prefetch=7, lead=LEAD), 0.0
    for count, passed in did:
        now += passed
        one.record(count, now)
        assert 7 <= one.prefetch(now) <= prefetch.MOST
        assert 7 <= one.ahead(now) <= prefetch.MOST_AHEAD
