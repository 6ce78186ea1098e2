"""Sharing places between tenants."""

from __future__ import annotations

from collections import Counter
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.fair_queue import Turns, Want, wants_of

A, B, C = UUID(int=1), UUID(int=2), UUID(int=3)

WEIGHTS = st.lists(st.integers(1, 1_000), min_size=1, max_size=12).map(
    lambda weights: {UUID(int=n + 1): weight for n, weight in enumerate(weights)}
)


def wants(weights: dict[UUID, int], most: int = 10_000) -> list[Want]:
    return [Want(id_, weight, most) for id_, weight in weights.items()]


@given(WEIGHTS, st.lists(st.integers(1, 40), min_size=1, max_size=60), st.randoms())
def test_shares_hold_over_many_small_claims(
    weights: dict[UUID, int], claims: list[int], random: Random
) -> None:
    """TN3: claims of any size, each within two turns of its exact part of all."""
    turns, had = Turns(draw=random.random), Counter[UUID]()
    turns.charge(dict.fromkeys(weights, 1), weights)
    for places in claims:
        got = turns.allot(places, wants(weights))
        assert sum(got.values()) == places
        turns.charge(got, weights)
        had.update(got)
    in_all = sum(weights.values())
    for id_, weight in weights.items():
        exact = sum(claims) * weight / in_all
        assert abs(had[id_] - exact) <= 2 + 2 * weight / min(weights.values())


@given(WEIGHTS, st.integers(0, 2_000), st.data())
def test_what_one_does_not_use_goes_to_the_others(
    weights: dict[UUID, int], places: int, data: st.DataObject
) -> None:
    most = {id_: data.draw(st.integers(0, 300)) for id_ in weights}
    got = Turns().allot(places, [Want(id_, weights[id_], most[id_]) for id_ in weights])
    assert all(got.get(id_, 0) <= most[id_] for id_ in weights)
    assert sum(got.values()) == min(places, sum(most.values()))


def test_having_been_away_is_no_credit() -> None:
    turns, weights = Turns(), {A: 1, B: 1}
    turns.charge({A: 500, B: 1}, weights)
    got = turns.allot(100, wants(weights))
    assert abs(got[A] - got[B]) <= 2


def test_turns_that_were_not_had_are_not_lost() -> None:
    """A tenant whose rows another worker had just locked is not charged for them."""
    turns, weights = Turns(), {A: 1, B: 1}
    turns.charge({A: 1, B: 1}, weights)
    for _ in range(10):
        turns.charge({A: turns.allot(10, wants(weights))[A]}, weights)
    assert turns.allot(10, wants(weights))[B] >= 5


@pytest.mark.parametrize(("weight", "expected"), [(1, 250), (3, 750)])
def test_those_who_claim_once_are_fair_taken_together(weight: int, expected: int) -> None:
    random = Random(7)
    weights = {A: weight, B: 4 - weight}
    firsts = Counter(
        next(iter(Turns(draw=random.random, lottery=True).allot(1, wants(weights))))
        for _ in range(1_000)
    )
    assert abs(firsts[A] - expected) < 60


@pytest.mark.parametrize(
    ("held", "most", "missing"), [(0, 11, 10), (9, 2, 1), (10, 0, 0), (50, 0, 0)]
)
def test_who_has_its_share_takes_no_more(held: int, most: int, missing: int) -> None:
    (want,) = (each for each in wants_of({A: 1, B: 2}, {A: held}, places=30) if each.tenant == A)
    assert (want.most, want.missing) == (most, missing)


@given(WEIGHTS, st.integers(0, 2_000))
def test_shares_are_not_less_than_there_is_nor_missed_by_more(
    weights: dict[UUID, int], places: int
) -> None:
    found = wants_of(weights, {}, places=places)
    assert sum(each.missing for each in found) <= places <= sum(each.most for each in found)


def test_when_nobody_has_work_left_all_begin_anew() -> None:
    turns, weights = Turns(), {A: 1, B: 1}
    turns.charge({A: 500, B: 1}, weights)
    turns.reset()
    assert turns.allot(100, wants(weights)) == {A: 50, B: 50}
