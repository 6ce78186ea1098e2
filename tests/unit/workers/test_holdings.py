"""What a worker holds, and in which order it begins."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.workers.made import SCHEDULE_ID, SLOT, WORKER, held

from rota.workers.held import Phase
from rota.workers.holdings import Holdings

SECOND = timedelta(seconds=1)


def test_priority_goes_first_then_the_earlier_instant() -> None:
    holdings = Holdings(concurrency=10, prefetch=0)
    late, early, urgent = held(SLOT + SECOND), held(SLOT), held(SLOT + 2 * SECOND, priority=9)
    for each in (late, early, urgent):
        holdings.add(each)
        holdings.line_up(each)
    assert [holdings.next_due() for _ in range(4)] == [urgent, early, late, None]


def test_nothing_begins_while_all_hands_are_full() -> None:
    holdings = Holdings(concurrency=1, prefetch=5)
    each = held()
    holdings.add(each)
    holdings.line_up(each)
    holdings.calling = 1
    assert holdings.next_due() is None
    holdings.calling = 0
    assert holdings.next_due() is each


def test_what_was_let_go_or_taken_back_is_passed_over() -> None:
    holdings = Holdings(concurrency=5, prefetch=5)
    gone, back = held(), held(SLOT + SECOND)
    for each in (gone, back):
        holdings.add(each)
        holdings.line_up(each)
    holdings.remove(gone)
    back.phase = Phase.SETTLING
    assert holdings.next_due() is None


def test_room_is_concurrency_and_prefetch_less_what_is_held() -> None:
    holdings = Holdings(concurrency=2, prefetch=3)
    assert holdings.room == 5
    each = held()
    holdings.add(each)
    assert holdings.room == 4
    assert holdings.concerns(each.claim.id)
    assert holdings.concerns(SCHEDULE_ID)
    assert not holdings.concerns(WORKER)


def test_a_newer_claim_of_the_same_firing_is_not_forgotten_with_the_older() -> None:
    holdings = Holdings(concurrency=2, prefetch=3)
    older, newer = held(), held(attempt=2)
    holdings.add(older)
    holdings.add(newer)
    holdings.remove(older)
    assert holdings.get(newer.claim.id) is newer
