"""How many slots of a shared pool one tenant may use."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from rota.queue.shares import DEFAULT_WEIGHT, fits_below, may_add, reserve, share

SLOTS = st.integers(1, 10_000)
WEIGHTS = st.lists(st.integers(1, 1_000), min_size=1, max_size=30)


@given(SLOTS, WEIGHTS)
def test_all_shares_together_leave_room_for_one_more_tenant(slots: int, weights: list[int]) -> None:
    total = sum(weights)
    whole = [share(slots, weight, total) for weight in weights]
    room = slots * DEFAULT_WEIGHT / (total + DEFAULT_WEIGHT)
    if all(slots * weight >= total + DEFAULT_WEIGHT for weight in weights):
        assert sum(whole) <= slots - room
    assert all(each >= 1 for each in whole)


@given(SLOTS, WEIGHTS)
def test_a_share_is_in_proportion_to_the_weight_rounded_down_but_to_one_at_least(
    slots: int, weights: list[int]
) -> None:
    total = sum(weights)
    for weight in weights:
        exact = slots * weight / (total + DEFAULT_WEIGHT)
        assert exact - 1 < share(slots, weight, total) <= max(1, exact)


@given(SLOTS, st.integers(1, 1_000), st.integers(0, 5_000), st.integers(1, 20_000))
def test_a_tenant_waits_exactly_until_the_weights_fit(
    slots: int, weight: int, others: int, own: int
) -> None:
    weights = weight + others
    assert (own < share(slots, weight, weights)) == (weights <= fits_below(slots, weight, own))


@given(SLOTS, WEIGHTS, st.data())
def test_tenants_that_come_one_by_one_and_never_end_leave_a_slot_for_the_next(
    slots: int, weights: list[int], data: st.DataObject
) -> None:
    used: Counter[int] = Counter()
    came = 0
    for n, weight in enumerate(weights):
        came += weight
        if used.total() >= slots:
            break
        more = may_add(slots, used=used.total(), own=0, weight=weight, weights=came)
        assert more >= 1, "a tenant that uses none may start while a slot is free"
        used[n] = data.draw(st.integers(1, more))
        assert used[n] == 1 or used.total() <= slots - reserve(slots, came)


@given(SLOTS, st.integers(1, 1_000))
def test_a_tenant_beside_idle_ones_leaves_a_part_of_the_slots(slots: int, weight: int) -> None:
    taken = may_add(slots, used=0, own=0, weight=weight, weights=weight)
    assert taken == 1 or taken <= slots - reserve(slots, weight) < slots
