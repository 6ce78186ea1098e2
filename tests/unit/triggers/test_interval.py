"""Intervals: an anchor and a period, in elapsed time (TR3, TR4)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInstant, InvalidInterval
from rota.triggers.interval import MAX_PERIOD, MIN_PERIOD, Interval
from rota.triggers.preview import slots
from rota.triggers.trigger import Trigger
from rota.triggers.zones import zone

ANCHOR = datetime(2026, 1, 1, 12, 30, 15, 250_000, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANTS = st.timedeltas(timedelta(days=-25_000), timedelta(days=120_000)).map(EPOCH.__add__)
PERIODS = st.integers(1_000, 10**11).map(lambda millis: timedelta(milliseconds=millis))


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5m", 300),
        ("90s", 90),
        ("1h30m", 5_400),
        ("every 5m", 300),
        ("Every  5 Minutes", 300),
        ("PT5M", 300),
        ("P1D", 86_400),
        ("1w", 604_800),
        (60, 60),
        (1, 1),
        (1.5, 1.5),
        (0.1 + 0.2 + 0.7, 1),
        (timedelta(hours=2), 7_200),
        (MIN_PERIOD, 1),
        (MAX_PERIOD, 366 * 100 * 86_400),
    ],
)
def test_a_period_is_read(value: str | float | timedelta, seconds: float) -> None:
    interval = Interval.parse(value)
    assert interval == Interval(timedelta(seconds=seconds))
    assert interval.signature == f"every:{int(seconds * 1_000)}"
    assert isinstance(interval, Trigger)


HOSTILE: list[Any] = [
    *(0, -1, -0.0, 0.999, 0.5, -5e300, 1e300, 10**400, -(10**400), 2**63),
    *(math.nan, math.inf, -math.inf, True, False, None, [], {}, b"5m"),
    *(timedelta(), timedelta(seconds=-5), timedelta.max, timedelta.min, timedelta(microseconds=1)),
    *(1.000_4, timedelta(seconds=1, microseconds=1), MAX_PERIOD + timedelta(seconds=1)),
    *("", "0s", "500ms", "-5m", "5", "every", "every every 5m", "1 month", "nan", "5m" * 5_000),
    *("100 years", "36601 days", "٣m", "\ud800", "5m\0"),
]


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: repr(value)[:30])
def test_what_is_no_period_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInterval, match=r"^Invalid interval: expected ") as refused:
        Interval.parse(value)
    assert refused.value.field == "interval"
    assert len(str(refused.value)) < 250


@given(st.floats() | st.integers() | st.text(max_size=20) | st.timedeltas() | st.booleans())
def test_only_the_declared_error_escapes(value: float | str | timedelta) -> None:
    try:
        interval = Interval.parse(value)
    except InvalidInterval:
        return
    assert MIN_PERIOD <= interval.period <= MAX_PERIOD


def test_ten_thousand_slots_do_not_drift() -> None:
    interval = Interval.parse("7s").anchored(ANCHOR)
    found = slots(interval, after=ANCHOR, count=10_000)
    assert found == [ANCHOR + number * timedelta(seconds=7) for number in range(1, 10_001)]


def test_without_an_anchor_it_counts_from_the_instant() -> None:
    # TR4: "from now".
    interval = Interval.parse("5m")
    assert interval.next_after(ANCHOR) == ANCHOR + timedelta(minutes=5)
    assert interval.previous_before(ANCHOR) == ANCHOR - timedelta(minutes=5)


def test_the_anchor_is_the_first_slot() -> None:
    interval = Interval.parse("5m").anchored(ANCHOR)
    tick = timedelta(microseconds=1)
    assert interval.next_after(ANCHOR - timedelta(days=9)) == ANCHOR
    assert interval.next_after(ANCHOR - tick) == ANCHOR
    assert interval.next_after(ANCHOR) == ANCHOR + timedelta(minutes=5)
    assert interval.previous_before(ANCHOR) is None
    assert interval.previous_before(ANCHOR + tick) == ANCHOR


@given(PERIODS, INSTANTS, INSTANTS)
def test_slots_are_strictly_after_and_on_the_grid(
    period: timedelta, anchor: datetime, instant: datetime
) -> None:
    interval = Interval(period).anchored(anchor)
    later = interval.next_after(instant)
    if later is None:
        assert instant + period >= datetime(2300, 1, 1, tzinfo=UTC)
        return
    assert later > instant
    assert (later - anchor) % period == timedelta()
    assert later == anchor or later - period <= instant
    assert later.tzinfo is UTC


@given(PERIODS, INSTANTS, INSTANTS)
def test_going_back_inverts_going_on(
    period: timedelta, anchor: datetime, instant: datetime
) -> None:
    interval = Interval(period).anchored(anchor)
    later = interval.next_after(instant)
    if later is None:
        return
    earlier = interval.previous_before(later)
    assert earlier is None if later == anchor else earlier == later - period
    after = interval.next_after(later)
    assert after is None or interval.previous_before(after) == later


def test_a_clock_change_is_none_of_its_business() -> None:
    # TR4: 24 hours of real time, over the night of 25 hours.
    new_york = zone("America/New_York")
    before = datetime(2025, 11, 1, 16, tzinfo=UTC)
    interval = Interval.parse("1d", "America/New_York").anchored(before)
    after = before + timedelta(hours=24)
    assert interval.next_after(before) == after
    offsets = [new_york.offset_at(int(at.timestamp())) for at in (before, after)]
    assert offsets == [-4 * 3_600, -5 * 3_600]


def test_the_zone_is_for_reading_only() -> None:
    assert Interval.parse("5m", "Europe/Madrid") == Interval.parse("5m")
    assert Interval.parse("5m", "Europe/Madrid").timezone == "Europe/Madrid"


def test_it_ends_with_the_calendar() -> None:
    end = datetime(2299, 12, 31, tzinfo=UTC)
    assert Interval.parse("1d").next_after(end) is None
    assert slots(Interval.parse("12h"), after=end, count=5) == [end + timedelta(hours=12)]
    begin = datetime(1900, 1, 1, tzinfo=UTC)
    assert Interval.parse("1d").previous_before(begin) is None


@pytest.mark.parametrize("year", [1, 1899, 2300, 9999])
def test_instants_outside_the_calendar_are_refused(year: int) -> None:
    far = datetime(year, 6, 1, tzinfo=UTC)
    for ask in (Interval.parse("5m").next_after, Interval.parse("5m").previous_before):
        with pytest.raises(InvalidInstant, match="expected one from 1900 to 2299"):
            ask(far)
    with pytest.raises(InvalidInstant):
        Interval.parse("5m").anchored(far)


def test_an_instant_without_a_zone_is_refused() -> None:
    naive = ANCHOR.replace(tzinfo=None)
    with pytest.raises(InvalidInstant, match="expected one with a zone"):
        Interval.parse("5m").next_after(naive)
    with pytest.raises(InvalidInstant, match="expected one with a zone"):
        Interval.parse("5m").anchored(naive)


def test_the_anchor_itself_can_be_no_slot() -> None:
    anchor = datetime(2026, 3, 2, 10, tzinfo=UTC)
    hour = timedelta(hours=1)
    every = Interval.parse("1h").anchored(anchor, is_slot=False)
    assert every.next_after(anchor - 5 * hour) == anchor + hour
    assert every.next_after(anchor) == anchor + hour
    assert every.next_after(anchor + hour) == anchor + 2 * hour
    assert every.previous_before(anchor + 2 * hour) == anchor + hour
    assert every.previous_before(anchor + hour) is None
    assert every.previous_before(anchor) is None
    assert Interval.parse("1h").anchored(anchor).next_after(anchor - hour) == anchor
