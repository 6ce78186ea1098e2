"""How many hands each host has."""

from __future__ import annotations

from datetime import timedelta

from tests.unit.workers.made import SLOT, held

from rota.workers.hosts.host_semaphore import HostSemaphore

SECOND = timedelta(seconds=1)
SLOW, QUICK = "slow.example", "quick.example"


def test_a_host_has_no_more_hands_than_allowed_and_others_have_theirs() -> None:
    """F8, S5."""
    hands = HostSemaphore(2)
    for _ in range(2):
        assert hands.admit(held(host=SLOW))
        hands.began(SLOW)
    assert not hands.admit(held(host=SLOW))
    assert hands.admit(held(host=QUICK))
    assert hands.admit(held(host=None))
    hands.ended(SLOW)
    assert hands.admit(held(host=SLOW))


def test_what_waits_in_vain_for_a_slow_host_is_in_the_way() -> None:
    hands = HostSemaphore(2)
    for _ in range(2):
        hands.began(SLOW)
    slow = [held(SLOT + n * SECOND, host=SLOW) for n in range(5)]
    urgent = held(SLOT + 9 * SECOND, host=SLOW, priority=9)
    others = [held(SLOT, host=QUICK), held(SLOT, host=None)]
    # As many as it has hands stay: the most urgent, then the oldest.
    assert hands.in_the_way([*slow, *others, urgent]) == slow[1:]


def test_a_quick_host_keeps_what_it_will_come_to() -> None:
    hands = HostSemaphore(1)
    hands.began(QUICK)
    for _ in range(3):
        hands.ended(QUICK)
        hands.began(QUICK)
    waiting = [held(SLOT + n * SECOND, host=QUICK) for n in range(8)]
    assert hands.in_the_way(waiting) == waiting[6:]
    # It has stopped answering since.
    assert hands.in_the_way(waiting) == waiting[1:]


def test_nobody_is_in_the_way_of_a_host_with_a_hand_free() -> None:
    hands = HostSemaphore(2)
    hands.began(SLOW)
    assert hands.in_the_way([held(host=SLOW)] * 5) == []
