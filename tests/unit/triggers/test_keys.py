"""Stable keys of schedules that have a name and no key (TR14, TR15)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.triggers.keys import schedule_key
from rota.triggers.limits import Limited
from rota.triggers.parse import When, parse


@pytest.mark.parametrize(
    ("name", "when", "zone", "key"),
    [
        ("daily-rollup", "0 9 * * *", "UTC", "daily-rollup::cron:0 9 * * *:UTC"),
        ("ping", timedelta(minutes=1), None, "ping::every:60000"),
        (
            *("weekly-report", "0 9 * * 1", "Europe/Madrid"),
            "weekly-report::cron:0 9 * * 1:Europe/Madrid",
        ),
    ],
)
def test_the_examples_of_the_requirement(name: str, when: When, zone: str | None, key: str) -> None:
    assert schedule_key(name, parse(when, zone)) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("0 9 * * MON", "UTC"), ("  0  9 *\t* mon ", "UTC")),
        (("0 9 * * *", "UTC"), ("0 9 * * *", "Z")),
        (("0 9 * * *", "UTC"), ("0 9 * * *", None)),
        (("0 0 * * *", None), ("@daily", None)),
        (("0 0 * * *", None), ("@MIDNIGHT", None)),
        (("0 0 l * 5l", None), ("0 0 L * 5L", None)),
        (("60s", None), ("1m", None)),
        (("every 60 seconds", None), (timedelta(minutes=1), "Europe/Madrid")),
        (("PT1M", None), ("every  1  Minute", None)),
        (("every weekday at 9am", "UTC"), ("EVERY  weekday AT 09:00 UTC", None)),
        (("every weekday at 9am", "Asia/Tokyo"), ("0 9 * * 1-5", "Asia/Tokyo")),
        (("2027-01-01 09:00", "Europe/Madrid"), ("2027-01-01T08:00:00Z", None)),
        (("FREQ=DAILY;BYHOUR=9", None), ("rrule:freq=daily;byhour=9", "Z")),
    ],
)
def test_other_spellings_of_the_same_have_the_same_key(
    one: tuple[When, str | None], other: tuple[When, str | None]
) -> None:
    assert schedule_key("name", parse(*one)) == schedule_key("name", parse(*other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("0 9 * * *", "UTC"), ("0 9 * * *", "Europe/Madrid")),
        (("0 9 * * *", None), ("0 10 * * *", None)),
        (("5m", None), ("6m", None)),
        (("2027-01-01", None), ("2027-01-02", None)),
        (("FREQ=DAILY", None), ("FREQ=WEEKLY", None)),
    ],
)
def test_what_differs_has_another_key(
    one: tuple[When, str | None], other: tuple[When, str | None]
) -> None:
    assert schedule_key("name", parse(*one)) != schedule_key("name", parse(*other))


def test_another_name_is_another_key() -> None:
    assert schedule_key("one", parse("5m")) != schedule_key("other", parse("5m"))


def test_limits_and_anchors_leave_the_key_alone() -> None:
    at = datetime(2027, 1, 1, tzinfo=UTC)
    inner = parse("0 9 * * *")
    assert schedule_key("name", Limited(inner, start_at=at)) == schedule_key("name", inner)
    counted = parse("every 5 minutes, counted from 2027-01-01")
    assert schedule_key("name", counted) == schedule_key("name", parse("5m"))
