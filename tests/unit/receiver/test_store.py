"""The memory of a receiver: what is new, busy, done and stale."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.receiver.signed import NOW

from rota.clock import ManualClock
from rota.receiver import Begun, Delivery, MemoryStore

HOUR = timedelta(hours=1)


def delivery(firing: str = "f", token: str = "t", **fields: object) -> Delivery:
    return Delivery(firing_id=firing, token=token, **fields)  # pyright: ignore[reportArgumentType]


def test_a_firing_is_started_once_and_a_duplicate_after_it_was_handled() -> None:
    store = MemoryStore()
    assert store.begin(delivery()) is Begun.STARTED
    assert store.begin(delivery(token="u")) is Begun.BUSY
    store.finish(delivery(), ok=True)
    assert store.begin(delivery(token="v")) is Begun.DUPLICATE
    assert store.begin(delivery("g")) is Begun.STARTED


def test_a_firing_whose_handling_failed_is_new_again() -> None:
    store = MemoryStore()
    store.begin(delivery())
    store.finish(delivery(), ok=False)
    assert store.begin(delivery(token="u")) is Begun.STARTED


def test_who_died_while_handling_does_not_block_the_firing_for_ever() -> None:
    clock = ManualClock(NOW)
    store = MemoryStore(busy_ttl=HOUR, clock=clock)
    store.begin(delivery())
    clock._elapsed += HOUR
    assert store.begin(delivery(token="u")) is Begun.STARTED
    # Who was thought dead and failed after all must not free what another has now.
    store.finish(delivery(), ok=False)
    assert store.begin(delivery(token="v")) is Begun.BUSY


def test_what_was_handled_is_forgotten_after_its_time() -> None:
    clock = ManualClock(NOW)
    store = MemoryStore(seen_ttl=HOUR, clock=clock)
    for n in range(5):
        store.begin(delivery(str(n)))
        store.finish(delivery(str(n)), ok=True)
    clock._elapsed += HOUR
    for n in range(3):
        assert store.begin(delivery(f"new {n}")) is Begun.STARTED
    assert len(store) == 3


def test_a_fence_older_than_one_seen_for_the_schedule_is_stale() -> None:
    store = MemoryStore()

    def begin(firing: str, schedule: str, fence: int) -> Begun:
        return store.begin(delivery(firing, schedule_id=schedule, fence=fence))

    assert begin("a", "s", 7) is Begun.STARTED
    assert begin("b", "s", 7) is Begun.STARTED
    assert begin("c", "s", 6) is Begun.STALE
    assert begin("d", "other", 6) is Begun.STARTED
    assert begin("e", "s", 8) is Begun.STARTED
    assert begin("f", "s", 7) is Begun.STALE


def test_a_duplicate_with_an_old_fence_is_a_duplicate() -> None:
    """It was handled: Rota is to hear of success, not of a conflict."""
    store = MemoryStore()
    old = delivery("a", schedule_id="s", fence=1)
    store.begin(old)
    store.finish(old, ok=True)
    store.begin(delivery("b", schedule_id="s", fence=2))
    assert store.begin(old) is Begun.DUPLICATE


def test_a_run_that_was_asked_for_has_no_fence_and_is_never_stale() -> None:
    store = MemoryStore()
    store.begin(delivery("a", schedule_id="s", fence=9))
    assert store.begin(delivery("b", schedule_id="s")) is Begun.STARTED


def test_memory_is_bounded_whatever_comes() -> None:
    store = MemoryStore(max_firings=10, max_schedules=10)
    for n in range(1_000):
        store.begin(delivery(str(n), schedule_id=str(n), fence=1))
    assert len(store) == 10
    assert len(store._fences) == 10


def test_of_many_threads_with_one_firing_one_starts() -> None:
    """For each of a hundred firings, eight threads that set off together."""
    store = MemoryStore()
    barrier = threading.Barrier(8)

    def run(name: int) -> list[Begun]:
        found: list[Begun] = []
        for n in range(100):
            barrier.wait()
            found.append(store.begin(delivery(str(n), token=str(name))))
        return found

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(run, range(8)))
    for each in zip(*results, strict=True):
        assert sorted(begun.name for begun in each) == ["BUSY"] * 7 + ["STARTED"]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.booleans())))
def test_whatever_the_order_no_firing_is_handled_twice_and_no_fence_goes_back(
    steps: list[tuple[str, int, bool]],
) -> None:
    store = MemoryStore()
    handled: set[str] = set()
    highest = 0
    for n, (firing, fence, ok) in enumerate(steps):
        each = delivery(firing, token=str(n), schedule_id="s", fence=fence)
        begun = store.begin(each)
        if firing in handled:
            assert begun is Begun.DUPLICATE
        elif fence < highest:
            assert begun is Begun.STALE
        else:
            assert begun is Begun.STARTED
            highest = fence
            store.finish(each, ok=ok)
            handled |= {firing} if ok else set()
