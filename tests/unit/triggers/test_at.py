"""One-off instants (TR2, TZ3, TZ5, TZ6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidInstant, InvalidTimezone
from rota.triggers.at import At, named, parse_instant
from rota.triggers.preview import local_time
from rota.triggers.trigger import Trigger
from rota.triggers.zones import zone

TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "timezone", "utc"),
    [
        ("2027-01-01", "UTC", "2027-01-01T00:00:00"),
        ("2027-01-01 09:00", "UTC", "2027-01-01T09:00:00"),
        ("2027-01-01T09:00", "UTC", "2027-01-01T09:00:00"),
        ("2027-01-01T09:00:30", "UTC", "2027-01-01T09:00:30"),
        ("2027-01-01T09:00:30.25", "UTC", "2027-01-01T09:00:30.250000"),
        ("2027-01-01T09:00:00Z", "Europe/Madrid", "2027-01-01T09:00:00"),
        ("2027-01-01T09:00:00+05:30", "Europe/Madrid", "2027-01-01T03:30:00"),
        ("2027-01-01 09:00 -08:00", "Europe/Madrid", "2027-01-01T17:00:00"),
        ("2027-01-01 09:00", "Europe/Madrid", "2027-01-01T08:00:00"),
        ("2027-07-01 09:00", "Europe/Madrid", "2027-07-01T07:00:00"),
        ("2027-01-01", "Asia/Kolkata", "2026-12-31T18:30:00"),
        ("2027-01-01 09:00", "+05:30", "2027-01-01T03:30:00"),
        (" 2027-01-01 09:00 ", "Z", "2027-01-01T09:00:00"),
        ("2028-02-29", "UTC", "2028-02-29T00:00:00"),
        # TZ5: a time that is skipped stands for the end of the gap.
        ("2025-03-09 02:30", "America/New_York", "2025-03-09T07:00:00"),
        ("2025-10-05 02:15", "Australia/Lord_Howe", "2025-10-04T15:30:00"),
        ("2011-12-30 12:00", "Pacific/Apia", "2011-12-30T10:00:00"),
        # TZ6: a time that is read twice, for the first time.
        ("2025-11-02 01:30", "America/New_York", "2025-11-02T05:30:00"),
        ("2025-11-02 01:30-05:00", "America/New_York", "2025-11-02T06:30:00"),
    ],
)
def test_an_instant_is_read(text: str, timezone: str, utc: str) -> None:
    once = At.parse(text, timezone)
    assert once.instant == datetime.fromisoformat(f"{utc}+00:00")
    assert once.instant.tzinfo is UTC
    assert once.timezone == zone(timezone).name
    assert isinstance(once, Trigger)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "now", "2027", "2027-01", "20270101", "2027-1-1", "27-01-01", "12/1", "09:00"),
        *("2027-13-01", "2027-00-01", "2027-02-30", "2027-02-29", "2027-01-32", "2027-01-00"),
        *("2027-01-01 24:00", "2027-01-01 09:60", "2027-01-01T09:00:60", "2027-01-01 9am"),
        *("2027-01-01T09:00+5", "2027-01-01T09:00+0530", "2027-01-01T09:00+15:00", "2027-01-01TZ"),
        *(
            "2027-01-01T09:00+05:60",
            "2027-01-01T09:00:00.1234567",
            "2027-01-01T09:00 UTC",
            "\u0662\u0660\u0662\u0667-01-01",
        ),
        *("0001-01-01", "1899-12-30", "2300-01-02", "9999-12-31", "0000-01-01"),
        *("1899-12-31 00:00+14:00", "2300-01-01 23:00-14:00", "2027-01-01\0", "x" * 10_000),
    ],
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(InvalidInstant, match=r"^Invalid instant: ") as refused:
        parse_instant(text, zone("UTC"))
    assert len(str(refused.value)) < 250


@given(st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(Z|[+-]\d\d:\d\d)?"))
def test_only_the_declared_error_escapes(text: str) -> None:
    try:
        found = parse_instant(text, zone("America/New_York"))
    except InvalidInstant:
        return
    once = At(found)
    assert once.next_after(found - TICK) == found


@pytest.mark.parametrize("edge", ["1899-12-31T00:00Z", "2300-01-01T23:59:59Z"])
def test_every_instant_that_is_read_can_be_asked_about(edge: str) -> None:
    once = At.parse(edge)
    assert once.next_after(once.instant) is None
    assert once.previous_before(once.instant) is None


def test_it_fires_once() -> None:
    once = At.parse("2027-01-01 09:00")
    at = datetime(2027, 1, 1, 9, tzinfo=UTC)
    assert once.next_after(at - timedelta(days=999)) == at
    assert once.next_after(at - TICK) == at
    assert once.next_after(at) is None
    assert once.previous_before(at) is None
    assert once.previous_before(at + TICK) == at
    assert once.next_after(at.astimezone(ZoneInfo("Asia/Tokyo"))) is None


def test_the_zone_is_for_reading_only() -> None:
    there = At.parse("2027-01-01 09:00+01:00", "Europe/Madrid")
    assert there == At.parse("2027-01-01 08:00")
    assert there.signature == "at:2027-01-01T08:00:00Z"


def test_a_bad_zone_is_refused() -> None:
    with pytest.raises(InvalidTimezone):
        At.parse("2027-01-01", "EST")


@pytest.mark.parametrize(
    ("text", "instants", "says"),
    [
        ("2025-03-09 02:30", ["2025-03-09T07:00:00Z"], "does not exist"),
        ("2025-03-09 01:59:59", ["2025-03-09T06:59:59Z"], None),
        ("2025-03-09 03:00", ["2025-03-09T07:00:00Z"], None),
        ("2025-11-02 01:30", ["2025-11-02T05:30:00Z", "2025-11-02T06:30:00Z"], "exists twice"),
        ("2025-11-02T01:30:00-05:00", ["2025-11-02T06:30:00Z"], None),
        ("2025-11-02 02:00", ["2025-11-02T07:00:00Z"], None),
        ("2025-07-01", ["2025-07-01T04:00:00Z"], None),
    ],
)
def test_a_local_time_names_the_instants_at_which_clocks_read_it(
    text: str, instants: list[str], says: str | None
) -> None:
    found = named(text, zone("America/New_York"))
    assert [*found.instants] == [datetime.fromisoformat(each) for each in instants]
    assert (found.note is None) == (says is None)
    if says is not None:
        assert found.note is not None
        assert says in found.note
    for instant in found.instants if says else ():
        assert local_time(instant, zone("America/New_York")).isoformat() in (found.note or "")


@pytest.mark.parametrize("name", ["America/New_York", "Australia/Lord_Howe", "Europe/Dublin"])
@given(minutes=st.integers(0, 2 * 366 * 24 * 60))
def test_the_instants_of_a_local_time_are_all_that_show_it(name: str, minutes: int) -> None:
    wall = datetime(2025, 1, 1) + timedelta(minutes=minutes)  # noqa: DTZ001 - on a wall clock
    found = named(wall.isoformat(sep=" "), zone(name)).instants
    shows = {
        there.astimezone(UTC)
        for fold in (0, 1)
        if (there := wall.replace(tzinfo=ZoneInfo(name), fold=fold)).astimezone(UTC)
        and there.astimezone(UTC).astimezone(ZoneInfo(name)).replace(tzinfo=None) == wall
    }
    assert list(found) == sorted(shows) if shows else len(found) == 1
