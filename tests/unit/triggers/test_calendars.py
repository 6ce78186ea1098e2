"""Calendars: slots on dates that are left out are passed over, in the trigger's own zone."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.triggers.calendars import HORIZON, Days, Filtered
from rota.triggers.count import slots_within
from rota.triggers.cron import Cron
from rota.triggers.preview import local_time, preview
from rota.triggers.recurrence import Recurrence
from rota.triggers.trigger import Trigger
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Iterator

CHRISTMAS = Days(frozenset({date(2025, 12, 25), date(2025, 12, 26)}))
START = datetime(2025, 12, 1, tzinfo=UTC)


class _Never:
    """A calendar without a single date."""

    def includes(self, local_date: date) -> bool:
        return False

    def reason(self, local_date: date) -> str:
        return "never"


class _Asked:
    """Counts what it is asked."""

    def __init__(self, inner: Trigger) -> None:
        self.inner, self.asked = inner, 0

    timezone = "UTC"
    signature = "asked"

    def next_after(self, instant: datetime) -> datetime | None:
        self.asked += 1
        return self.inner.next_after(instant)

    def previous_before(self, instant: datetime) -> datetime | None:
        self.asked += 1
        return self.inner.previous_before(instant)


def forwards(trigger: Trigger, after: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(after)
    while slot is not None:
        yield slot
        slot = trigger.next_after(slot)


def test_it_is_a_trigger_with_the_signature_and_zone_of_the_one_inside() -> None:
    inner = Cron.parse("0 9 * * *", "Europe/Madrid")
    filtered = Filtered(inner, CHRISTMAS)
    assert isinstance(filtered, Trigger)
    assert filtered.signature == inner.signature
    assert filtered.timezone == "Europe/Madrid"


def test_slots_on_dates_left_out_are_passed_over_both_ways() -> None:
    filtered = Filtered(Cron.parse("0 9 * * *"), CHRISTMAS)
    before, after = datetime(2025, 12, 24, 9, tzinfo=UTC), datetime(2025, 12, 27, 9, tzinfo=UTC)
    assert filtered.next_after(before) == after
    assert filtered.previous_before(after) == before
    assert filtered.next_after(before - timedelta(hours=1)) == before


def test_the_date_is_the_local_one() -> None:
    # 20:00 on Christmas Eve in New York is Christmas in UTC, and is kept.
    filtered = Filtered(Cron.parse("0 20 * * *", "America/New_York"), CHRISTMAS)
    days = [slot.day for slot in islice(forwards(filtered, datetime(2025, 12, 24, tzinfo=UTC)), 3)]
    assert days == [24, 25, 28]


def test_a_date_is_passed_over_in_one_step_however_often_it_fires() -> None:
    every_second = Recurrence.parse("FREQ=SECONDLY")
    dates = frozenset(date(2025, 1, 1) + timedelta(days=day) for day in range(365))
    filtered = Filtered(every_second, Days(dates))
    begun = time.thread_time()
    last = datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert filtered.next_after(last) == datetime(2026, 1, 1, tzinfo=UTC)
    assert filtered.previous_before(datetime(2026, 1, 1, tzinfo=UTC)) == last
    assert time.thread_time() - begun < 1.0


@pytest.mark.parametrize("zone_name", ["UTC", "Pacific/Apia", "America/New_York"])
@pytest.mark.parametrize("count", [1, 2, 3, 28, 31, 60])
def test_a_long_run_of_dates_is_passed_over_to_its_very_end(zone_name: str, count: int) -> None:
    """Also where the zone has passed over a date itself, as Samoa did with 2011-12-30."""
    first = date(2011, 12, 1)
    days = Days(frozenset(first + timedelta(n) for n in range(count)))
    inner = Cron.parse("0 0,9,23 * * *", zone_name)
    filtered = Filtered(inner, days)
    begin, end = datetime(2011, 11, 25, tzinfo=UTC), datetime(2012, 3, 1, tzinfo=UTC)
    kept = [
        slot
        for slot in _until(inner, begin, end)
        if local_time(slot, zone(zone_name)).date() not in days.excluded
    ]
    assert list(_until(filtered, begin, end)) == kept
    assert list(_backwards(filtered, end, begin)) == kept[::-1]


def test_a_trigger_is_not_asked_for_its_slots_on_years_that_are_left_out() -> None:
    """S12: what one tenant leaves out must not take the time of all others."""
    inner = _Asked(Cron.parse("* * * * *"))
    days = Days(frozenset(START.date() + timedelta(n) for n in range(5_000)))
    assert Filtered(inner, days).next_after(START) == datetime(2039, 8, 10, tzinfo=UTC)
    assert inner.asked < 10


def test_a_calendar_without_dates_ends_the_search_after_fifty_years() -> None:
    begun = time.thread_time()
    for inner in (Cron.parse("0 * * * *"), Recurrence.parse("FREQ=SECONDLY")):
        filtered = Filtered(inner, _Never())
        assert filtered.next_after(START) is None
        assert filtered.previous_before(START) is None
    assert time.thread_time() - begun < 10.0
    beyond = START + HORIZON + timedelta(days=400)
    far = Filtered(Cron.parse("0 0 1 1 *"), Days(frozenset()))
    assert far.next_after(beyond) is not None


def test_no_slot_inside_is_no_slot() -> None:
    filtered = Filtered(Cron.parse("0 0 0 1 1 * 1999"), CHRISTMAS)
    assert filtered.next_after(START) is None
    assert filtered.previous_before(datetime(1998, 1, 1, tzinfo=UTC)) is None


@given(
    st.sets(st.integers(-3, 5), max_size=4),
    st.timedeltas(timedelta(days=-3), timedelta(days=4)),
    st.sampled_from(["*/7 * * * *", "0 * * * *", "*/30 23,0 * * *"]),
)
def test_a_clock_that_goes_back_over_midnight_hides_no_slot(
    excluded: set[int], away: timedelta, expression: str
) -> None:
    # St John's, 2009-11-01: at 00:01 the clock went back to 23:01 of the day before.
    change = datetime(2009, 11, 1, 2, 31, tzinfo=UTC)
    inner = Cron.parse(expression, "America/St_Johns")
    calendar = Days(frozenset(date(2009, 11, 1) + timedelta(days=day) for day in excluded))
    filtered = Filtered(inner, calendar)
    kept: list[datetime] = []
    slot = inner.next_after(change - timedelta(days=8))
    while slot is not None and slot < change + timedelta(days=8):
        offset = inner.zone.offset_at(int(slot.timestamp()))
        if calendar.includes((slot + timedelta(seconds=offset)).date()):
            kept.append(slot)
        slot = inner.next_after(slot)
    asked = change + away
    assert filtered.next_after(asked) == min(s for s in kept if s > asked)
    assert filtered.previous_before(asked) == max(s for s in kept if s < asked)


_ZONES = ("UTC", "America/New_York", "Pacific/Apia", "America/St_Johns", "Australia/Lord_Howe")
_TRIGGERS = ("0 9 * * *", "*/20 * * * *", "0 0 1,15 * *", "30 1,23 * * MON-SAT")


@given(
    st.sampled_from(_TRIGGERS),
    st.sampled_from(_ZONES),
    st.builds(
        Days,
        st.frozensets(st.dates(date(2025, 10, 25), date(2025, 11, 12)), max_size=12),
        st.frozensets(st.integers(0, 6), max_size=6),
        st.frozensets(st.dates(date(2025, 10, 25), date(2025, 11, 12)), max_size=3),
    ),
    st.timedeltas(timedelta(), timedelta(days=15)),
)
def test_it_never_fires_on_a_date_left_out_and_never_loses_another(
    expression: str, zone_name: str, days: Days, away: timedelta
) -> None:
    """The oracle is every slot of the inner trigger, one by one."""
    after = datetime(2025, 10, 26, tzinfo=UTC) + away
    inner = Cron.parse(expression, zone_name)
    filtered = Filtered(inner, days)
    until = datetime(2025, 11, 13, tzinfo=UTC)
    in_zone = zone(zone_name)
    wanted: list[datetime] = []
    left_out: list[date] = []
    slot = inner.next_after(after)
    while slot is not None and slot < until:
        local = local_time(slot, in_zone).date()
        out = local in days.excluded or local.weekday() in days.weekdays
        fires = local in days.kept or not out
        if fires:
            wanted.append(slot)
        elif local not in left_out:
            left_out.append(local)
        slot = inner.next_after(slot)
    assert list(_until(filtered, after, until)) == wanted
    assert slots_within(filtered, after, until - timedelta(microseconds=1)) == len(wanted)
    assert sorted(set(filtered.left_out(after, until))) == sorted(left_out)
    if wanted:
        assert filtered.previous_before(until) == wanted[-1]


def _until(trigger: Trigger, after: datetime, until: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(after)
    while slot is not None and slot < until:
        yield slot
        slot = trigger.next_after(slot)


def test_counting_a_day_of_every_second_takes_no_walk() -> None:
    inner = Cron.parse("* * * * * *")
    filtered = Filtered(inner, Days(weekdays=frozenset({5, 6})))
    begun = time.thread_time()
    year = slots_within(filtered, START, START + timedelta(days=364))
    assert year == 260 * 86_400
    assert time.thread_time() - begun < 1.0


def test_a_preview_names_the_dates_that_are_left_out_and_why() -> None:
    days = Days(
        frozenset({date(2025, 12, 25)}),
        frozenset({5, 6}),
        names={date(2025, 12, 25): "Christmas Day"},
    )
    filtered = Filtered(Cron.parse("0 9 * * *"), days)
    notes = [
        slot.note
        for slot in preview(filtered, after=datetime(2025, 12, 24, 10, tzinfo=UTC), count=2)
    ]
    assert notes == [
        "left out: 2025-12-25 (Christmas Day)",
        "left out: 2025-12-27 (Saturday), 2025-12-28 (Sunday)",
    ]


def _backwards(trigger: Trigger, before: datetime, until: datetime) -> Iterator[datetime]:
    slot = trigger.previous_before(before)
    while slot is not None and slot > until:
        yield slot
        slot = trigger.previous_before(slot)
