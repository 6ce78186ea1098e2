"""The forecast equals what one finds by looking at every slot, and costs little."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rota.dashboard import forecast, forecast_herds, forecast_slots
from rota.schedules.ahead import Plan
from rota.triggers.at import At
from rota.triggers.calendars import Days, Filtered
from rota.triggers.civil import floor_second
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.never import Never
from rota.triggers.recurrence import Recurrence

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

NOW = datetime(2026, 10, 24, 9, 17, 3, 250_000, tzinfo=UTC)
"""The clocks of Europe go back within the week."""

_ZONES = st.sampled_from(["UTC", "Europe/Madrid", "America/New_York", "Asia/Kolkata"])
_CRONS = st.sampled_from(
    [
        "0 0 * * *",
        "*/15 * * * *",
        "* * * * *",
        "30 2 * * 0",
        "*/20 * * * * *",
        "0 9 * * 1-5",
        "5 4 1 * *",
    ]
)
_ANCHORS = st.timedeltas(timedelta(days=-400), timedelta(days=6)).map(lambda gap: NOW + gap)
_DAYS = Days(excluded=frozenset({date(2026, 10, 26)}), weekdays=frozenset({6}))


def every(period: float, anchor: datetime, zone: str) -> Trigger:
    return Interval.parse(period, zone).anchored(anchor)


def limited(trigger: Trigger, start: datetime) -> Trigger:
    return Limited(trigger, start, start + timedelta(days=3))


def on_days(trigger: Trigger) -> Trigger:
    return Filtered(trigger, _DAYS)


def plan_of(number: int, trigger: Trigger, window: timedelta, left: int | None) -> Plan:
    return Plan(id=UUID(int=number), name=f"s{number}", trigger=trigger, window=window, left=left)


crons = st.builds(Cron.parse, _CRONS, _ZONES)
intervals = st.builds(every, st.sampled_from([45, 61.5, 300, 3_600, 172_800]), _ANCHORS, _ZONES)
rules = st.builds(
    Recurrence.parse, st.sampled_from(["FREQ=HOURLY;INTERVAL=5", "FREQ=DAILY;BYHOUR=0"]), _ZONES
)
plain: st.SearchStrategy[Trigger] = st.one_of(crons, intervals, rules, _ANCHORS.map(At))
triggers = st.one_of(plain, plain.map(on_days), st.builds(limited, plain, _ANCHORS))
plans = st.builds(
    plan_of,
    st.integers(0, 2**128 - 1),
    triggers,
    st.sampled_from([timedelta(), timedelta(), timedelta(seconds=90), timedelta(hours=30)]),
    st.sampled_from([None, None, 0, 1, 500]),
)


def brute(plan: Plan) -> list[int]:
    """The seconds in which it is due, slot by slot."""
    found: list[int] = []
    range_ = forecast.Range.after(NOW)
    slot = plan.trigger.next_after(NOW - timedelta(days=3))
    while slot is not None and floor_second(slot) < range_.end:
        due = floor_second(slot + plan.offset)
        if range_.first <= due < range_.end:
            found.append(due)
        slot = plan.trigger.next_after(slot)
    return found if plan.left is None else found[: plan.left]


@settings(max_examples=10)
@given(st.lists(plans, max_size=5))
def test_the_hours_are_those_of_every_single_slot(some: list[Plan]) -> None:
    counted = forecast.count(some, now=NOW)
    expected = [0] * forecast.HOURS
    for plan in some:
        for second in brute(plan):
            expected[(second - counted.range.hour) // forecast.HOUR] += 1
    assert counted.hours == expected
    assert counted.looked_at == len(some)


@settings(max_examples=5)
@given(st.lists(plans, min_size=1, max_size=5))
def test_the_herds_are_the_seconds_in_which_most_are_due(some: list[Plan]) -> None:
    """The largest is found, each as large as it is, and each comes as often as it is said to."""
    some = some * 2
    expected: Counter[int] = Counter()
    for plan in some:
        expected.update(brute(plan))
    found = forecast_herds.herds(forecast.count(some, now=NOW))
    assert len(found) <= forecast_herds.MOST
    for herd in found:
        assert herd.count == expected[floor_second(herd.at)]
    if expected:
        assert found[0].count == max(expected.values())


def test_a_herd_that_comes_back_is_one_herd() -> None:
    midnight = [
        Plan(id=UUID(int=each), name=f"m{each}", trigger=Cron.parse("0 0 * * *"))
        for each in range(1_200)
    ]
    hourly = [
        Plan(id=UUID(int=9_000 + each), name=f"h{each}", trigger=Cron.parse("0 * * * *"))
        for each in range(3)
    ]
    first, second = forecast_herds.herds(forecast.count([*midnight, *hourly], now=NOW))
    assert (first.count, first.times, first.rhythm) == (1_203, 7, "every day at 00:00:00 UTC")
    assert first.at == datetime(2026, 10, 25, tzinfo=UTC)
    assert (second.count, second.times) == (3, 168 - 1 - 7)
    assert second.suggestion is None


def test_jitter_is_suggested_where_it_would_help_and_its_effect_is_told_as_it_would_be() -> None:
    trigger = Cron.parse("0 0 * * *")
    still = [Plan(id=UUID(int=each), name=f"m{each}", trigger=trigger) for each in range(1_200)]
    (herd,) = forecast_herds.herds(forecast.count(still, now=NOW))
    hint = herd.suggestion
    assert hint is not None
    assert (hint.movable, hint.jitter_seconds, hint.average) == (1_200, 60, 20)
    spread = [
        Plan(id=each.id, name=each.name, trigger=trigger, window=timedelta(seconds=60))
        for each in still
    ]
    after = forecast_herds.herds(forecast.count(spread, now=NOW))
    assert after[0].count == hint.most < 50
    assert all(each.suggestion is None for each in after)


def test_jitter_never_carries_a_slot_into_the_next() -> None:
    trigger = Cron.parse("*/15 * * * * *")
    some = [Plan(id=UUID(int=each), name="x", trigger=trigger) for each in range(50)]
    assert forecast_herds.herds(forecast.count(some, now=NOW))[0].suggestion is None


def test_one_that_fires_every_second_costs_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    """No slot of it is ever walked: neither for the hours, nor for the herds."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was walked")

    monkeypatch.setattr(forecast_slots, "seconds", refuse)
    every: list[Trigger] = [Cron.parse("* * * * * *"), Interval.parse(1).anchored(NOW)]
    some = [Plan(id=UUID(int=at), name="s", trigger=each) for at, each in enumerate(every)]
    counted = forecast.count(some, now=NOW)
    assert counted.hours[1:] == [7_200] * (forecast.HOURS - 1)
    assert forecast_herds.herds(counted) == []


def test_when_time_runs_out_those_looked_at_stand_for_all() -> None:
    trigger = Cron.parse("0 0 * * *")
    some = [Plan(id=UUID(int=each), name="s", trigger=trigger) for each in range(100)]
    answers = iter([True] * 10 + [False])
    counted = forecast.count(some, now=NOW, in_time=lambda: next(answers))
    assert counted.looked_at == 10
    assert sum(counted.hours) == 70
    assert forecast_herds.herds(counted, scale=10)[0].count == 100


def test_what_has_no_slots_is_looked_at_and_counts_nothing() -> None:
    counted = forecast.count(
        [Plan(id=UUID(int=1), name="s", trigger=Never("on_demand", "when asked"))], now=NOW
    )
    assert (counted.looked_at, counted.sames) == (1, [])


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        ([0], "once"),
        ([3_600, 90_000], "on 2 days at 01:00:00 UTC"),
        ([each * 3_600 + 90 for each in range(168)], "every hour at 01:30"),
        ([each * 60 + 5 for each in range(168 * 60)], "every minute at second 05"),
        ([0, 7, 100], "3 times in the week"),
    ],
)
def test_a_rhythm_is_told_in_a_few_words(seconds: list[int], words: str) -> None:
    assert forecast_herds.rhythm(seconds) == words
