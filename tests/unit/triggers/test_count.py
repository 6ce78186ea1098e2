"""Counting slots without walking them: the same number, in no time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rota.triggers.at import At
from rota.triggers.count import MAX_COUNT, slots_within
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.recurrence import Recurrence

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

ZONES = ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "+05:30"]
EXPRESSIONS = [
    "* * * * *",
    "*/7 * * * *",
    "0 * * * *",
    "30 2 * * *",
    "0,30 1-3 * * *",
    "0 0 * * *",
    "15,45 0-5 * * MON-FRI",
    "*/15 2 * * *",
    "0 9 L * *",
    "0 12 13 * FRI",
    "0 0 29 2 *",
    "0 0 0 1 1 * 2030",
    "0-5 0 0,12 * * *",
]
ANY_INSTANT = st.integers(0, 22 * 365 * 86_400 * 1000).map(
    lambda milliseconds: datetime(2009, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
)


def walked(trigger: Trigger, after: datetime, until: datetime) -> int:
    count = 0
    slot = trigger.next_after(after)
    while slot is not None and slot <= until:
        count += 1
        slot = trigger.next_after(slot)
    return count


@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(ZONES),
    ANY_INSTANT,
    st.timedeltas(timedelta(), timedelta(days=4)),
)
@example("0,30 1-3 * * *", "America/New_York", datetime(2025, 3, 9, tzinfo=UTC), timedelta(1))
@example("0,30 1-3 * * *", "America/New_York", datetime(2025, 11, 2, tzinfo=UTC), timedelta(1))
@example("0 12 * * *", "Pacific/Apia", datetime(2011, 12, 29, tzinfo=UTC), timedelta(4))
@example("0 0 * * *", "Africa/Cairo", datetime(2025, 4, 24, 12, tzinfo=UTC), timedelta(2))
@example("0 2 * * *", "Australia/Lord_Howe", datetime(2025, 10, 4, 12, tzinfo=UTC), timedelta(1))
def test_cron_slots_are_counted_as_if_walked(
    expression: str, zone: str, after: datetime, length: timedelta
) -> None:
    cron = Cron.parse(expression, zone)
    assert slots_within(cron, after, after + length) == walked(cron, after, after + length)


@pytest.mark.parametrize(
    ("zone", "year", "month", "day"),
    [
        ("America/New_York", 2025, 3, 9),
        ("America/New_York", 2025, 11, 2),
        ("Australia/Lord_Howe", 2025, 10, 4),
        ("Australia/Lord_Howe", 2025, 4, 5),
        ("Antarctica/Troll", 2025, 3, 30),
        ("America/Santiago", 2025, 9, 7),
        ("Pacific/Apia", 2011, 12, 30),
        ("America/St_Johns", 2009, 11, 1),
    ],
)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_cron_slots_are_counted_through_every_kind_of_clock_change(
    expression: str, zone: str, year: int, month: int, day: int
) -> None:
    cron = Cron.parse(expression, zone)
    begin = datetime(year, month, day, tzinfo=UTC) - timedelta(days=1)
    for hours in range(0, 48, 5):
        after, until = begin + timedelta(hours=hours), begin + timedelta(days=3, minutes=7)
        assert slots_within(cron, after, until) == walked(cron, after, until)


@given(
    st.timedeltas(timedelta(seconds=1), timedelta(hours=3)).map(
        lambda period: period - period % timedelta(milliseconds=1)
    ),
    ANY_INSTANT,
    st.timedeltas(-timedelta(days=1), timedelta(days=1)),
    st.timedeltas(timedelta(), timedelta(minutes=30)),
)
def test_interval_slots_are_counted_as_if_walked(
    period: timedelta, anchor: datetime, off: timedelta, length: timedelta
) -> None:
    interval = Interval(period, anchor)
    after = anchor + off
    assert slots_within(interval, after, after + length) == walked(interval, after, after + length)


@given(ANY_INSTANT, st.integers(-90, 90), st.integers(-90, 90), st.integers(0, 180))
def test_limits_are_kept(base: datetime, start: int, length: int, ahead: int) -> None:
    start_at = base + timedelta(minutes=start)
    end_at = start_at + timedelta(minutes=1 + abs(length))
    until = base + timedelta(minutes=ahead)
    for inner in (Interval(timedelta(minutes=5), base), Cron.parse("*/5 * * * *")):
        for trigger in (
            Limited(inner, start_at, end_at),
            Limited(inner, start_at),
            Limited(inner, None, end_at, 3),
        ):
            assert slots_within(trigger, base, until) == walked(trigger, base, until)


def test_a_range_that_is_empty_has_no_slots() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert slots_within(Cron.parse("* * * * *"), now, now) == 0
    assert slots_within(Cron.parse("* * * * *"), now, now - timedelta(days=1)) == 0


def test_a_one_off_is_one_slot() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert slots_within(At(now), now - timedelta(days=1), now) == 1
    assert slots_within(At(now), now, now + timedelta(days=1)) == 0


def test_every_second_of_ten_years_is_counted_without_walking() -> None:
    begin, end = datetime(2016, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    seconds = int((end - begin).total_seconds())
    assert slots_within(Cron.parse("* * * * * *"), begin, end) == seconds
    assert slots_within(Interval(timedelta(seconds=1), begin), begin, end) == seconds
    # The wall clock of New York reads some of the seconds twice and skips as many.
    assert slots_within(Cron.parse("* * * * * *", "America/New_York"), begin, end) == seconds


def test_what_has_to_be_walked_is_walked_no_further_than_the_bound() -> None:
    rule = Recurrence.parse("DTSTART:20200101T000000Z\nRRULE:FREQ=MINUTELY", "UTC")
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    assert slots_within(rule, begin, begin + timedelta(minutes=90)) == 90
    assert slots_within(rule, begin, begin + timedelta(days=365)) == MAX_COUNT
