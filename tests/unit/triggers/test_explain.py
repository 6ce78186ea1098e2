"""Explaining a trigger, and understanding the explanation as the same trigger (NL1, TR1 to TR6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.oracle.strategies import EXPRESSIONS, moments

from rota.errors import InvalidCron
from rota.triggers.at import At
from rota.triggers.cron import Cron
from rota.triggers.cron.pattern import ANY_MONTH_DAY, ANY_WEEKDAY
from rota.triggers.cron.special import MonthDays, WeekDays
from rota.triggers.cron.text import Meaning, write
from rota.triggers.english import explain
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.parse import parse
from rota.triggers.recurrence import Recurrence

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

ZONES = st.sampled_from(
    ["UTC", "America/New_York", "Australia/Lord_Howe", "Europe/Madrid", "Pacific/Apia", "+05:30"]
)
INSTANTS = st.timedeltas(timedelta(days=-25_000), timedelta(days=119_000)).map(
    lambda since: datetime(1970, 1, 1, tzinfo=UTC) + since
)
PERIODS = st.one_of(
    st.integers(1, 100_000).map(lambda seconds: timedelta(seconds=seconds)),
    st.integers(1_000, 10**12).map(lambda millis: timedelta(milliseconds=millis)),
    st.integers(1, 36_600).map(lambda days: timedelta(days=days)),
)
RULES = st.sampled_from(
    [
        "FREQ=DAILY;BYHOUR=9",
        "RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,FR;BYHOUR=9;BYMINUTE=30",
        "DTSTART:20250101T090000 RRULE:FREQ=MONTHLY;BYDAY=-1FR;COUNT=12",
        "DTSTART:20250101T090000 RRULE:FREQ=DAILY;UNTIL=20300101T000000Z EXDATE:20250102T090000",
        "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29",
    ]
)


@st.composite
def crons(draw: st.DrawFn) -> Cron:
    """Any cron trigger of the dialect, in any zone."""
    expression, zone = draw(EXPRESSIONS), draw(ZONES)
    try:
        return Cron.parse(expression, zone)
    except InvalidCron:
        assume(condition=False)
        raise


INTERVALS = st.builds(Interval, PERIODS) | st.builds(Interval, PERIODS, INSTANTS, ZONES)
ONE_OFFS = st.builds(At, INSTANTS, ZONES)
RECURRENCES = st.builds(Recurrence.parse, RULES, ZONES)


@st.composite
def limited(draw: st.DrawFn) -> Limited:
    inner = draw(crons() | INTERVALS | RECURRENCES | ONE_OFFS)
    start = draw(st.none() | INSTANTS)
    end = draw(st.none() | INSTANTS)
    count = draw(st.none() | st.integers(1, 10**6))
    assume(not (start and end) or (start and end and start < end))
    assume(start or end or count)
    return Limited(inner, start, end, count)


def assert_understood_again(trigger: Trigger) -> None:
    said = explain(trigger)
    again = parse(said)
    assert again == trigger, said
    assert explain(again) == said
    if f"({trigger.timezone})" in said:
        assert again.timezone == trigger.timezone


@given(crons())
def test_cron_is_understood_again(cron: Cron) -> None:
    assert_understood_again(cron)


@given(INTERVALS)
def test_an_interval_is_understood_again(interval: Interval) -> None:
    assert_understood_again(interval)


@given(ONE_OFFS)
def test_an_instant_is_understood_again(once: At) -> None:
    assert_understood_again(once)


@given(moments(["America/New_York", "Australia/Lord_Howe", "America/Santiago", "Pacific/Apia"]))
def test_an_instant_near_a_clock_change_is_understood_again(moment: tuple[str, datetime]) -> None:
    zone, instant = moment
    assert_understood_again(At(instant, zone))
    assert_understood_again(Interval(timedelta(minutes=5), instant, zone))


@given(RECURRENCES)
def test_a_recurrence_is_understood_again(recurrence: Recurrence) -> None:
    assert_understood_again(recurrence)


@given(limited())
def test_limits_are_understood_again(trigger: Limited) -> None:
    assert_understood_again(trigger)


masks = {
    "seconds": st.integers(1, (1 << 60) - 1) | st.just(1),
    "minutes": st.integers(1, (1 << 60) - 1) | st.just(1),
    "hours": st.integers(1, (1 << 24) - 1),
    "month_days": st.integers(1, (1 << 31) - 1).map(lambda mask: mask << 1)
    | st.just(ANY_MONTH_DAY),
    "week_days": st.integers(1, 127) | st.just(127),
    "months": st.integers(1, (1 << 12) - 1).map(lambda mask: mask << 1),
}


@st.composite
def meanings(draw: st.DrawFn) -> Meaning:
    """What a cron expression can mean."""
    meaning = Meaning(
        **{name: draw(mask) for name, mask in masks.items()},
        is_wildcard=draw(st.booleans()),
        special_month_days=draw(
            st.none()
            | st.frozensets(st.integers(0, 30), min_size=1).map(
                lambda before: MonthDays(tuple(sorted(before)))
            )
            | st.just(MonthDays((), last_weekday=True))
        ),
        special_week_days=draw(
            st.none()
            | st.frozensets(st.tuples(st.integers(0, 6), st.integers(0, 5)), min_size=1).map(
                lambda pairs: WeekDays(tuple(sorted(pairs)))
            )
        ),
        years=draw(st.none() | st.integers(1, (1 << 40) - 1).map(lambda mask: mask << 70)),
        days_joined_by_or=draw(st.booleans()),
    )
    any_month_day = meaning.month_days == ANY_MONTH_DAY
    any_week_day = meaning.week_days == ANY_WEEKDAY
    if any_month_day or any_week_day:
        meaning = meaning._replace(days_joined_by_or=False)
    if any_month_day:
        meaning = meaning._replace(special_month_days=None)
    if any_week_day:
        meaning = meaning._replace(special_week_days=None)
    if not (any_month_day or any_week_day or meaning.days_joined_by_or):
        # Only days of which one is the lowest of its field can be joined by AND.
        assume(meaning.month_days & 2 or meaning.week_days & 1)
    if meaning.is_wildcard:
        assume((meaning.seconds | meaning.minutes | meaning.hours) & 1)
    return meaning


@given(meanings())
def test_a_meaning_is_written_as_an_expression_of_just_that_meaning(meaning: Meaning) -> None:
    expression = write(meaning)
    assume(len(expression) <= 256)
    try:
        pattern = Cron.parse(expression).pattern
    except InvalidCron as refusal:
        assume("never comes" not in str(refusal))
        raise
    for name in ("seconds", "minutes", "hours", "month_days", "week_days", "months", "years"):
        assert getattr(pattern, name) == getattr(meaning, name), (name, expression)
    assert pattern.is_wildcard == meaning.is_wildcard, expression
    assert pattern.days_joined_by_or == meaning.days_joined_by_or, expression
    assert pattern.special_month_days == meaning.special_month_days, expression
    assert pattern.special_week_days == meaning.special_week_days, expression


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("0 9 * * MON-FRI", "every weekday at 09:00 (UTC)"),
        ("*/15 9-16 * * 1-5", "every 15 minutes between 09:00 and 16:59 on weekdays (UTC)"),
        ("0 0 1 1 *", "every year on the 1st of January at 00:00 (UTC)"),
        ("0 18 * * 5L", "on the last Friday of the month at 18:00 (UTC)"),
        ("0 0 LW * *", "on the last weekday of the month at 00:00 (UTC)"),
        ("0 0 L-3 * *", "on the 3 days before the last day of the month at 00:00 (UTC)"),
        ("0 0 15W * *", "on the weekday nearest to the 15th of the month at 00:00 (UTC)"),
        (
            "0 0 L-3W * *",
            "on the weekday nearest to 3 days before the last day of the month at 00:00 (UTC)",
        ),
        ("0 0 1,15 * FRI", "on the 1st and 15th of the month or every Friday at 00:00 (UTC)"),
        ("*/10 * * * * *", "every 10th second (UTC)"),
        ("0 0 0 1 1 ? 2030", "every year on the 1st of January in 2030 at 00:00 (UTC)"),
        ("@hourly", "every hour (UTC)"),
        ("90s", "every 1 minute and 30 seconds"),
        ("2027-01-01T09:00Z", "once at 2027-01-01 09:00 (UTC)"),
        ("2027-01-01T09:00:30.5Z", "once at 2027-01-01 09:00:30.500000 (UTC)"),
        ("FREQ=DAILY;BYHOUR=9", "by the rule FREQ=DAILY;BYHOUR=9 (UTC)"),
    ],
)
def test_the_words_are_plain(when: str, said: str) -> None:
    assert explain(parse(when)) == said


def test_a_time_read_twice_is_told_apart() -> None:
    first = parse("2025-11-02T05:30Z", "America/New_York")
    second = parse("2025-11-02T06:30Z", "America/New_York")
    assert explain(first) == "once at 2025-11-02 01:30 (America/New_York)"
    assert explain(second) == "once at 2025-11-02T06:30:00Z (America/New_York)"
    assert parse(explain(second)) == second
