"""Plans: one due timer and its snapshot become one decision."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from rota.firing.plan import Due, Plan, Record, plan
from rota.queue.overlap import Entry, Policy
from rota.schedules.schedule_cache import MisfireRules, ScheduleSnapshot
from rota.triggers.at import At
from rota.triggers.cron import Cron

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ID = UUID(int=1)
HOURLY = ScheduleSnapshot(
    schedule_id=ID,
    tenant_id=UUID(int=2),
    version=1,
    trigger=Cron.parse("0 * * * *"),
    jitter=timedelta(),
    misfire=MisfireRules(),
    overlap="skip",
    max_firings=None,
    lane="http",
    host="example.com",
    priority=5,
)


def due(at: datetime = NOON, *, live: bool = False, fired: int = 0, jitter: int = 0) -> Due:
    return Due(
        schedule_id=ID,
        shard=3,
        scheduled_for=at,
        due_at=at + timedelta(seconds=jitter),
        version=1,
        fired=fired,
        revision=0,
        live=live,
    )


def planned(timer: Due, snapshot: ScheduleSnapshot = HOURLY, *, now: datetime = NOON) -> Plan:
    made = plan(timer, snapshot, now=now)
    assert made is not None
    return made


def test_a_timer_on_time_fires_its_slot_and_moves_on() -> None:
    made = planned(due(), now=NOON - timedelta(seconds=2))
    assert made.fire == (NOON,)
    assert (made.entry, made.catch_up, made.chained) == (Entry.READY, False, False)
    assert made.records == ()
    assert made.following == made.following_due_at == NOON + timedelta(hours=1)


def test_jitter_delays_what_is_due_and_not_the_slot() -> None:
    """Periods stay even, because the offset is the schedule's own."""
    made = planned(due(jitter=40), replace(HOURLY, jitter=timedelta(seconds=40)))
    assert made.following == NOON + timedelta(hours=1)
    assert made.following_due_at == NOON + timedelta(hours=1, seconds=40)


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous"])
def test_a_live_firing_is_looked_at_again_at_the_due_instant(policy: Policy) -> None:
    snapshot = replace(HOURLY, overlap=policy)
    assert plan(due(live=True), snapshot, now=NOON - timedelta(milliseconds=1)) is None
    assert plan(due(live=True), snapshot, now=NOON) is not None


def test_allowed_overlap_needs_no_second_look() -> None:
    made = planned(
        due(live=True), replace(HOURLY, overlap="allow"), now=NOON - timedelta(seconds=1)
    )
    assert (made.fire, made.entry) == ((NOON,), Entry.READY)


def test_a_skipped_slot_is_recorded_and_the_timer_moves_on() -> None:
    made = planned(due(live=True))
    assert made.fire == ()
    assert made.records == (
        Record(first=NOON, last=NOON, count=1, status="skipped", reason="overlap"),
    )
    assert made.following == NOON + timedelta(hours=1)


def test_an_outage_makes_a_chain_and_a_record_of_the_rest() -> None:
    made = planned(due(NOON - timedelta(hours=20)))
    assert len(made.fire) == 10
    assert made.catch_up
    assert made.chained
    assert [(record.status, record.count) for record in made.records] == [("missed", 11)]


def test_slots_that_came_due_together_run_one_after_another_unless_they_may_overlap() -> None:
    snapshot = replace(HOURLY, trigger=Cron.parse("*/10 * * * * *"))
    timer = due(NOON - timedelta(seconds=30))
    assert planned(timer, snapshot).chained
    assert len(planned(timer, snapshot).fire) == 4
    assert not planned(timer, replace(snapshot, overlap="allow")).chained


def test_what_is_live_is_not_cancelled_for_slots_that_are_all_missed() -> None:
    snapshot = replace(
        HOURLY, overlap="cancel_previous", misfire=MisfireRules(policy="skip", grace=timedelta())
    )
    made = planned(due(NOON, live=True), snapshot, now=NOON + timedelta(minutes=5))
    assert (made.fire, made.entry) == ((), Entry.READY)
    assert [record.status for record in made.records] == ["missed"]


def test_the_last_of_so_many_firings_completes_the_schedule() -> None:
    snapshot = replace(HOURLY, max_firings=3)
    assert planned(due(fired=1), snapshot).following is not None
    last = planned(due(fired=2), snapshot)
    assert (last.fire, last.following) == ((NOON,), None)


def test_a_skipped_slot_does_not_count_as_a_firing() -> None:
    made = planned(due(fired=2, live=True), replace(HOURLY, max_firings=3))
    assert made.fire == ()
    assert made.following is not None


def test_a_limit_that_is_used_up_completes_the_schedule_without_firing() -> None:
    made = planned(due(fired=3), replace(HOURLY, max_firings=3))
    assert (made.fire, made.records, made.following) == ((), (), None)


def test_a_one_off_has_nothing_to_follow() -> None:
    made = planned(due(), replace(HOURLY, trigger=At(NOON)))
    assert (made.fire, made.following, made.following_due_at) == ((NOON,), None, None)


def test_an_edit_does_not_fire_retroactively() -> None:
    """Requirements, section 22: the slots before the timer's are not looked at, whatever the
    trigger names there.
    """
    edited = replace(HOURLY, trigger=Cron.parse("* * * * *"), version=2)
    made = planned(due(NOON), edited, now=NOON + timedelta(seconds=5))
    assert made.fire == (NOON,)
    assert made.records == ()
