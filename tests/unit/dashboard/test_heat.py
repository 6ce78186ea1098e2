"""A year of a schedule as a calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard import heat, times
from rota.history.days import Day
from rota.triggers.interval import Interval
from rota.triggers.parse import parse

NOW = datetime(2026, 11, 16, 5, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "America/New_York", "Asia/Kolkata"])
def test_the_days_are_the_zones_own_and_leave_no_gap(zone: str) -> None:
    first = heat.first_day(NOW, zone)
    days = heat.spans(first, zone, weeks=2 * heat.WEEKS)
    assert first.weekday() == 0
    assert len(days) == 2 * heat.WEEKS * 7
    assert all(one.until == other.at for one, other in pairwise(days))
    for at, span in enumerate(days):
        local = times.at(span.at, zone)
        assert (local.date(), local.hour) == (first + timedelta(days=at), 0)
    lengths = {(span.until - span.at) // timedelta(hours=1) for span in days}
    assert lengths == ({24} if zone in ("UTC", "Asia/Kolkata") else {23, 24, 25})


def test_today_is_in_the_last_week_of_the_first_half() -> None:
    first = heat.first_day(NOW, "UTC")
    days = heat.spans(first, "UTC")
    assert any(span.at <= NOW < span.until for span in days[-7:])


@pytest.mark.parametrize(
    "when",
    ["every hour", "0 9 * * 1-5", "RRULE:FREQ=DAILY", "2026-12-24T09:00Z", "every 90 minutes"],
)
def test_what_is_to_come_is_counted_as_it_will_fire(when: str) -> None:
    trigger = parse(when, now=NOW)
    if isinstance(trigger, Interval):
        trigger = trigger.anchored(NOW)
    days = heat.spans(date(2026, 11, 9), "UTC", weeks=8)
    found = heat.planned(trigger, days, NOW)
    slots: list[datetime] = []
    slot = trigger.next_after(NOW)
    while slot is not None and slot < days[-1].until:
        slots.append(slot)
        slot = trigger.next_after(slot)
    assert sum(found.values()) == len(slots)
    for span in days:
        if span.until > NOW:
            assert found[span.at] == sum(span.at <= each < span.until for each in slots)


def test_what_must_be_walked_is_walked_no_further_than_a_bound() -> None:
    trigger = parse("RRULE:FREQ=SECONDLY", now=NOW)
    days = heat.spans(date(2026, 11, 16), "UTC")
    assert heat.planned(trigger, days, NOW) == {}


def test_a_day_has_the_tone_of_the_worst_that_happened() -> None:
    first = heat.first_day(NOW, "UTC")
    days = heat.spans(first, "UTC")
    slots = [
        {"succeeded": 9, "dead": 1},
        {"succeeded": 9, "skipped": 1},
        {"skipped": 2},
        {"missed": 1},
        {},
    ]
    recorded = {span.at: Day(span.at, each, 1) for span, each in zip(days, slots, strict=False)}
    made = heat.half(first, days, recorded=recorded, to_come={days[-1].at: 3}, now=NOW)
    tones = [cell.tone for cell in made.cells]
    assert tones[:6] == ["bad", "good", "mute", "bad", "none", "unknown"]
    assert tones[-1] == "plan"
    assert made.cells[0].title.endswith("9 succeeded, 1 dead")
    assert "not counted yet" in made.cells[5].title
    assert made.months[0][1] == "Jun"


@given(st.integers(1, 10**7), st.integers(1, 10**7))
def test_more_is_never_paler(one: int, other: int) -> None:
    days = heat.spans(date(2026, 11, 2), "UTC", weeks=1)
    counts = {days[0].at: one, days[1].at: other}
    recorded = {at: Day(at, {"succeeded": count}, 1) for at, count in counts.items()}
    cells = heat.half(date(2026, 11, 2), days, recorded=recorded, to_come={}, now=NOW).cells
    assert 1 <= min(cells[0].level, cells[1].level) <= max(cells[0].level, cells[1].level) <= 4
    assert (cells[0].level <= cells[1].level) or one > other
