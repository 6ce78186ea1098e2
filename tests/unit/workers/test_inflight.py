"""What a worker holds, and in which order it begins."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from tests.deadlines import patience
from tests.unit.workers.made import SCHEDULE_ID, SLOT, TENANT_ID, WORKER, held

from rota.workers import inflight as module
from rota.workers.inflight import Inflight, InflightClaim, Phase

if TYPE_CHECKING:
    import pytest

SECOND = timedelta(seconds=1)
OTHER = UUID("019cd1e3-0000-7000-8000-000000000009")


def test_priority_goes_first_then_the_earlier_instant() -> None:
    inflight = Inflight(concurrency=10, prefetch=0)
    late, early, urgent = held(SLOT + SECOND), held(SLOT), held(SLOT + 2 * SECOND, priority=9)
    for each in (late, early, urgent):
        inflight.add(each)
        inflight.line_up([each])
    assert [inflight.next_due() for _ in range(4)] == [urgent, early, late, None]


def test_nothing_begins_while_all_hands_are_full() -> None:
    inflight = Inflight(concurrency=1, prefetch=5)
    busy, each = held(SLOT - SECOND), held()
    for one in (busy, each):
        inflight.add(one)
    inflight.line_up([busy, each])
    assert inflight.next_due() is busy
    assert inflight.calling == 1
    assert inflight.next_due() is None
    inflight.ended(busy)
    assert inflight.next_due() is each


def test_a_herd_of_several_tenants_and_priorities_lines_up_in_order() -> None:
    inflight = Inflight(concurrency=10, prefetch=0)
    slots = (SLOT, SLOT, SLOT, SLOT - SECOND, SLOT)
    batch = [held(slot, id=uuid4(), priority=5) for slot in slots]
    batch[1] = held(SLOT, id=uuid4(), priority=9)
    for each in batch:
        inflight.add(each)
    inflight.line_up(batch)
    first, urgent, second, early, third = batch
    assert [inflight.next_due() for _ in range(6)] == [urgent, early, first, second, third, None]
    assert inflight.calling == 5


def test_what_was_let_go_or_taken_back_is_passed_over() -> None:
    inflight = Inflight(concurrency=5, prefetch=5)
    gone, back = held(), held(SLOT + SECOND)
    for each in (gone, back):
        inflight.add(each)
        inflight.line_up([each])
    inflight.remove(gone)
    back.phase = Phase.COMPLETING
    assert inflight.next_due() is None


def test_room_is_concurrency_and_prefetch_less_what_is_held() -> None:
    inflight = Inflight(concurrency=2, prefetch=3)
    assert inflight.room == 5
    each = held()
    inflight.add(each)
    assert inflight.room == 4
    assert inflight.concerns(each.claim.id)
    assert inflight.concerns(SCHEDULE_ID)
    assert not inflight.concerns(WORKER)


def test_a_newer_claim_of_the_same_firing_is_not_forgotten_with_the_older() -> None:
    inflight = Inflight(concurrency=2, prefetch=3)
    older, newer = held(), held(attempt=2)
    inflight.add(older)
    inflight.add(newer)
    inflight.remove(older)
    assert inflight.get(newer.claim.id) is newer


def lined_up(inflight: Inflight, *each: InflightClaim) -> None:
    for one in each:
        inflight.add(one)
        inflight.line_up([one])


def test_tenants_take_turns_by_their_weight() -> None:
    inflight = Inflight(concurrency=100, prefetch=0)
    backlog = [held(SLOT + n * SECOND, priority=9) for n in range(20)]
    few = [held(SLOT + (50 + n) * SECOND, tenant_id=OTHER, weight=3) for n in range(12)]
    lined_up(inflight, *backlog, *few)
    begun = [inflight.next_due() for _ in range(16)]
    assert [each for each in begun if each in few] == few
    assert [each for each in begun if each in backlog] == backlog[:4]


def test_a_host_at_its_limit_holds_back_neither_tenants_nor_other_hosts() -> None:
    inflight = Inflight(concurrency=100, prefetch=0)
    full = [held(SLOT + n * SECOND, host="full") for n in range(3)]
    same = held(SLOT + 5 * SECOND, host="free")
    other = held(SLOT + 6 * SECOND, host="free", tenant_id=OTHER)
    lined_up(inflight, *full, same, other)

    def admit(each: InflightClaim) -> bool:
        return each.claim.host != "full"

    begun = [inflight.next_due(admit) for _ in range(3)]
    assert begun in ([same, other, None], [other, same, None])
    assert inflight.parked("full") == 3
    assert inflight.unpark("full") == 1
    assert inflight.next_due() is full[0]
    inflight.remove(full[1])
    assert inflight.unpark("full", 5) == 1
    assert inflight.next_due() is full[2]
    assert inflight.unpark("full") == inflight.parked("full") == 0


def test_claims_are_counted_by_tenant() -> None:
    inflight = Inflight(concurrency=2, prefetch=8)
    assert inflight.spare == 2
    mine, again, theirs = held(), held(attempt=2), held(SLOT + SECOND, tenant_id=OTHER)
    for each in (mine, again, theirs):
        inflight.add(each)
    assert inflight.by_tenant == {TENANT_ID: 1, OTHER: 1}
    inflight.remove(mine)
    inflight.remove(theirs)
    assert inflight.by_tenant == {TENANT_ID: 1}


def test_what_was_let_go_of_while_set_aside_is_forgotten_by_tidying() -> None:
    """A host that hangs has its claims postponed and come back, again and again."""
    inflight = Inflight(concurrency=10, prefetch=10)
    waits = held(SLOT + 9 * SECOND, host="full")
    lined_up(inflight, waits)
    for n in range(5):
        back = held(SLOT + n * SECOND, host="full")
        lined_up(inflight, back)
        assert inflight.next_due(lambda _: False) is None
        back.phase = Phase.COMPLETING
        inflight.remove(back)
        inflight.tidy()
        assert inflight.parked("full") == 1
    assert inflight.unpark("full", 5) == 1
    assert inflight.next_due() is waits
    inflight.tidy()
    assert inflight.parked("full") == 0


async def test_what_has_ended_waits_until_what_may_start_has_started() -> None:
    inflight = Inflight(concurrency=10, prefetch=0)
    batch = [held(SLOT, id=uuid4()) for _ in range(2)]
    for each in batch:
        inflight.add(each)
    inflight.line_up(batch)
    waiting = [asyncio.create_task(inflight.starts_over()) for _ in range(3)]
    await _turn()
    assert inflight.next_due() is batch[0]
    # One that is cancelled does not end the wait of the others.
    waiting[0].cancel()
    await _turn()
    assert [each.done() for each in waiting] == [True, False, False]
    assert inflight.next_due() is batch[1]
    await asyncio.gather(*waiting[1:])
    assert inflight._starts_limit is None


async def test_starts_come_first_right_after_an_instant_and_not_in_a_backlog(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    inflight = Inflight(concurrency=1, prefetch=10)
    late, punctual = held(SLOT, id=uuid4()), held(SLOT, id=uuid4())
    inflight.add(late)
    inflight.add(punctual)
    inflight.line_up([late])
    assert not inflight.is_starting
    inflight.at_instant([punctual])
    assert inflight.is_starting
    inflight.next_due()
    assert not inflight.is_starting, "all slots are in use"
    inflight.ended(late)
    assert inflight.is_starting
    monkeypatch.setattr(module, "_STARTS_LIMIT", 0.0)
    inflight.at_instant([])
    assert not inflight.is_starting, "its moment is over"


async def test_what_has_ended_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as when nothing may start because the session is not confirmed."""
    monkeypatch.setattr(module, "_STARTS_LIMIT", 0.01)
    inflight = Inflight(concurrency=10, prefetch=0)
    async with asyncio.timeout(patience(10)):
        await inflight.starts_over()


async def _turn() -> None:
    """One turn of the loop, and what it has begun."""
    turned = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(turned.set_result, None)
    await turned
