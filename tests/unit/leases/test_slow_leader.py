"""A scheduler that is much slower than another one stands back, and never back and forth."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rota.leases.share import SlowLeader, SlowRule

MS = timedelta(milliseconds=1)
QUICK, SLOW = 2 * MS, 300 * MS
RULE = SlowRule()
BEAT = 0.5


class Node:
    """A rule and its clock: each beat is a sample and a decision."""

    def __init__(self) -> None:
        self.rule = SlowLeader(RULE)
        self.now = 1000.0
        self.changes: list[tuple[float, bool]] = []

    def beat(self, own: timedelta, others: list[timedelta], schedulers: int | None = None) -> bool:
        self.now += BEAT + own.total_seconds()
        before = self.rule.stands_back
        self.rule.note(own.total_seconds(), now=self.now)
        count = len(others) if schedulers is None else schedulers
        after = self.rule.decide(others, schedulers=count, now=self.now)
        if after != before:
            self.changes.append((self.now, after))
        return after

    def beats(self, seconds: float, own: timedelta, others: list[timedelta]) -> bool:
        until = self.now + seconds
        while self.now < until:
            self.beat(own, others)
        return self.rule.stands_back


def test_a_slow_one_stands_back_after_some_seconds_next_to_a_quick_one() -> None:
    node = Node()
    assert not node.beats(RULE.observe_for.total_seconds() - 1, SLOW, [QUICK])
    assert node.beats(3, SLOW, [QUICK])


def test_slow_moments_between_quick_ones_change_nothing() -> None:
    node = Node()
    for _ in range(100):
        node.beats(3, 20 * SLOW, [QUICK])
        assert not node.beat(QUICK, [QUICK])


def test_it_stays_back_while_it_is_slow_and_returns_when_it_has_been_quick_for_a_while() -> None:
    node = Node()
    node.beats(10, SLOW, [QUICK])
    assert node.beats(3600, SLOW, [QUICK])
    assert not node.beats(RULE.observe_for.total_seconds() + 1, QUICK, [QUICK])


def test_quick_again_at_once_it_waits_all_the_same() -> None:
    node = Node()
    node.beats(10, SLOW, [QUICK])
    assert node.beats(RULE.stand_back_for.total_seconds() - 15, QUICK, [QUICK])
    assert not node.beats(20, QUICK, [QUICK])


def test_it_returns_at_once_when_there_is_nobody_else() -> None:
    node = Node()
    node.beats(10, SLOW, [QUICK])
    assert not node.beat(SLOW, [])


def test_another_that_is_there_and_unmeasured_is_no_reason_to_leave_but_one_to_stay_back() -> None:
    node = Node()
    for _ in range(100):
        assert not node.beat(SLOW, [], schedulers=1)
    node.beats(10, SLOW, [QUICK])
    assert node.beat(SLOW, [], schedulers=1)


@given(st.lists(st.floats(0.201, 0.799), min_size=2, max_size=6), st.integers(20, 60))
def test_when_all_are_slow_alike_nobody_stands_back(own: list[float], beats: int) -> None:
    """Alike: none is four times quicker than another."""
    nodes = [Node() for _ in own]
    for _ in range(beats):
        for number, node in enumerate(nodes):
            others = [timedelta(seconds=each) for i, each in enumerate(own) if i != number]
            assert not node.beat(timedelta(seconds=own[number]), others)


_TRIPS = st.integers(0, 2000).map(lambda each: each * MS)


@given(st.lists(st.tuples(_TRIPS, st.lists(_TRIPS, min_size=1, max_size=3)), max_size=600))
def test_with_others_there_it_never_goes_back_and_forth(
    beats: list[tuple[timedelta, list[timedelta]]],
) -> None:
    """Whatever is measured: it stays back for its time, each time longer, and leads for some."""
    node = Node()
    for own, others in beats:
        node.beat(own, others)
    wait = RULE.stand_back_for
    for (at, stood_back), (after, _) in pairwise(node.changes):
        if stood_back:
            assert after - at >= wait.total_seconds()
            wait = min(2 * wait, RULE.longest)
        else:
            assert after - at >= RULE.observe_for.total_seconds()


@given(st.lists(st.tuples(_TRIPS, st.lists(_TRIPS, max_size=3)), max_size=300))
def test_who_stands_back_was_slow_and_somebody_quicker_was_there(
    beats: list[tuple[timedelta, list[timedelta]]],
) -> None:
    node, last = Node(), False
    for own, others in beats:
        stands_back = node.beat(own, others)
        if stands_back and not last:
            assert own > RULE.slow_above
            assert min(others) * RULE.ratio <= own
        # Somebody takes the shards: alone, it is this one.
        assert others or not stands_back
        last = stands_back
