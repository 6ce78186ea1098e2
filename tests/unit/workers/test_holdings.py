"""What a worker holds, and in which order it begins."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID, uuid4

from tests.unit.workers.made import SCHEDULE_ID, SLOT, TENANT_ID, WORKER, held

from rota.workers.held import Held, Phase
from rota.workers.holdings import Holdings

SECOND = timedelta(seconds=1)
OTHER = UUID("019cd1e3-0000-7000-8000-000000000009")


def test_priority_goes_first_then_the_earlier_instant() -> None:
    holdings = Holdings(concurrency=10, prefetch=0)
    late, early, urgent = held(SLOT + SECOND), held(SLOT), held(SLOT + 2 * SECOND, priority=9)
    for each in (late, early, urgent):
        holdings.add(each)
        holdings.line_up([each])
    assert [holdings.next_due() for _ in range(4)] == [urgent, early, late, None]


def test_nothing_begins_while_all_hands_are_full() -> None:
    holdings = Holdings(concurrency=1, prefetch=5)
    busy, each = held(SLOT - SECOND), held()
    for one in (busy, each):
        holdings.add(one)
    holdings.line_up([busy, each])
    assert holdings.next_due() is busy
    assert holdings.calling == 1
    assert holdings.next_due() is None
    holdings.ended(busy)
    assert holdings.next_due() is each


def test_a_herd_of_several_tenants_and_priorities_lines_up_in_order() -> None:
    holdings = Holdings(concurrency=10, prefetch=0)
    slots = (SLOT, SLOT, SLOT, SLOT - SECOND, SLOT)
    batch = [held(slot, id=uuid4(), priority=5) for slot in slots]
    batch[1] = held(SLOT, id=uuid4(), priority=9)
    for each in batch:
        holdings.add(each)
    holdings.line_up(batch)
    first, urgent, second, early, third = batch
    assert [holdings.next_due() for _ in range(6)] == [urgent, early, first, second, third, None]
    assert holdings.calling == 5


def test_what_was_let_go_or_taken_back_is_passed_over() -> None:
    holdings = Holdings(concurrency=5, prefetch=5)
    gone, back = held(), held(SLOT + SECOND)
    for each in (gone, back):
        holdings.add(each)
        holdings.line_up([each])
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


def lined_up(holdings: Holdings, *each: Held) -> None:
    for one in each:
        holdings.add(one)
        holdings.line_up([one])


def test_tenants_take_turns_by_their_weight() -> None:
    """TN3."""
    holdings = Holdings(concurrency=100, prefetch=0)
    backlog = [held(SLOT + n * SECOND, priority=9) for n in range(20)]
    few = [held(SLOT + (50 + n) * SECOND, tenant_id=OTHER, weight=3) for n in range(12)]
    lined_up(holdings, *backlog, *few)
    begun = [holdings.next_due() for _ in range(16)]
    assert [each for each in begun if each in few] == few
    assert [each for each in begun if each in backlog] == backlog[:4]


def test_a_host_at_its_limit_holds_back_neither_tenants_nor_other_hosts() -> None:
    holdings = Holdings(concurrency=100, prefetch=0)
    full = [held(SLOT + n * SECOND, host="full") for n in range(3)]
    same = held(SLOT + 5 * SECOND, host="free")
    other = held(SLOT + 6 * SECOND, host="free", tenant_id=OTHER)
    lined_up(holdings, *full, same, other)

    def admit(each: Held) -> bool:
        return each.claim.host != "full"

    begun = [holdings.next_due(admit) for _ in range(3)]
    assert begun in ([same, other, None], [other, same, None])
    assert holdings.parked("full") == 3
    assert holdings.unpark("full") == 1
    assert holdings.next_due() is full[0]
    holdings.remove(full[1])
    assert holdings.unpark("full", 5) == 1
    assert holdings.next_due() is full[2]
    assert holdings.unpark("full") == holdings.parked("full") == 0


def test_claims_are_counted_by_tenant() -> None:
    holdings = Holdings(concurrency=2, prefetch=8)
    assert holdings.spare == 2
    mine, again, theirs = held(), held(attempt=2), held(SLOT + SECOND, tenant_id=OTHER)
    for each in (mine, again, theirs):
        holdings.add(each)
    assert holdings.by_tenant == {TENANT_ID: 1, OTHER: 1}
    holdings.remove(mine)
    holdings.remove(theirs)
    assert holdings.by_tenant == {TENANT_ID: 1}


def test_what_was_let_go_of_while_set_aside_is_forgotten_by_tidying() -> None:
    """A host that hangs has its claims postponed and come back, again and again."""
    holdings = Holdings(concurrency=10, prefetch=10)
    waits = held(SLOT + 9 * SECOND, host="full")
    lined_up(holdings, waits)
    for n in range(5):
        back = held(SLOT + n * SECOND, host="full")
        lined_up(holdings, back)
        assert holdings.next_due(lambda _: False) is None
        back.phase = Phase.SETTLING
        holdings.remove(back)
        holdings.tidy()
        assert holdings.parked("full") == 1
    assert holdings.unpark("full", 5) == 1
    assert holdings.next_due() is waits
    holdings.tidy()
    assert holdings.parked("full") == 0
