"""When an expression fires: days, rare dates, every change of the clock (TZ5, TZ6, TZ7, TZ8)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from itertools import islice, pairwise
from typing import TYPE_CHECKING

import pytest
from tests.oracle.examples import EXAMPLES, NEW_YORK, Example

import rota
from rota.triggers.cron import Cron

if TYPE_CHECKING:
    from collections.abc import Iterator

MICROSECOND = timedelta(microseconds=1)


def forwards(trigger: Cron, after: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(after)
    while slot is not None:
        yield slot
        slot = trigger.next_after(slot)


def backwards(trigger: Cron, before: datetime) -> Iterator[datetime]:
    slot = trigger.previous_before(before)
    while slot is not None:
        yield slot
        slot = trigger.previous_before(slot)


def between(trigger: Cron, start: datetime, end: datetime) -> list[datetime]:
    """Every slot from start up to end (not included), walking forwards."""
    found: list[datetime] = []
    for slot in forwards(trigger, start - MICROSECOND):
        if slot >= end:
            break
        found.append(slot)
    return found


def between_backwards(trigger: Cron, start: datetime, end: datetime) -> list[datetime]:
    found: list[datetime] = []
    for slot in backwards(trigger, end):
        if slot < start:
            break
        found.append(slot)
    return found[::-1]


def moments(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text) for text in texts]


def days(text: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """The dates of the next slots."""
    slots = islice(forwards(Cron.parse(text, zone), datetime.fromisoformat(after)), count)
    return [slot.date().isoformat() for slot in slots]


# Clock changes ------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.expression} {e.zone} {e.start}")
def test_every_example_of_the_rules_holds_forwards(example: Example) -> None:
    trigger = Cron.parse(example.expression, example.zone)
    assert between(trigger, *example.window) == example.instants


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.expression} {e.zone} {e.start}")
def test_every_example_of_the_rules_holds_backwards(example: Example) -> None:
    trigger = Cron.parse(example.expression, example.zone)
    assert between_backwards(trigger, *example.window) == example.instants


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.expression} {e.zone} {e.start}")
def test_the_rules_hold_for_six_and_seven_fields_too(example: Example) -> None:
    for text in (f"0 {example.expression}", f"0 {example.expression} 2009-2025"):
        assert between(Cron.parse(text, example.zone), *example.window) == example.instants


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.expression} {e.zone} {e.start}")
def test_the_public_parse_reads_the_same_trigger(example: Example) -> None:
    trigger = rota.parse(example.expression, timezone=example.zone)
    start, end = example.window
    slot = trigger.next_after(start - MICROSECOND)
    found: list[datetime] = []
    while slot is not None and slot < end:
        found.append(slot)
        slot = trigger.next_after(slot)
    assert found == example.instants


def test_tz5_a_time_in_the_gap_moves_to_the_next_time_that_exists() -> None:
    trigger = Cron.parse("59 59 2 * * *", NEW_YORK)
    start, end = moments("2025-03-09T00:00-05:00", "2025-03-10T00:00-04:00")
    assert between(trigger, start, end) == moments("2025-03-09T03:00-04:00")


def test_tz5_a_time_moved_out_of_the_gap_merges_with_the_one_already_there() -> None:
    trigger = Cron.parse("0 2,3 * * *", NEW_YORK)
    start, end = moments("2025-03-09T00:00-05:00", "2025-03-10T00:00-04:00")
    assert between(trigger, start, end) == moments("2025-03-09T03:00-04:00")


def test_tz5_a_date_that_matches_only_in_the_gap_still_fires() -> None:
    trigger = Cron.parse("30 2 9 3 *", NEW_YORK)
    start, end = moments("2025-01-01T00:00-05:00", "2026-01-01T00:00-05:00")
    assert between(trigger, start, end) == moments("2025-03-09T03:00-04:00")


def test_tz5_the_date_that_counts_is_the_one_that_was_named() -> None:
    # 23:30 became 00:00 of the next day: the fourth's 23:45 fires then, and the fifth has its own.
    start, end = moments("2018-05-04T12:00+08:30", "2018-05-06T12:00+09:00")
    fourth = Cron.parse("45 23 4 5 *", "Asia/Pyongyang")
    assert between(fourth, start, end) == moments("2018-05-05T00:00+09:00")
    fifth = Cron.parse("45 23 5 5 *", "Asia/Pyongyang")
    assert between(fifth, start, end) == moments("2018-05-05T23:45+09:00")


@pytest.mark.parametrize(
    ("zone", "start", "end"),
    [
        ("Antarctica/Casey", "2016-10-21T12:00+08:00", "2016-10-22T12:00+11:00"),
        ("Pacific/Kwajalein", "1993-08-20T13:00-12:00", "1993-08-22T00:00+12:00"),
        ("Pacific/Apia", "2011-12-29T13:00-10:00", "2011-12-31T00:00+14:00"),
    ],
)
def test_a_gap_of_three_hours_or_more_drops_what_lies_in_it(
    zone: str, start: str, end: str
) -> None:
    left, right = moments(start, end)
    fixed = between(Cron.parse("30 0-23 * * *", zone), left, right)
    every_half = between(Cron.parse("30 * * * *", zone), left, right)
    assert fixed == every_half
    assert len(fixed) == (right - left) // timedelta(hours=1)


def test_tz6_a_repeated_time_fires_on_its_first_pass_only() -> None:
    trigger = Cron.parse("0,15,30,45 1 * * *", NEW_YORK)
    start, end = moments("2025-11-02T00:00-04:00", "2025-11-03T00:00-05:00")
    assert between(trigger, start, end) == moments(
        "2025-11-02T01:00-04:00",
        "2025-11-02T01:15-04:00",
        "2025-11-02T01:30-04:00",
        "2025-11-02T01:45-04:00",
    )


@pytest.mark.parametrize("minute", range(0, 60, 7))
def test_tz6_asking_from_the_second_pass_never_answers_with_the_past(minute: int) -> None:
    asked = datetime.fromisoformat(f"2025-11-02T01:{minute:02}-05:00")
    slot = Cron.parse("30 1 * * *", NEW_YORK).next_after(asked)
    assert slot == datetime.fromisoformat("2025-11-03T01:30-05:00")


def test_tz7_a_daily_time_keeps_its_local_hour_and_moves_in_utc() -> None:
    trigger = Cron.parse("0 2 * * *", NEW_YORK)
    start, end = moments("2025-03-08T00:00-05:00", "2025-03-11T00:00-04:00")
    assert between(trigger, start, end) == [
        datetime(2025, 3, 8, 7, tzinfo=UTC),
        datetime(2025, 3, 9, 7, tzinfo=UTC),
        datetime(2025, 3, 10, 6, tzinfo=UTC),
    ]


@pytest.mark.parametrize("text", ["30 2 * * *", "0 0 * * *", "30 1 * * *", "59 59 2 * * *"])
@pytest.mark.parametrize(
    "zone", [NEW_YORK, "America/Santiago", "Europe/Riga", "Australia/Lord_Howe", "Africa/Cairo"]
)
def test_tz8_a_daily_job_runs_exactly_once_on_every_local_day(text: str, zone: str) -> None:
    start, end = datetime(2025, 1, 10, 12, tzinfo=UTC), datetime(2026, 1, 10, 12, tzinfo=UTC)
    slots = between(Cron.parse(text, zone), start, end)
    assert len(slots) == 365
    gaps = {later - earlier for earlier, later in pairwise(slots)}
    assert min(gaps) >= timedelta(hours=22, minutes=59)
    assert max(gaps) <= timedelta(hours=25)


@pytest.mark.parametrize("zone", [NEW_YORK, "Europe/Riga", "Asia/Kathmandu"])
def test_hourly_and_minutely_jobs_keep_even_spacing_in_real_time(zone: str) -> None:
    for text, period in (("0 * * * *", 3_600), ("*/10 * * * *", 600)):
        slots = list(
            islice(forwards(Cron.parse(text, zone), datetime(2025, 3, 1, tzinfo=UTC)), 900)
        )
        gaps = {later - earlier for earlier, later in pairwise(slots)}
        assert gaps == {timedelta(seconds=period)}


def test_a_star_makes_it_a_wildcard_even_where_the_values_are_the_same() -> None:
    start, end = moments("2025-11-02T00:00-04:00", "2025-11-03T00:00-05:00")
    for fixed, wildcard, more in (
        ("30 0-23 * * *", "30 */1 * * *", 1),
        ("0-59 1 * * *", "* 1 * * *", 60),
        ("0-59/30 30 1 * * *", "*/30 30 1 * * *", 2),
    ):
        once = between(Cron.parse(fixed, NEW_YORK), start, end)
        twice = between(Cron.parse(wildcard, NEW_YORK), start, end)
        assert set(once) < set(twice)
        assert len(twice) == len(once) + more


def test_st_johns_six_hourly_job_is_answered_at_once() -> None:
    trigger = Cron.parse("7 */6 * * *", "America/St_Johns")
    start, end = moments("2009-10-31T20:00-02:30", "2009-11-01T13:00-03:30")
    assert between(trigger, start, end) == moments(
        "2009-11-01T00:07-03:30", "2009-11-01T06:07-03:30", "2009-11-01T12:07-03:30"
    )


# Days ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 0 L * *", ["2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30"]),
        ("0 0 L-1 * *", ["2025-01-30", "2025-02-27", "2025-03-30", "2025-04-29"]),
        ("0 0 L-30 * *", ["2025-03-01", "2025-05-01", "2025-07-01", "2025-08-01"]),
        ("0 0 LW * *", ["2025-01-31", "2025-02-28", "2025-03-31", "2025-04-30"]),
        ("0 0 1,L * *", ["2025-01-31", "2025-02-01", "2025-02-28", "2025-03-01"]),
        ("0 0 L-2,LW 8 *", ["2025-08-29", "2026-08-29", "2026-08-31", "2027-08-29"]),
        ("0 0 1W * *", ["2025-02-03", "2025-03-03", "2025-04-01", "2025-05-01"]),
        ("0 0 15W * *", ["2025-01-15", "2025-02-14", "2025-03-14", "2025-04-15"]),
        ("0 0 30W * *", ["2025-01-30", "2025-03-31", "2025-04-30", "2025-05-30"]),
        ("0 0 31W * *", ["2025-01-31", "2025-03-31", "2025-05-30", "2025-07-31"]),
        ("0 0 L-1W * *", ["2025-01-30", "2025-02-27", "2025-03-31", "2025-04-29"]),
        ("0 0 L-3W * *", ["2025-01-28", "2025-02-25", "2025-03-28", "2025-04-28"]),
        # The first of a month with 31 days: never the month before.
        ("0 0 L-30W * *", ["2025-03-03", "2025-05-01", "2025-07-01", "2025-08-01"]),
        ("0 0 * * FRIL", ["2025-01-31", "2025-02-28", "2025-03-28", "2025-04-25"]),
        ("0 0 * * 0#L", ["2025-01-26", "2025-02-23", "2025-03-30", "2025-04-27"]),
        ("0 0 * * TUE#2", ["2025-01-14", "2025-02-11", "2025-03-11", "2025-04-08"]),
        ("0 0 * * WED#5", ["2025-01-29", "2025-04-30", "2025-07-30", "2025-10-29"]),
        ("0 0 * * MON#1,5L", ["2025-01-06", "2025-01-31", "2025-02-03", "2025-02-28"]),
        # Either day field when both are restricted.
        ("0 0 13 * FRI", ["2025-01-03", "2025-01-10", "2025-01-13", "2025-01-17"]),
        ("0 0 1,15 * 1-1", ["2025-01-06", "2025-01-13", "2025-01-15", "2025-01-20"]),
        ("0 0 1-31 * MON", ["2025-01-02", "2025-01-03", "2025-01-04", "2025-01-05"]),
        ("0 0 L * FRI#1", ["2025-01-03", "2025-01-31", "2025-02-07", "2025-02-28"]),
        ("0 0 15W * SUN#3", ["2025-01-15", "2025-01-19", "2025-02-14", "2025-02-16"]),
        # Both when one of them begins with a star, whatever follows it.
        ("0 0 */2 * FRI", ["2025-01-03", "2025-01-17", "2025-01-31", "2025-02-07"]),
        ("0 0 1-7 * */7", ["2025-01-05", "2025-02-02", "2025-03-02", "2025-04-06"]),
        ("0 0 */31,1-7 * MON", ["2025-01-06", "2025-02-03", "2025-03-03", "2025-04-07"]),
        ("0 0 13 * *,FRI", ["2025-01-13", "2025-02-13", "2025-03-13", "2025-04-13"]),
        ("0 0 ? * FRI", ["2025-01-03", "2025-01-10", "2025-01-17", "2025-01-24"]),
        ("0 0 31 * *", ["2025-01-31", "2025-03-31", "2025-05-31", "2025-07-31"]),
        ("0 0 1,31 * *", ["2025-01-31", "2025-02-01", "2025-03-01", "2025-03-31"]),
    ],
)
def test_the_days_an_expression_names(text: str, expected: list[str]) -> None:
    assert days(text, "2025-01-01T00:00+00:00", 4) == expected


@pytest.mark.parametrize(
    ("text", "after", "expected"),
    [
        ("0 0 29 2 *", "2096-02-29T00:00+00:00", "2104-02-29"),
        ("0 0 29 2 *", "2196-02-29T00:00+00:00", "2204-02-29"),
        ("0 0 * 2 MON#5", "2072-02-29T00:00+00:00", "2112-02-29"),
        ("0 0 L-28 2 *", "2096-02-01T00:00+00:00", "2104-02-01"),
        ("0 0 29W 2 *", "2096-03-01T00:00+00:00", "2104-02-29"),
        ("0 0 */31 2 SAT", "2025-02-01T00:00+00:00", "2031-02-01"),
    ],
)
def test_the_long_leaps_are_leapt_both_ways(text: str, after: str, expected: str) -> None:
    trigger = Cron.parse(text)
    here = datetime.fromisoformat(after)
    there = datetime.combine(date.fromisoformat(expected), datetime.min.time(), UTC)
    assert trigger.next_after(here) == there
    back = trigger.previous_before(there)
    assert back is not None
    assert back <= here
    assert trigger.next_after(back) == there


# The contract -------------------------------------------------------------------------------


def test_the_next_slot_is_strictly_after_and_the_previous_strictly_before() -> None:
    trigger = Cron.parse("*/5 * * * *")
    slot = datetime(2025, 6, 1, 12, 5, tzinfo=UTC)
    five = timedelta(minutes=5)
    assert trigger.next_after(slot) == slot + five
    assert trigger.previous_before(slot) == slot - five
    assert trigger.next_after(slot - MICROSECOND) == slot
    assert trigger.previous_before(slot + MICROSECOND) == slot
    assert trigger.next_after(slot + MICROSECOND) == slot + five
    assert trigger.previous_before(slot - MICROSECOND) == slot - five


def test_the_zone_of_the_argument_does_not_matter_and_the_answer_is_in_utc() -> None:
    trigger = Cron.parse("30 2 * * *", "Asia/Kolkata")
    asked = datetime(2025, 6, 1, 0, 30, tzinfo=UTC)
    answers = {
        trigger.next_after(asked.astimezone(timezone(timedelta(hours=hours))))
        for hours in range(-12, 15)
    }
    assert answers == {datetime(2025, 6, 1, 21, 0, tzinfo=UTC)}
    assert {answer.tzinfo for answer in answers if answer} == {UTC}


def test_a_star_for_the_year_is_every_year_as_if_it_were_not_written() -> None:
    for text in ("0 0 22 * * *", "0 0 22 * * * *"):
        slot = Cron.parse(text).next_after(datetime(2199, 12, 31, 23, tzinfo=UTC))
        assert slot == datetime(2200, 1, 1, 22, tzinfo=UTC)
    last = Cron.parse("0 0 22 * * * 1970-2199")
    assert last.next_after(datetime(2199, 12, 31, 23, tzinfo=UTC)) is None


def test_the_calendar_ends_with_2299() -> None:
    trigger = Cron.parse("0 0 1 1 *")
    last = trigger.next_after(datetime(2298, 6, 1, tzinfo=UTC))
    assert last is not None
    assert last == datetime(2299, 1, 1, tzinfo=UTC)
    assert trigger.next_after(last) is None


@pytest.mark.parametrize("text", ["0 0 * * *", "*/30 * * * *"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_walking_to_the_end_of_the_calendar_ends_with_none(text: str, zone: str) -> None:
    trigger = Cron.parse(text, zone)
    slots = list(forwards(trigger, datetime(2299, 12, 29, tzinfo=UTC)))
    assert slots[-1] >= datetime(2299, 12, 30, tzinfo=UTC)


@pytest.mark.parametrize("zone", ["+05:30", "-08:00", "UTC", "Z", "Etc/GMT+5"])
def test_zones_without_changes_fire_at_the_same_utc_time_all_year(zone: str) -> None:
    slots = islice(forwards(Cron.parse("15 9 * * *", zone), datetime(2025, 1, 1, tzinfo=UTC)), 400)
    assert len({slot.time() for slot in slots}) == 1
