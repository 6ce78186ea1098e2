"""The oracle is checked first: by the rules' own examples, and against a second-by-second look."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from tests.oracle import cron
from tests.oracle.clock import Change, clock, digest, epoch, tzdata_names, utc
from tests.oracle.examples import EXAMPLES, Example


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.expression} {e.zone} {e.start}")
def test_the_oracle_gives_every_example_of_the_rules(example: Example) -> None:
    start, end = example.window
    found = cron.slots(cron.read(example.expression), clock(example.zone), epoch(start), epoch(end))
    assert [utc(slot) for slot in found] == example.instants


LOOKED_AT = (
    ("America/New_York", "2025-03-09T07:00+00:00"),
    ("America/New_York", "2025-11-02T06:00+00:00"),
    ("Australia/Lord_Howe", "2025-10-04T15:30+00:00"),
    ("Australia/Lord_Howe", "2025-04-05T15:00+00:00"),
    ("America/Santiago", "2025-09-07T04:00+00:00"),
    ("Pacific/Apia", "2011-12-30T10:00+00:00"),
    ("Antarctica/Troll", "2025-03-30T01:00+00:00"),
    ("Asia/Pyongyang", "2018-05-04T15:00+00:00"),
    ("America/St_Johns", "2009-11-01T02:31+00:00"),
    ("America/St_Johns", "2009-03-08T03:31+00:00"),
    ("Pacific/Kwajalein", "1993-08-21T12:00+00:00"),
    ("Asia/Kathmandu", "2025-01-01T00:00+00:00"),
)
SCANNED = (
    "*/15 * * * *",
    "30 * * * *",
    "0 */2 * * *",
    "*/15 2 * * *",
    "7 0-6,22-23 * * *",
    "0,30 0,1,2,3 * * *",
    "59 23 * * *",
    "0 0 L * *",
    "30 2 9 3 *",
    "45 1 * * SUN",
)


@pytest.mark.parametrize(("zone", "at"), LOOKED_AT)
@pytest.mark.parametrize("text", SCANNED)
def test_listing_days_finds_what_looking_every_minute_finds(text: str, zone: str, at: str) -> None:
    middle = epoch(datetime.fromisoformat(at))
    start, end = middle - 30 * 3_600, middle + 30 * 3_600
    expression = cron.read(text)
    by_looking = cron.scan(expression, clock(zone), start, end, step=60)
    assert cron.slots(expression, clock(zone), start, end) == by_looking


@pytest.mark.parametrize("text", ["*/20 * * * * *", "15,45 0,30 1-3 * * *", "59 59 1 * * *"])
@pytest.mark.parametrize(("zone", "at"), LOOKED_AT[1:3])
def test_listing_days_finds_what_looking_every_second_finds(text: str, zone: str, at: str) -> None:
    middle = epoch(datetime.fromisoformat(at))
    start, end = middle - 7_200, middle + 7_200
    expression = cron.read(text)
    by_looking = cron.scan(expression, clock(zone), start, end, step=1)
    assert cron.slots(expression, clock(zone), start, end) == by_looking


@pytest.mark.parametrize("zone", ["Africa/Casablanca", "America/St_Johns", "Africa/Monrovia"])
@pytest.mark.parametrize("year", [1972, 1988, 2009, 2025, 2060])
def test_the_clock_knows_every_change_that_looking_every_quarter_of_an_hour_shows(
    zone: str, year: int
) -> None:
    start = epoch(datetime(year, 1, 1, tzinfo=UTC))
    looks = range(start, start + 364 * 86_400, 900)
    seen = [at for at in looks if clock(zone).offset(at) != clock(zone).offset(at + 900)]
    known = clock(zone).changes(start, start + 364 * 86_400)
    assert len(known) == len(seen)
    assert all(at < change.at <= at + 900 for at, change in zip(seen, known, strict=True))


def test_the_clock_gives_a_change_to_the_second() -> None:
    at = epoch(datetime(2025, 3, 9, 7, tzinfo=UTC))
    found = clock("America/New_York").changes(at - 1_000, at + 1_000)
    assert found == [Change(at, before=-5 * 3_600, after=-4 * 3_600)]
    assert clock("US/Eastern") is clock("America/New_York")
    assert digest("US/Eastern") == digest("America/New_York")
    assert "America/New_York" in tzdata_names()


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 * 2 MON#5", "2072-02-29T00:00+00:00", "2112-02-29T00:00+00:00"),
        ("0 0 29 2 *", "2096-02-29T00:00+00:00", "2104-02-29T00:00+00:00"),
        ("0 0 1W * *", "2025-01-31T00:00+00:00", "2025-02-03T00:00+00:00"),
        ("0 0 31W * *", "2025-08-01T00:00+00:00", "2025-08-29T00:00+00:00"),
        ("0 0 LW * *", "2025-08-01T00:00+00:00", "2025-08-29T00:00+00:00"),
        ("0 0 * * FRI#L", "2025-02-01T00:00+00:00", "2025-02-28T00:00+00:00"),
        ("0 0 13 * FRI", "2025-06-01T00:00+00:00", "2025-06-06T00:00+00:00"),
        ("0 0 */2 * FRI", "2025-06-01T00:00+00:00", "2025-06-13T00:00+00:00"),
    ],
)
def test_walking_the_days_reaches_the_next_slot_and_back(
    text: str, after: str, expected: str
) -> None:
    expression = cron.read(text)
    slot = cron.next_after(expression, clock("UTC"), datetime.fromisoformat(after))
    assert slot == datetime.fromisoformat(expected)
    assert slot is not None
    later = slot + timedelta(microseconds=1)
    since = date(1970, 1, 1)
    assert cron.previous_before(expression, clock("UTC"), later, since=since) == slot


@pytest.mark.parametrize("text", ["0 0 30 2 *", "0 0 */31 * MON#2", "0 0 31W 4 *", "* * * *"])
def test_the_oracle_refuses_what_never_fires_or_is_not_cron(text: str) -> None:
    with pytest.raises(cron.Refused):
        cron.read(text)
