"""The next slots, on the wall clock and in UTC, with a note at every clock change (TZ5 to TZ9)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rota
from rota.triggers.calendars import Days, Filtered
from rota.triggers.limits import Limited
from rota.triggers.parse import parse
from rota.triggers.preview import MAX_COUNT, preview, slots


def shown(when: str, zone: str, after: str, count: int = 3) -> list[tuple[str, str | None]]:
    """What the wall clock reads at the next slots, and what there is to note."""
    start = datetime.fromisoformat(after).replace(tzinfo=UTC)
    found = preview(parse(when, zone), after=start, count=count)
    return [(slot.local.isoformat(" ", "minutes"), slot.note) for slot in found]


NEW_YORK_FORWARD = "clocks go forward 1h on 2025-03-09: 02:00 becomes 03:00"
NEW_YORK_BACK = "clocks go back 1h on 2025-11-02: 02:00 becomes 01:00"


def test_a_fixed_time_in_the_gap_is_moved_and_says_so() -> None:
    assert shown("30 2 * * *", "America/New_York", "2025-03-08 12:00") == [
        ("2025-03-09 03:00-04:00", f"{NEW_YORK_FORWARD}; 02:30 does not exist that day"),
        ("2025-03-10 02:30-04:00", None),
        ("2025-03-11 02:30-04:00", None),
    ]


def test_several_times_in_one_gap_are_one_slot_named_by_the_first() -> None:
    assert shown("0,30 2 * * *", "America/New_York", "2025-03-08 12:00", 1) == [
        ("2025-03-09 03:00-04:00", f"{NEW_YORK_FORWARD}; 02:00 does not exist that day"),
    ]


def test_a_slot_at_the_end_of_the_gap_by_its_own_right_was_not_moved() -> None:
    for when in ("0 3 * * *", "0 2,3 * * *", "0 * * * *"):
        found = shown(when, "America/New_York", "2025-03-09 06:30", 1)
        assert found == [("2025-03-09 03:00-04:00", NEW_YORK_FORWARD)]


def test_the_first_of_two_readings_is_told() -> None:
    assert shown("30 1 * * *", "America/New_York", "2025-11-01 12:00", 2) == [
        ("2025-11-02 01:30-04:00", "the first of two 01:30"),
        ("2025-11-03 01:30-05:00", NEW_YORK_BACK),
    ]


def test_both_readings_are_told() -> None:
    assert shown("*/30 * * * *", "America/New_York", "2025-11-02 04:45", 5) == [
        ("2025-11-02 01:00-04:00", "the first of two 01:00"),
        ("2025-11-02 01:30-04:00", "the first of two 01:30"),
        ("2025-11-02 01:00-05:00", f"{NEW_YORK_BACK}; the second 01:00 of the day"),
        ("2025-11-02 01:30-05:00", "the second 01:30 of the day"),
        ("2025-11-02 02:00-05:00", None),
    ]


def test_half_an_hour_on_lord_howe() -> None:
    forward = "clocks go forward 30m on 2025-10-05: 02:00 becomes 02:30"
    assert shown("0 2 * * *", "Australia/Lord_Howe", "2025-10-04 12:00", 1) == [
        ("2025-10-05 02:30+11:00", f"{forward}; 02:00 does not exist that day"),
    ]
    back = "clocks go back 30m on 2025-04-06: 02:00 becomes 01:30"
    assert shown("30 * * * *", "Australia/Lord_Howe", "2025-04-05 14:00", 3) == [
        ("2025-04-06 01:30+11:00", "the first of two 01:30"),
        ("2025-04-06 01:30+10:30", f"{back}; the second 01:30 of the day"),
        ("2025-04-06 02:30+10:30", None),
    ]


def test_a_whole_day_in_apia() -> None:
    assert shown("0 12 * * *", "Pacific/Apia", "2011-12-29 10:00", 2) == [
        ("2011-12-29 12:00-10:00", None),
        (
            "2011-12-31 12:00+14:00",
            "clocks go forward 1d on 2011-12-30: 00:00 becomes 2011-12-31 00:00",
        ),
    ]


def test_midnight_in_santiago() -> None:
    forward = "clocks go forward 1h on 2025-09-07: 00:00 becomes 01:00"
    assert shown("0 0 * * *", "America/Santiago", "2025-09-06 12:00", 2) == [
        ("2025-09-07 01:00-03:00", f"{forward}; 00:00 does not exist that day"),
        ("2025-09-08 00:00-03:00", None),
    ]


def test_a_wildcard_is_never_moved() -> None:
    assert shown("*/15 2 * * *", "America/New_York", "2025-03-08 12:00", 1) == [
        ("2025-03-10 02:00-04:00", NEW_YORK_FORWARD),
    ]


def test_changes_there_and_back_between_two_slots_are_not_told() -> None:
    found = shown("0 12 1 7 *", "America/New_York", "2025-08-01 00:00", 3)
    assert [note for _, note in found] == [None, None, None]


def test_limits_and_calendars_do_not_hide_a_moved_slot() -> None:
    inner = parse("30 2 * * *", "America/New_York")
    after = datetime(2025, 3, 8, 12, tzinfo=UTC)
    for trigger in (
        Limited(inner, max_firings=1),
        Filtered(inner, Days(frozenset())),
        Limited(Filtered(inner, Days(frozenset())), end_at=after + timedelta(days=9)),
    ):
        slot = preview(trigger, after=after, count=1)[0]
        assert slot.note is not None
        assert slot.note.endswith("02:30 does not exist that day")


@pytest.mark.parametrize("when", ["5m", "2025-03-09T07:00:00Z", "FREQ=DAILY;BYHOUR=2;BYMINUTE=30"])
def test_only_cron_says_that_it_was_moved(when: str) -> None:
    found = shown(when, "America/New_York", "2025-03-09 06:59", 1)
    assert found[0][1] == NEW_YORK_FORWARD


def test_the_instant_and_the_reading_are_the_same_moment() -> None:
    # TZ7, TZ9: the same local time, and the UTC instant moves by an hour.
    after = datetime(2025, 3, 7, tzinfo=UTC)
    found = preview(parse("0 2 * * *", "America/New_York"), after=after, count=4)
    assert [slot.instant.hour for slot in found] == [7, 7, 7, 6]
    assert [slot.local.hour for slot in found] == [2, 2, 3, 2]
    assert all(slot.instant == slot.local for slot in found)
    assert all(slot.instant.tzinfo is UTC for slot in found)


def test_a_limit_of_firings_bounds_the_preview() -> None:
    trigger = Limited(parse("0 9 * * *"), max_firings=2)
    after = datetime(2025, 1, 1, tzinfo=UTC)
    assert len(slots(trigger, after=after, count=10)) == 2
    assert slots(parse("2020-01-01"), after=after, count=5) == []
    assert len(slots(parse("5m"), after=after, count=10**9)) == MAX_COUNT


def test_the_package_previews_without_a_server() -> None:
    after = datetime(2025, 3, 30, tzinfo=UTC)
    found = rota.preview("0 9 * * *", timezone="Europe/Madrid", after=after, count=2)
    assert found == [datetime(2025, 3, day, 7, tzinfo=UTC) for day in (30, 31)]
    trigger = rota.parse("0 9 * * *", timezone="Europe/Madrid")
    assert rota.preview(trigger, after=after, count=2) == found
    assert rota.explain("0 9 * * *", timezone="Europe/Madrid") == (
        "every day at 09:00 (Europe/Madrid)"
    )
    assert rota.explain(trigger) == "every day at 09:00 (Europe/Madrid)"


@given(st.sampled_from(["30 2 * * *", "*/20 * * * *", "5m", "0 0 1 * *"]), st.integers(0, 700))
def test_a_preview_is_the_slots_in_order(when: str, day: int) -> None:
    trigger = parse(when, "America/New_York")
    after = datetime(2024, 6, 1, tzinfo=UTC) + timedelta(days=day, hours=day % 24)
    found = preview(trigger, after=after, count=6)
    assert [slot.instant for slot in found] == slots(trigger, after=after, count=6)
    assert sorted({slot.instant for slot in found}) == [slot.instant for slot in found]
