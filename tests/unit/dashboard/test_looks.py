"""What a text means, as somebody types it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.dashboard.looks import COUNT, look, near_zones

NOW = datetime(2026, 10, 20, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "read_as", "meaning"),
    [
        ("every weekday at 9am", "America/New_York", "English", "Every weekday at 09:00"),
        ("*/5 * * * *", "", "cron", "Every 5th minute"),
        ("15m", "", "an interval", "Every 15 minutes"),
        ("2027-01-01T09:00", "Europe/Paris", "an instant", "Once at 2027-01-01 09:00"),
        ("RRULE:FREQ=DAILY", "", "an RRULE", ""),
    ],
)
def test_every_way_to_say_it_is_explained(text: str, zone: str, read_as: str, meaning: str) -> None:
    found = look(text, zone, now=NOW)
    assert (found.wrong, found.read_as) == ("", read_as)
    assert found.meaning.startswith(meaning)
    assert found.slots[0].instant > NOW


def test_a_clock_change_is_noted_at_the_slot_that_it_touches() -> None:
    found = look("every day at 9am", "Europe/Paris", now=NOW)
    assert len(found.slots) == COUNT
    assert ["clocks go back" in (slot.note or "") for slot in found.slots].count(True) == 1


def test_an_ambiguous_text_has_its_meanings_to_choose_from() -> None:
    found = look("every day at 5", "", now=NOW)
    assert "more than one meaning" in found.wrong
    assert "Say one of" not in found.wrong
    assert len(found.whens) == 2
    for each in found.whens:
        assert look(each, "", now=NOW).wrong == ""


def test_what_is_not_understood_comes_with_examples_that_are() -> None:
    found = look("every blue moon", "", now=NOW)
    assert found.wrong.startswith("Not understood")
    assert all(look(each, "", now=NOW).slots for each in found.whens)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("new york", "America/New_York"),
        ("Europe/Pariss", "Europe/Paris"),
        ("kolkata", "Asia/Kolkata"),
    ],
)
def test_a_zone_that_is_none_is_told_with_those_that_are_near(written: str, meant: str) -> None:
    found = look("every hour", written, now=NOW)
    assert found.wrong.startswith("Invalid timezone")
    assert meant in found.zones
    assert found.whens == ()


def test_nothing_typed_is_no_mistake() -> None:
    found = look(" ", "", now=NOW)
    assert found.wrong == ""
    assert found.whens


def test_what_has_no_slot_left_is_said() -> None:
    assert "No upcoming schedule" in look("2020-01-01T00:00Z", "", now=NOW).wrong


@given(st.text(max_size=60), st.text(max_size=20))
def test_whatever_is_typed_has_an_answer(text: str, zone: str) -> None:
    """S17: somebody's typing is input from outside."""
    found = look(text, zone, now=NOW)
    assert found.wrong or found.slots or not text.strip()
    assert len(near_zones(zone)) <= 5
