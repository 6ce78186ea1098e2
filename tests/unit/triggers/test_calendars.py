"""Calendars: slots on dates that are left out are passed over, in the trigger's own zone."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from rota.triggers.calendars import HORIZON, DateSet, Filtered
from rota.triggers.cron import Cron
from rota.triggers.recurrence import Recurrence
from rota.triggers.trigger import Trigger

if TYPE_CHECKING:
    from collections.abc import Iterator

CHRISTMAS = DateSet(frozenset({date(2025, 12, 25), date(2025, 12, 26)}))
START = datetime(2025, 12, 1, tzinfo=UTC)


class _Never:
    """A calendar without a single date."""

    def includes(self, local_date: date) -> bool:
        return False


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
    filtered = Filtered(every_second, DateSet(dates))
    begun = time.perf_counter()
    last = datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert filtered.next_after(last) == datetime(2026, 1, 1, tzinfo=UTC)
    assert filtered.previous_before(datetime(2026, 1, 1, tzinfo=UTC)) == last
    assert time.perf_counter() - begun < 1.0


def test_a_calendar_without_dates_ends_the_search_after_fifty_years() -> None:
    begun = time.perf_counter()
    for inner in (Cron.parse("0 * * * *"), Recurrence.parse("FREQ=SECONDLY")):
        filtered = Filtered(inner, _Never())
        assert filtered.next_after(START) is None
        assert filtered.previous_before(START) is None
    assert time.perf_counter() - begun < 10.0
    beyond = START + HORIZON + timedelta(days=400)
    far = Filtered(Cron.parse("0 0 1 1 *"), DateSet(frozenset()))
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
    calendar = DateSet(frozenset(date(2009, 11, 1) + timedelta(days=day) for day in excluded))
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
