"""What people should hear before they trust a cron expression (TZ8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.triggers.calendars import Days, Filtered
from rota.triggers.limits import Limited
from rota.triggers.parse import parse
from rota.triggers.warnings import warnings

AFTER = datetime(2025, 1, 1, tzinfo=UTC)
OR = "Both day of month and day of week are given: it runs on days that match either."
AND = "One day field begins with *, so the two are joined by AND"


def heard(when: str, zone: str = "America/New_York") -> list[str]:
    return warnings(parse(when, zone), after=AFTER)


@pytest.mark.parametrize("when", ["0 9 1 * MON", "0 9 1,15 * FRI", "0 0 L * 5L", "0 0 15W * MON#2"])
def test_days_that_match_either(when: str) -> None:
    (warning,) = heard(when)
    assert warning.startswith(OR)


@pytest.mark.parametrize("when", ["0 9 */2 * FRI", "0 9 1-7 * */2", "0 9 */31,1 * 1-6"])
def test_days_that_must_match_both(when: str) -> None:
    (warning,) = heard(when)
    assert warning.startswith(AND)


@pytest.mark.parametrize(
    ("when", "zone", "day"),
    [
        ("*/15 2 * * *", "America/New_York", "2025-03-09"),
        ("* 2 * * *", "America/New_York", "2025-03-09"),
        ("*/10 30-59 2 * * *", "America/New_York", "2025-03-09"),
        ("*/15 0 * * *", "America/Santiago", "2025-09-07"),
        ("*/5 2 * * SUN", "America/New_York", "2025-03-09"),
        ("0-29/5 */24,2 * * *", "America/New_York", None),
        ("*/5 2 * * MON", "America/New_York", None),
        ("*/15 2 * * *", "UTC", None),
        ("*/15 2 * * *", "Asia/Tokyo", None),
        ("*/15 2,3 * * *", "America/New_York", None),
    ],
)
def test_a_day_with_no_run_is_told(when: str, zone: str, day: str | None) -> None:
    found = heard(when, zone)
    if day is None:
        assert found == []
        return
    (warning,) = found
    assert warning.startswith(f"No run on {day} in {zone}: every time of that day falls into the")


@pytest.mark.parametrize(
    "when",
    [
        *("0 9 * * *", "0 9 * * MON-FRI", "0 0 1 * *", "30 2 * * MON", "0 * * * *", "*/15 * * * *"),
        *("@daily", "0 0 ? * MON", "0 9 1 * ?", "0 9 * * 5L", "5m", "2027-01-01", "FREQ=DAILY"),
        *("every weekday at 9am", "0 0 0 1 1 * 2030", "0 3 * * *", "0 */2 * * *"),
        *("2025-03-09 01:59", "2025-03-09 03:00", "2025-11-02 00:59", "2025-11-02 02:00"),
        *("2025-03-09T02:30-05:00", "2025-11-02T01:30-05:00", "2025-11-02T05:30Z"),
    ],
)
def test_what_is_harmless_is_left_alone(when: str) -> None:
    assert heard(when) == []


@pytest.mark.parametrize(
    ("when", "zone", "skipped", "repeated"),
    [
        ("30 2 * * *", "America/New_York", ("2025-03-09", "02:30", "03:00"), None),
        ("0 2 * * *", "America/New_York", ("2025-03-09", "02:00", "03:00"), None),
        ("every day at 1:30am", "America/New_York", None, ("2025-11-02", "01:30")),
        (
            *("30 1,2 * * SUN", "America/New_York"),
            *(("2025-03-09", "02:30", "03:00"), ("2025-11-02", "01:30")),
        ),
        (
            *("0 2 * * *", "Australia/Lord_Howe"),
            *(("2025-10-05", "02:00", "02:30"), None),
        ),
        ("0 0 * * *", "America/Santiago", ("2025-09-07", "00:00", "01:00"), None),
    ],
)
def test_a_fixed_time_that_clocks_skip_or_repeat_is_told(
    when: str,
    zone: str,
    skipped: tuple[str, str, str] | None,
    repeated: tuple[str, str] | None,
) -> None:
    expected: list[str] = []
    if skipped:
        day, nominal, runs = skipped
        expected.append(f"On {day} clocks in {zone} skip {nominal}: it runs at {runs} instead.")
    if repeated:
        day, nominal = repeated
        twice = "twice: it runs the first time only."
        expected.append(f"On {day} clocks in {zone} read {nominal} {twice}")
    assert heard(when, zone) == expected


@pytest.mark.parametrize("when", ["2025-03-09 02:30", "at 2025-03-09 02:30", "2025-03-09T02:30:00"])
def test_a_one_off_at_a_time_that_does_not_exist_is_told(when: str) -> None:
    assert heard(when) == [
        (
            "02:30 does not exist on 2025-03-09 in America/New_York: clocks skip it. "
            "It runs at the end of the gap, 2025-03-09T03:00:00-04:00."
        )
    ]


@pytest.mark.parametrize("when", ["2025-11-02 01:30", "at 2025-11-02 01:30"])
def test_a_one_off_at_a_time_that_exists_twice_is_told(when: str) -> None:
    assert heard(when) == [
        (
            "01:30 exists twice on 2025-11-02 in America/New_York. It runs the first time, "
            "2025-11-02T01:30:00-04:00; write the offset to choose."
        )
    ]


def test_limits_and_calendars_hide_nothing() -> None:
    inner = parse("*/15 2 * * *", "America/New_York")
    assert len(warnings(Limited(inner, max_firings=3), after=AFTER)) == 1
    assert len(warnings(Filtered(inner, Days(frozenset())), after=AFTER)) == 1


def test_a_day_outside_the_limits_is_not_told() -> None:
    inner = parse("*/15 2 * * *", "America/New_York")
    before = Limited(inner, end_at=datetime(2025, 3, 1, tzinfo=UTC))
    assert warnings(before, after=AFTER) == []
    later = Limited(inner, start_at=datetime(2025, 6, 1, tzinfo=UTC))
    (warning,) = warnings(later, after=AFTER)
    assert "2026-03-08" in warning


def test_the_end_of_the_calendar_is_no_trouble() -> None:
    end = datetime(2299, 12, 30, tzinfo=UTC)
    assert warnings(parse("*/15 2 * * *", "America/New_York"), after=end) == []
    assert warnings(parse("*/15 2 * * *"), after=end - timedelta(days=400)) == []
