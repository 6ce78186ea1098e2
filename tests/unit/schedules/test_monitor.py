"""Monitors: which slot a ping counts for, and what is missed. No clock, no database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule
from rota.schedules.monitor import Expected, expected_after, overdue, slot_of
from rota.triggers.cron import Cron

NOW = datetime(2026, 3, 2, 10, tzinfo=UTC)
DAILY = Cron.parse("0 3 * * *")
HOUR = timedelta(hours=1)
ANY_INSTANT = st.timedeltas(timedelta(), timedelta(days=31)).map(lambda away: NOW + away)
ANY_GRACE = st.timedeltas(timedelta(), timedelta(days=3))


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ping_at", "slot"),
    [
        (at(2, 2, 59), at(2, 3)),  # Early, by a minute
        (at(1, 4, 1), at(2, 3)),  # early, by almost a day
        (at(2, 3), at(2, 3)),
        (at(2, 4), at(2, 3)),  # the deadline itself is in time
        (at(2, 4, 1), at(3, 3)),  # one minute later is the next slot's
    ],
)
def test_a_ping_counts_for_the_slot_whose_window_it_is_in(
    ping_at: datetime, slot: datetime
) -> None:
    assert slot_of(DAILY, HOUR, ping_at) == slot


@given(ANY_INSTANT, ANY_GRACE)
def test_every_instant_is_in_the_window_of_one_slot(instant: datetime, grace: timedelta) -> None:
    slot = slot_of(DAILY, grace, instant)
    assert slot is not None
    before = DAILY.previous_before(slot)
    assert before is not None
    assert before + grace < instant <= slot + grace


def test_who_begins_to_wait_waits_for_the_first_slot_to_come() -> None:
    assert expected_after(DAILY, HOUR, at(2, 3)) == Expected(at(3, 3), at(3, 4))


@given(ANY_INSTANT, ANY_GRACE, st.timedeltas(timedelta(), timedelta(days=9)))
def test_what_is_missed_is_every_slot_whose_window_has_ended(
    instant: datetime, grace: timedelta, outage: timedelta
) -> None:
    expected = expected_after(DAILY, grace, instant)
    assert expected is not None
    now = expected.deadline + outage + timedelta(microseconds=1)
    missed = overdue(DAILY, grace, expected.slot, now)
    ended = 0
    slot = expected.slot
    while slot + grace < now:
        ended += 1
        slot += timedelta(days=1)
    assert (missed.first, missed.count) == (expected.slot, ended)
    assert missed.last == slot - timedelta(days=1)
    assert missed.following == Expected(slot, slot + grace)


def test_the_last_slot_of_all_is_followed_by_nothing() -> None:
    once = Cron.parse("0 0 3 2 3 * 2026")
    assert overdue(once, HOUR, at(2, 3), at(2, 5)).following is None


def read(**given: Any) -> fields.Parsed:
    return fields.read({"name": "backup", **given}, now=NOW)


@pytest.mark.parametrize(
    ("expect", "slot"),
    [
        ("0 3 * * *", at(3, 3)),
        ("every day at 3am", at(3, 3)),
        ("1h", at(2, 11)),
        (3600, at(2, 11)),
    ],
)
def test_cron_english_and_intervals_are_expected(expect: Any, slot: datetime) -> None:
    definition = read(monitor={"expect": expect, "grace": "1h"}).definition
    expected = definition.expected(NOW)
    assert expected is not None
    assert expected.next_after(NOW) == slot
    assert definition.trigger(NOW).next_after(NOW) is None
    assert fields.read(fields.write(definition), now=NOW).definition == definition


@pytest.mark.parametrize(
    ("monitor", "part"),
    [
        ("1h", "expected an object"),
        ({}, "expect"),
        ({"expect": True}, "expect"),
        ({"expect": "every blue moon"}, "every blue moon"),
        ({"expect": "1h", "grace": "31d"}, "grace"),
        ({"expect": "1h", "grace": -5}, "grace"),
        ({"expect": "1h", "every": "2h"}, "every"),
        ({"expect": "2020-01-01T00:00:00Z"}, "no slot"),
    ],
)
def test_what_cannot_be_waited_for_is_refused(monitor: Any, part: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        read(monitor=monitor)
    assert [problem.field for problem in refused.value.problems] == ["monitor"]
    assert part in str(refused.value)


def test_a_monitor_calls_nothing() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        read(monitor={"expect": "1h"}, target_url="https://example.com", queue="q")
    assert {problem.field for problem in refused.value.problems} == {"target_url", "queue"}
    with pytest.raises(InvalidSchedule, match="no slots"):
        read(monitor={"expect": "1h"}, max_firings=3)


def test_a_text_may_name_its_own_zone() -> None:
    definition = read(monitor={"expect": "every day at 3am Europe/Madrid"}).definition
    assert definition.timezone == "Europe/Madrid"


def test_a_schedule_becomes_a_monitor_and_back() -> None:
    plain = fields.read(
        {"name": "a", "interval": "1h", "target_url": "https://example.com", "method": "PUT"},
        now=NOW,
    ).definition
    monitor = fields.read(fields.merge(plain, {"monitor": {"expect": "1h"}}), now=NOW).definition
    assert monitor.target_url is None
    assert monitor.interval is None
    back = {"interval": "2h", "target_url": "https://example.com"}
    assert fields.read(fields.merge(monitor, back), now=NOW).definition.monitor is None
