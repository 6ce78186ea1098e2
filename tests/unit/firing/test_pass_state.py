"""Low-water marks and looks: what keeps a pass cheap and the loop awake."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from rota.firing.fire import Fired, Reading
from rota.firing.low_watermarks import BEGINNING, LowWatermarks
from rota.firing.pass_state import PassState
from rota.firing.plan import Due, Plan, plan
from rota.leases import Lease
from rota.schedules.schedule_cache import MisfireRules, ScheduleSnapshot
from rota.triggers.interval import Interval

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
TICK = timedelta(microseconds=1)
LEAD = timedelta(seconds=2)
SECOND = timedelta(seconds=1)


def lease(shard: int, fence: int = 1) -> Lease:
    return Lease(shard=shard, fence=fence, trusted_until=1.0)


def due(number: int, at: datetime, shard: int = 0) -> Due:
    return Due(
        schedule_id=UUID(int=number),
        shard=shard,
        scheduled_for=at,
        due_at=at,
        version=1,
        fired=0,
        revision=0,
        live=False,
    )


def planned(timer: Due, every: timedelta) -> Plan:
    snapshot = ScheduleSnapshot(
        schedule_id=timer.schedule_id,
        tenant_id=UUID(int=0),
        version=1,
        trigger=Interval(every, NOON),
        jitter=timedelta(),
        misfire=MisfireRules(),
        overlap="skip",
        max_firings=None,
        lane="http",
        host=None,
        priority=5,
    )
    made = plan(timer, snapshot, now=NOON)
    assert made is not None
    return made


def look(*timers: Due, limit: int = 10, shards: int = 1) -> PassState:
    reading = Reading(now=NOON, timers=timers)
    return PassState(reading, dict.fromkeys(range(shards), BEGINNING), limit=limit, lead=LEAD)


def test_a_new_lease_is_read_from_the_beginning() -> None:
    marks = LowWatermarks()
    assert marks.of([lease(1), lease(2)]) == {1: BEGINNING, 2: BEGINNING}
    marks.raise_to({1: NOON})
    assert marks.of([lease(1), lease(2)]) == {1: NOON - TICK, 2: BEGINNING}
    assert marks.of([lease(1, fence=2)]) == {1: BEGINNING}


def test_news_of_a_shard_takes_its_mark_back() -> None:
    marks = LowWatermarks()
    marks.of([lease(1), lease(2)])
    marks.raise_to({1: NOON, 2: NOON})
    marks.forget([2, 9])
    assert marks.of([lease(1), lease(2)]) == {1: NOON - TICK, 2: BEGINNING}
    marks.forget()
    assert marks.of([lease(1), lease(2)]) == {1: BEGINNING, 2: BEGINNING}


def test_a_shard_without_anything_due_is_done_up_to_the_horizon() -> None:
    seen = look(shards=2)
    assert seen.unfinished() == {0: NOON + LEAD, 1: NOON + LEAD}
    assert not seen.has_more()
    assert seen.lag == timedelta()


def test_what_was_not_moved_stays_above_the_mark() -> None:
    seen = look(due(1, NOON - 3 * SECOND), due(2, NOON - SECOND))
    seen.fired(
        [planned(due(1, NOON - 3 * SECOND), 60 * SECOND)], Fired(moved=frozenset({UUID(int=1)}))
    )
    assert seen.unfinished() == {0: NOON - SECOND}
    assert seen.lag == 3 * SECOND


def test_what_is_due_again_within_the_lead_is_looked_at_at_once() -> None:
    timer = due(1, NOON)
    seen = look(timer)
    seen.fired([planned(timer, SECOND)], Fired(moved=frozenset({timer.schedule_id})))
    assert seen.unfinished() == {0: NOON + SECOND}
    assert seen.has_more()


def test_a_full_shard_has_more_from_its_last_instant_on() -> None:
    timers = [due(number, NOON + number * TICK) for number in range(3)]
    seen = look(*timers, limit=3)
    seen.fired(
        [planned(timer, 60 * SECOND) for timer in timers],
        Fired(moved=frozenset(timer.schedule_id for timer in timers)),
    )
    assert seen.unfinished() == {0: timers[-1].due_at}
    assert seen.has_more()


def test_a_full_shard_that_cannot_move_yet_is_not_looked_at_in_circles() -> None:
    timers = [due(number, NOON + SECOND) for number in range(3)]
    seen = look(*timers, limit=3)
    seen.left.extend(timers)
    assert not seen.has_more()


def test_what_was_given_up_does_not_hold_the_mark_down() -> None:
    seen = look(due(1, NOON - timedelta(days=1)))
    seen.given_up.add(UUID(int=1))
    assert seen.unfinished() == {0: NOON + LEAD}
