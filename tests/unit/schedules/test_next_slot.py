"""Counting the slots that were missed."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.schedules.examples import NOW

from rota.schedules.next_slot import MissedSlots, missed_slots
from rota.schedules.schedule import shard_of
from rota.triggers.count import MAX_COUNT
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.recurrence import Recurrence

HOURLY = Cron.parse("0 * * * *")
FIRST = NOW + timedelta(hours=1)


def test_none_has_passed_before_the_first() -> None:
    assert missed_slots(HOURLY, FIRST, FIRST - timedelta(microseconds=1)) is None


def test_both_ends_count() -> None:
    assert missed_slots(HOURLY, FIRST, FIRST) == MissedSlots(FIRST, FIRST, 1)
    until = FIRST + timedelta(hours=5)
    assert missed_slots(HOURLY, FIRST, until) == MissedSlots(FIRST, until, 6)


def test_limits_end_the_count() -> None:
    end = FIRST + timedelta(hours=2)
    found = missed_slots(Limited(HOURLY, end_at=end), FIRST, NOW + timedelta(days=9))
    assert found == MissedSlots(FIRST, end, 3)


def test_an_interval_is_divided_however_long_it_was_away() -> None:
    every_second = Interval.parse(1).anchored(NOW)
    year = timedelta(days=365)
    found = missed_slots(every_second, NOW, NOW + year)
    assert found == MissedSlots(NOW, NOW + year, 365 * 86_400 + 1)


def test_cron_is_counted_exactly_however_long_it_was_away() -> None:
    found = missed_slots(Cron.parse("* * * * * *"), NOW, NOW + timedelta(days=2))
    assert found is not None
    assert found.count == 2 * 86_400 + 1


def test_a_rule_is_counted_no_further_than_the_limit() -> None:
    found = missed_slots(Recurrence.parse("FREQ=SECONDLY"), NOW, NOW + timedelta(days=2))
    assert found is not None
    assert found.count == MAX_COUNT + 1


@given(st.integers(60, 5000), st.integers(0, 100_000), st.integers(0, 100_000))
def test_division_and_counting_agree(period: int, start: int, length: int) -> None:
    interval = Interval.parse(period).anchored(NOW)
    first = interval.next_after(NOW + timedelta(seconds=start))
    assert first is not None
    until = first + timedelta(seconds=length)
    walked: list[datetime] = []
    slot: datetime | None = first
    while slot is not None and slot <= until:
        walked.append(slot)
        slot = interval.next_after(slot)
    assert missed_slots(interval, first, until) == MissedSlots(first, walked[-1], len(walked))


@pytest.mark.parametrize("shards", [1, 7, 64])
def test_schedules_are_spread_over_the_shards_by_their_random_bytes(shards: int) -> None:
    made_together = [UUID(bytes=b"same" * 3 + n.to_bytes(4, "big")) for n in range(shards * 10)]
    counts = [0] * shards
    for id_ in made_together:
        counts[shard_of(id_, shards)] += 1
    assert counts == [10] * shards
