"""The line of a worker: fair between tenants, in order within each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from rota.workers.line import Line

WEIGHTS = st.lists(st.integers(1, 1_000), min_size=2, max_size=12)


def tenant(n: int) -> UUID:
    return UUID(int=n + 1)


@dataclass
class Place:
    """A line in which every tenant's next item has the next number."""

    hands: int | None = None
    line: Line[tuple[int, int]] = field(init=False)
    came: Counter[int] = field(default_factory=Counter[int])

    def __post_init__(self) -> None:
        self.line = Line(hands=self.hands)

    def come(self, n: int, weight: int = 1, count: int = 1) -> None:
        for _ in range(count):
            self.came[n] += 1
            order = self.came[n]
            self.line.push([(n, order)], tenant=tenant(n), weight=weight, order=order)

    def go(self) -> int | None:
        found = self.line.take()
        return None if found is None else found[0]

    def begin(self) -> int:
        found = self.line.take(begins=True)
        assert found is not None
        return found[0]


@given(WEIGHTS, st.integers(1, 300))
def test_turns_come_in_proportion_to_the_weights_within_one(weights: list[int], turns: int) -> None:
    """TN3: whenever one looks, and whoever is compared."""
    place = Place()
    for n, weight in enumerate(weights):
        place.come(n, weight, turns)
    had: Counter[int] = Counter()
    for _ in range(turns):
        n = place.go()
        assert n is not None
        had[n] += 1
        for a, weight in enumerate(weights):
            # By how far it is ahead of any other, in virtual time: no more than its own turn.
            behind = min(had[b] / other for b, other in enumerate(weights))
            assert had[a] / weight - behind <= 1 / min(weights) + 1e-9


@given(WEIGHTS)
def test_nobody_starves(weights: list[int]) -> None:
    """TN1: in as many turns as all weigh together, everybody has had one."""
    place = Place()
    for n, weight in enumerate(weights):
        place.come(n, weight, weight)
    assert {place.go() for _ in range(sum(weights))} == set(range(len(weights)))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60), st.data())
def test_within_a_tenant_the_order_is_kept_and_nothing_is_lost(
    pushed: list[tuple[int, int]], data: st.DataObject
) -> None:
    """TN4."""
    line: Line[tuple[int, int, int]] = Line()
    waiting: dict[int, list[tuple[int, int]]] = {n: [] for n in range(4)}

    def check() -> None:
        item = line.take()
        if item is None:
            assert not any(waiting.values())
            return
        n, order, at = item
        assert (order, at) == min(waiting[n])
        waiting[n].remove((order, at))

    for at, (n, order) in enumerate(pushed):
        line.push([(n, order, at)], tenant=tenant(n), weight=n + 1, order=(order, at))
        waiting[n].append((order, at))
        assert len(line) == sum(map(len, waiting.values()))
        if data.draw(st.booleans()):
            check()
    while any(waiting.values()):
        check()
    assert line.take() is None
    assert len(line) == 0


def test_having_been_away_is_no_credit() -> None:
    place = Place()
    place.come(0, count=1_100)
    place.come(1)
    for _ in range(1_001):
        place.go()
    place.come(1, count=100)
    had = Counter(place.go() for _ in range(100))
    assert abs(had[0] - had[1]) <= 1


def test_coming_one_by_one_is_no_way_to_get_ahead() -> None:
    """Leaving the line after every turn must not make one new, and first, each time."""
    place = Place()
    place.come(0, count=1_000)
    had: Counter[int | None] = Counter()
    for _ in range(100):
        if had[1] == place.came[1]:
            place.come(1)
        had[place.go()] += 1
    assert abs(had[0] - had[1]) <= 1


def test_what_does_not_fit_leaves_and_costs_no_turn() -> None:
    place = Place()
    place.come(0, count=5)
    place.come(1, count=2)
    refused: list[tuple[int, int]] = []

    def fits(item: tuple[int, int]) -> bool:
        if item[0] == 0 and item[1] < 4:
            refused.append(item)
            return False
        return True

    taken = [place.line.take(fits) for _ in range(5)]
    assert sorted(refused) == [(0, 1), (0, 2), (0, 3)]
    assert [each and each[0] for each in taken] in (
        [0, 1, 0, 1, None],
        [1, 0, 1, 0, None],
        [0, 1, 1, 0, None],
        [1, 0, 0, 1, None],
    )


def test_slow_calls_of_one_do_not_take_the_hands_of_others() -> None:
    """One tenant's calls hang and hold all hands: what comes free is for the other, to its half."""
    place = Place(hands=10)
    place.come(0, count=100)
    for _ in range(10):
        assert place.begin() == 0
    place.come(1, count=100)
    for _ in range(4):
        place.line.ended(tenant(0))
        assert place.begin() == 1
    # The other's calls end quickly, again and again: they are not the price for the slow ones.
    for _ in range(50):
        place.line.ended(tenant(1))
        assert place.begin() == 1


def test_hands_that_nobody_else_needs_are_for_whoever_waits() -> None:
    place = Place(hands=10)
    place.come(0, count=20)
    place.come(1)
    began = Counter(place.begin() for _ in range(10))
    assert began == {0: 9, 1: 1}


@settings(max_examples=40)
@given(WEIGHTS, st.integers(1, 20), st.integers())
def test_in_whatever_order_calls_end_their_shares_are_those_of_the_weights(
    weights: list[int], hands: int, seed: int
) -> None:
    """TN3, within a tenth, and the odd turn."""
    random = Random(seed)
    weights = [1 + weight % 5 for weight in weights]
    place = Place(hands=hands)
    turns = 40 * sum(weights)
    for n, weight in enumerate(weights):
        place.come(n, weight, turns)
    busy = [place.begin() for _ in range(hands)]
    had = Counter(busy)
    for _ in range(turns - hands):
        place.line.ended(tenant(busy.pop(random.randrange(hands))))
        busy.append(place.begin())
        had[busy[-1]] += 1
    for n, weight in enumerate(weights):
        assert abs(had[n] - 40 * weight) <= 4 * weight + 4


def test_tenants_that_are_gone_are_forgotten() -> None:
    place = Place()
    for n in range(10_000):
        place.come(n)
        assert place.go() == n
    assert len(place.line._tenants) < 200  # pyright: ignore[reportPrivateUsage]
