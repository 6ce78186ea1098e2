"""Misfires: what an outage leaves behind, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import ContractBroken
from rota.firing.misfire import Missed, Verdict, decide
from rota.schedules.schedule_cache import MisfireRules
from rota.triggers.at import At
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from rota.schedules.definition import MisfirePolicy
    from rota.triggers.trigger import Trigger

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
NONE = timedelta()
MINUTELY = Cron.parse("* * * * *")
HOURLY = Cron.parse("0 * * * *")
DAILY = Cron.parse("0 9 * * *")


def after_outage(
    trigger: Trigger, *, lasting: timedelta, now: datetime = NOON, rules: MisfireRules | None = None
) -> Verdict:
    """The verdict when everything stood still from `now - lasting` on."""
    first = trigger.next_after(now - lasting)
    assert first is not None
    return decide(trigger, first=first, now=now, jitter=NONE, rules=rules or MisfireRules())


def minutes(*ago: int) -> tuple[datetime, ...]:
    return tuple(NOON - timedelta(minutes=each) for each in ago)


def test_a_slot_ahead_is_fired_for_its_instant() -> None:
    first = NOON + timedelta(seconds=1)
    verdict = decide(At(first), first=first, now=NOON, jitter=NONE, rules=MisfireRules())
    assert verdict == Verdict(fire=(first,), catch_up=False, missed=None, following=None)


@pytest.mark.parametrize("policy", ["fire_late", "fire_most_recent", "skip"])
@pytest.mark.parametrize("late", [0.001, 1, 30, 60])
def test_late_by_a_second_is_not_silently_dropped(policy: MisfirePolicy, late: float) -> None:
    """Requirements, section 22: a famous bug of a peer. Within the grace, late is merely late."""
    first = NOON - timedelta(seconds=late)
    for rules in (MisfireRules(policy=policy), MisfireRules(policy=policy, cap=0)):
        verdict = decide(At(first), first=first, now=NOON, jitter=NONE, rules=rules)
        assert verdict.fire == (first,)
        assert not verdict.catch_up
        assert verdict.missed is None


def test_a_deploy_of_thirty_seconds_loses_no_run() -> None:
    """Several slots, all of them within the grace."""
    every_ten = Interval(timedelta(seconds=10), NOON)
    verdict = after_outage(every_ten, now=NOON + timedelta(seconds=35), lasting=timedelta(0, 30))
    assert [(slot - NOON).seconds for slot in verdict.fire] == [10, 20, 30]
    assert not verdict.catch_up
    assert verdict.missed is None
    assert verdict.following == NOON + timedelta(seconds=40)


def test_what_is_merely_late_is_never_more_than_the_cap() -> None:
    every_second = Interval(timedelta(seconds=1), NOON)
    verdict = after_outage(every_second, now=NOON + timedelta(seconds=50), lasting=timedelta(0, 50))
    assert len(verdict.fire) == 10
    assert verdict.missed == Missed(
        first=NOON + timedelta(seconds=1),
        last=NOON + timedelta(seconds=40),
        count=40,
        reason="misfire_cap",
    )


def test_fire_late_fires_the_newest_up_to_the_cap_in_order() -> None:
    verdict = after_outage(MINUTELY, lasting=timedelta(hours=3))
    assert verdict.fire == minutes(9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
    assert verdict.catch_up
    assert verdict.missed == Missed(
        first=NOON - timedelta(minutes=179),
        last=NOON - timedelta(minutes=10),
        count=170,
        reason="misfire_cap",
    )
    assert verdict.following == NOON + timedelta(minutes=1)


def test_fire_late_fires_all_when_they_are_few() -> None:
    verdict = after_outage(HOURLY, lasting=timedelta(hours=3))
    assert verdict.fire == minutes(120, 60, 0)
    assert verdict.catch_up
    assert verdict.missed is None


def test_fire_most_recent_fires_only_the_newest() -> None:
    verdict = after_outage(
        MINUTELY, lasting=timedelta(hours=3), rules=MisfireRules(policy="fire_most_recent")
    )
    assert verdict.fire == (NOON,)
    assert verdict.catch_up
    assert verdict.missed is not None
    assert (verdict.missed.count, verdict.missed.reason) == (179, "misfire_policy")


def test_skip_fires_nothing_that_is_later_than_the_grace() -> None:
    now = NOON + timedelta(seconds=59)
    verdict = after_outage(
        HOURLY,
        lasting=timedelta(hours=3),
        now=now + timedelta(minutes=5),
        rules=MisfireRules(policy="skip"),
    )
    assert verdict.fire == ()
    assert not verdict.catch_up
    assert verdict.missed is not None
    assert (verdict.missed.count, verdict.missed.reason) == (3, "misfire_policy")
    assert verdict.following == NOON + timedelta(hours=1)


def test_skip_still_fires_what_is_within_the_grace() -> None:
    verdict = after_outage(
        HOURLY,
        lasting=timedelta(hours=3),
        now=NOON + timedelta(seconds=30),
        rules=MisfireRules(policy="skip"),
    )
    assert verdict.fire == (NOON,)
    assert not verdict.catch_up
    assert verdict.missed is not None
    assert verdict.missed.count == 2


def test_slots_older_than_the_window_do_not_count() -> None:
    verdict = after_outage(
        HOURLY,
        lasting=timedelta(hours=10),
        rules=MisfireRules(cap=100, window=timedelta(hours=2, minutes=30)),
    )
    assert verdict.fire == minutes(120, 60, 0)
    assert verdict.missed is not None
    assert (verdict.missed.count, verdict.missed.reason) == (7, "misfire_window")


@pytest.mark.parametrize("policy", ["fire_late", "fire_most_recent", "skip"])
@pytest.mark.parametrize("days", [2, 400, 4000])
def test_too_many_missed_and_it_still_runs_again(policy: MisfirePolicy, days: int) -> None:
    """Requirements, section 22: "too many missed, never runs again" is a famous bug of a peer."""
    for trigger in (MINUTELY, DAILY, Interval(timedelta(seconds=1), NOON - timedelta(days=9000))):
        verdict = after_outage(
            trigger, lasting=timedelta(days=days), rules=MisfireRules(policy=policy, cap=1)
        )
        assert verdict.following is not None
        assert verdict.following > NOON


def test_a_one_off_that_is_too_old_is_missed_and_over() -> None:
    first = NOON - timedelta(days=2)
    verdict = decide(At(first), first=first, now=NOON, jitter=NONE, rules=MisfireRules())
    missed = Missed(first=first, last=first, count=1, reason="misfire_window")
    assert verdict == Verdict(fire=(), catch_up=False, missed=missed, following=None)


def test_a_one_off_missed_in_an_outage_is_caught_up_with() -> None:
    first = NOON - timedelta(hours=2)
    verdict = decide(At(first), first=first, now=NOON, jitter=NONE, rules=MisfireRules())
    assert verdict == Verdict(fire=(first,), catch_up=True, missed=None, following=None)


def test_an_end_within_the_outage_ends_the_slots() -> None:
    until_ten = Limited(HOURLY, end_at=NOON - timedelta(hours=2))
    verdict = after_outage(until_ten, lasting=timedelta(hours=5))
    assert verdict.fire == minutes(240, 180, 120)
    assert verdict.following is None


def test_what_may_still_be_fired_is_the_newest() -> None:
    first = NOON - timedelta(hours=3)
    verdict = decide(HOURLY, first=first, now=NOON, jitter=NONE, rules=MisfireRules(), remaining=2)
    assert verdict.fire == minutes(60, 0)
    assert verdict.missed is not None
    assert (verdict.missed.count, verdict.missed.reason) == (2, "max_firings")


def test_lateness_is_counted_from_the_due_instant() -> None:
    """A slot spread by an hour is not late before its hour is over."""
    spread = timedelta(hours=1)
    first = NOON - timedelta(minutes=50)
    verdict = decide(
        At(first), first=first, now=NOON, jitter=spread, rules=MisfireRules(policy="skip")
    )
    assert verdict.fire == (first,)
    late = decide(
        At(first), first=first, now=NOON + timedelta(hours=1), jitter=spread, rules=MisfireRules()
    )
    assert late.catch_up


def test_a_slot_that_the_rules_no_longer_name_is_still_the_timers() -> None:
    """The zone's rules changed after the timer was set; its slot is neither lost nor moved."""
    first = NOON - timedelta(hours=2, minutes=17)
    verdict = decide(HOURLY, first=first, now=NOON, jitter=NONE, rules=MisfireRules())
    assert verdict.fire == (first, *minutes(120, 60, 0))
    assert verdict.missed is None
    older = decide(HOURLY, first=first, now=NOON, jitter=NONE, rules=MisfireRules(cap=2))
    assert older.missed == Missed(
        first=first, last=NOON - timedelta(hours=2), count=2, reason="misfire_cap"
    )


@dataclass(frozen=True)
class Stuck:
    """A trigger that breaks its snapshot: what follows a slot is the slot itself."""

    timezone: str = "UTC"
    signature: str = "stuck"

    def next_after(self, instant: datetime) -> datetime | None:
        return instant

    def previous_before(self, instant: datetime) -> datetime | None:
        return instant


def test_a_trigger_that_does_not_advance_is_stopped() -> None:
    """Checked again at run time, because it would fire for ever."""
    with pytest.raises(ContractBroken, match="expected a slot after"):
        decide(Stuck(), first=NOON, now=NOON, jitter=NONE, rules=MisfireRules())


class Watched(Interval):
    """An interval that counts how often it is asked."""

    asked = 0

    def next_after(self, instant: datetime) -> datetime | None:
        Watched.asked += 1
        return Interval.next_after(self, instant)

    def previous_before(self, instant: datetime) -> datetime | None:
        Watched.asked += 1
        return Interval.previous_before(self, instant)


def test_an_every_second_schedule_after_a_year_costs_no_more_than_the_cap() -> None:
    every_second = Watched(timedelta(seconds=1), NOON - timedelta(days=400))
    first = NOON - timedelta(days=365)
    verdict = decide(every_second, first=first, now=NOON, jitter=NONE, rules=MisfireRules(cap=10))
    assert len(verdict.fire) == 10
    assert verdict.missed is not None
    assert verdict.missed.count == 365 * 86_400 + 1 - 10
    assert Watched.asked <= 10 + 5


def test_an_every_second_cron_after_a_year_is_counted_to_the_slot() -> None:
    verdict = after_outage(Cron.parse("* * * * * *"), lasting=timedelta(days=365))
    assert verdict.missed is not None
    assert verdict.missed.count == 365 * 86_400 - 10


TRIGGERS = st.one_of(
    st.integers(1, 7200).map(lambda s: Interval(timedelta(seconds=s), NOON - timedelta(days=3))),
    st.sampled_from(["* * * * *", "*/7 * * * *", "0 * * * *", "30 9 * * *", "*/20 * * * * *"]).map(
        lambda expression: Cron.parse(expression, "Europe/Madrid")
    ),
)
RULES = st.builds(
    MisfireRules,
    policy=st.sampled_from(["fire_late", "fire_most_recent", "skip"]),
    cap=st.integers(1, 30),
    grace=st.integers(0, 300).map(lambda s: timedelta(seconds=s)),
    window=st.integers(300, 90_000).map(lambda s: timedelta(seconds=s)),
)


@given(TRIGGERS, RULES, st.integers(0, 30_000), st.integers(0, 90))
def test_an_outage_is_accounted_for_exactly(
    trigger: Trigger, rules: MisfireRules, lasting: int, spread_seconds: int
) -> None:
    """As an equality: every slot of the outage is fired or missed, by the policy's rule."""
    spread = timedelta(seconds=spread_seconds)
    first = trigger.next_after(NOON - timedelta(seconds=lasting) - spread)
    assert first is not None
    verdict = decide(trigger, first=first, now=NOON, jitter=spread, rules=rules)
    slots = walk(trigger, first, NOON - spread)
    assert verdict.fire == expected(slots, NOON - spread, rules)
    fired = set(verdict.fire)
    missed = [slot for slot in slots if slot not in fired]
    if not missed:
        assert verdict.missed is None
    else:
        assert verdict.missed is not None
        assert (verdict.missed.first, verdict.missed.last) == (missed[0], missed[-1])
        assert verdict.missed.count == len(missed)
    outage = NOON - spread - slots[0] > rules.grace
    assert verdict.catch_up == (outage and bool(verdict.fire) and rules.policy != "skip")
    assert verdict.following == trigger.next_after(slots[-1])


def walk(trigger: Trigger, first: datetime, until: datetime) -> list[datetime]:
    """The slots due, one by one; the first one alone when it lies ahead."""
    slots = [first]
    slot = trigger.next_after(first)
    while slot is not None and slot <= until:
        slots.append(slot)
        slot = trigger.next_after(slot)
    return slots


def expected(slots: list[datetime], until: datetime, rules: MisfireRules) -> tuple[datetime, ...]:
    """What the policy says, in so many words."""
    outage = until - slots[0] > rules.grace
    if not outage:
        return tuple(slots[-rules.cap :])
    within = [slot for slot in slots if until - slot <= rules.window]
    if rules.policy == "fire_late":
        return tuple(within[-rules.cap :])
    if rules.policy == "fire_most_recent":
        return tuple(within[-1:])
    return tuple([slot for slot in slots if until - slot <= rules.grace][-rules.cap :])
