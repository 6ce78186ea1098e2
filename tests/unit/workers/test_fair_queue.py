"""The line of a worker: fair between tenants, in order within each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from rota.queue.shares import may_add
from rota.workers.fair_queue import WeightedFairQueue

WEIGHTS = st.lists(st.integers(1, 1_000), min_size=2, max_size=12)


def tenant(n: int) -> UUID:
    return UUID(int=n + 1)


@dataclass
class Place:
    """A line in which every tenant's next item has the next number."""

    hands: int | None = None
    line: WeightedFairQueue[tuple[int, int]] = field(init=False)
    came: Counter[int] = field(default_factory=Counter[int])

    def __post_init__(self) -> None:
        self.line = WeightedFairQueue(slots=self.hands)

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
    line: WeightedFairQueue[tuple[int, int, int]] = WeightedFairQueue()
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


def test_one_tenant_alone_has_all_slots() -> None:
    place = Place(hands=10)
    place.come(0, count=20)
    assert [place.begin() for _ in range(10)] == [0] * 10


def test_where_there_are_other_tenants_one_that_has_its_share_waits() -> None:
    place = Place(hands=10)
    place.line.others = 1
    place.come(0, count=20)
    assert place.line.may_begin(10) == 5
    assert [place.begin() for _ in range(5)] == [0] * 5
    assert place.line.may_begin(5) == 0
    assert place.line.take(begins=True) is None
    # The next tenant's begin at once, up to its own share.
    place.come(1, count=20)
    assert place.line.may_begin(5) == 3
    assert [place.begin() for _ in range(3)] == [1] * 3
    assert place.line.take(begins=True) is None
    # And the next one's too.
    place.come(2)
    assert place.begin() == 2


def test_a_tenant_that_waits_for_its_share_goes_on_when_one_of_its_attempts_ends() -> None:
    place = Place(hands=10)
    place.line.others = 1
    place.come(0, count=20)
    for _ in range(5):
        place.begin()
    assert place.line.take(begins=True) is None
    assert not place.line.ended(tenant(0))
    assert place.begin() == 0
    assert place.line.take(begins=True) is None


def test_a_share_grows_when_another_tenant_has_no_work_any_more() -> None:
    place = Place(hands=12)
    place.line.others = 1
    place.come(0, count=20)
    place.come(1)
    began = [place.begin() for _ in range(5)]
    assert Counter(began) == {0: 4, 1: 1}
    assert place.line.take(begins=True) is None
    assert place.line.ended(tenant(1)), "others may begin now, in more than the slot that is free"
    assert place.line.may_begin(8) == 2
    assert [place.begin() for _ in range(2)] == [0, 0]
    assert place.line.take(begins=True) is None


def test_a_second_tenant_gets_the_next_slots_of_one_that_had_them_all() -> None:
    """The first tenant was alone when its calls took all slots: what comes free is not for it."""
    place = Place(hands=10)
    place.come(0, count=100)
    for _ in range(10):
        assert place.begin() == 0
    place.come(1, count=100)
    place.line.ended(tenant(0))
    assert place.begin() == 1
    for _ in range(2):
        # One slot stays free for a tenant that has none.
        place.line.ended(tenant(0))
        place.line.take(begins=True)
    had = Counter({0: 7, 1: 2})
    assert place.line.busy == sum(had.values())
    # The second's calls end quickly, again and again: they are not the price for the slow ones.
    for _ in range(50):
        place.line.ended(tenant(1))
        assert place.begin() == 1


def test_shares_are_lifted_when_the_other_tenants_are_gone() -> None:
    place = Place(hands=10)
    place.line.others = 1
    place.come(0, count=20)
    for _ in range(5):
        place.begin()
    assert place.line.take(begins=True) is None
    place.line.others = 0
    assert [place.begin() for _ in range(5)] == [0] * 5


@settings(max_examples=100)
@given(WEIGHTS, st.integers(1, 60), st.integers(0, 1), st.integers())
def test_whatever_comes_and_ends_no_tenant_begins_beyond_its_share(
    weights: list[int], slots: int, others: int, seed: int
) -> None:
    """And nobody waits who may begin: the line agrees with `shares.may_add`."""
    random = Random(seed)
    weights = [1 + weight % 9 for weight in weights]
    place = Place(hands=slots)
    place.line.others = others
    busy: Counter[int] = Counter()
    waiting: Counter[int] = Counter()

    def sum_of_weights() -> int:
        return sum(w for n, w in enumerate(weights) if busy[n] or waiting[n])

    def may(n: int) -> bool:
        used, has_work = busy.total(), sum(bool(busy[i] or waiting[i]) for i in range(len(weights)))
        if not others and has_work < 2:
            return used < slots
        weights_ = sum_of_weights()
        return may_add(slots, used=used, own=busy[n], weight=weights[n], weights=weights_) > 0

    for _ in range(300):
        n = random.randrange(len(weights))
        if random.random() < 0.4:
            place.come(n, weights[n])
            waiting[n] += 1
        elif busy.total() < slots and random.random() < 0.6:
            free = slots - busy.total()
            candidates = {i for i in range(len(weights)) if waiting[i] and may(i)}
            assert bool(place.line.may_begin(free)) == bool(candidates)
            found = place.line.take(begins=True)
            assert (found is None) == (not candidates)
            if found is not None:
                assert found[0] in candidates
                busy[found[0]] += 1
                waiting[found[0]] -= 1
        elif busy[n]:
            place.line.ended(tenant(n))
            busy[n] -= 1
        assert place.line.busy == busy.total()


@settings(max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=2, max_size=6), st.integers())
def test_in_whatever_order_calls_end_tenants_use_slots_in_proportion_to_their_weights(
    weights: list[int], seed: int
) -> None:
    random = Random(seed)
    place = Place(hands=20 * (sum(weights) + 1))
    for n, weight in enumerate(weights):
        place.come(n, weight, 1_000)
    busy: list[int] = []
    for _ in range(8):
        while (found := place.line.take(begins=True)) is not None:
            busy.append(found[0])
        assert Counter(busy) == {n: 20 * weight for n, weight in enumerate(weights)}
        for _ in range(random.randrange(len(busy))):
            place.line.ended(tenant(busy.pop(random.randrange(len(busy)))))


def test_tenants_that_are_gone_are_forgotten() -> None:
    place = Place()
    for n in range(10_000):
        place.come(n)
        assert place.go() == n
    assert len(place.line._tenants) < 200  # pyright: ignore[reportPrivateUsage]
