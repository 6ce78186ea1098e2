"""Which slot a timer has after its zone got other rules: pure, with the rules of other zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules.tzdata import follows_zone, moved_slot
from rota.triggers import zones
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.parse import parse
from rota.triggers.recurrence import Recurrence

MADRID = "Europe/Madrid"
FILES = zones.package_files()
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)


def rules_of(other: str) -> zones.Zone:
    """As if Madrid had had the rules of another zone until now."""
    return zones.from_file(MADRID, FILES[other])


AHEAD = rules_of("Europe/Athens")
"""An hour ahead of Madrid: 09:00 was an hour earlier by the old rules."""
BEHIND = rules_of("Europe/Lisbon")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "now", "armed", "moved"),
    [
        # In July Madrid's 09:00 is 07:00Z; by the rules of Athens it was 06:00Z.
        (AHEAD, "2026-07-10 05:00", "2026-07-10 06:00", "2026-07-10 07:00"),
        # It has fired at 06:00Z: not again at 07:00Z, which is 09:00 of the same day.
        (AHEAD, "2026-07-10 06:30", "2026-07-11 06:00", "2026-07-11 07:00"),
        # Due, and nobody fired it: once, at the instant of the new rules.
        (AHEAD, "2026-07-10 06:30", "2026-07-10 06:00", "2026-07-10 07:00"),
        # By the rules of Lisbon it would have been 08:00Z. 07:00Z has not come yet.
        (BEHIND, "2026-07-10 06:30", "2026-07-10 08:00", "2026-07-10 07:00"),
        # It has come: what is past is not fired.
        (BEHIND, "2026-07-10 07:30", "2026-07-10 08:00", "2026-07-11 07:00"),
        # Overdue by the old rules and by the new: it stays, for the misfire policy.
        (BEHIND, "2026-07-10 08:30", "2026-07-10 08:00", None),
        # Overdue since three days, an hour later by the new rules.
        (AHEAD, "2026-07-10 08:30", "2026-07-07 06:00", "2026-07-07 07:00"),
    ],
)
def test_a_daily_slot_keeps_its_local_time(
    old: zones.Zone, now: str, armed: str, moved: str | None
) -> None:
    found = moved_slot(Cron.parse("0 9 * * *", MADRID), at(armed), old=old, now=at(now))
    assert found == (None if moved is None else at(moved))


def test_a_slot_whose_instant_the_new_rules_have_too_is_mapped_by_its_local_time() -> None:
    """08:00Z was 10:00 and is 09:00 now, which has fired."""
    trigger = Cron.parse("0 9,10 * * *", MADRID)
    old = rules_of("Europe/Athens")
    now, armed = at("2026-07-10 06:30"), at("2026-07-10 07:00")
    assert trigger.next_after(armed - TICK) == armed
    assert moved_slot(trigger, armed, old=old, now=now) == at("2026-07-10 08:00")
    # Of timers of which some were armed by the new rules already, it may be one.
    assert moved_slot(trigger, armed, old=old, now=now, mixed=True) is None


def test_a_slot_that_is_prepared_is_not_armed_again() -> None:
    trigger = Cron.parse("0 9,10 * * *", MADRID)
    now, prepared = at("2026-07-10 07:59:59"), at("2026-07-10 08:00")
    found = moved_slot(
        trigger, at("2026-07-10 09:00"), old=BEHIND, now=now, known=frozenset({prepared})
    )
    assert found == at("2026-07-11 07:00")


def test_without_the_old_rules_a_slot_moves_to_the_nearest() -> None:
    trigger = Cron.parse("0 9 * * *", MADRID)
    now = at("2026-07-10 06:30")
    assert moved_slot(trigger, at("2026-07-11 06:00"), old=None, now=now) == at("2026-07-11 07:00")
    assert moved_slot(trigger, at("2026-07-11 07:00"), old=None, now=now) is None


def test_a_wildcard_goes_on_with_its_next_slot() -> None:
    half_an_hour = rules_of("Asia/Kolkata")
    trigger = Cron.parse("0 * * * *", MADRID)
    now = at("2026-07-10 06:40")
    assert moved_slot(trigger, at("2026-07-10 07:30"), old=half_an_hour, now=now) == at(
        "2026-07-10 07:00"
    )
    assert (
        moved_slot(Cron.parse("*/15 * * * *", MADRID), at("2026-07-10 06:45"), old=AHEAD, now=now)
        is None
    )


def test_a_schedule_without_a_later_slot_keeps_the_one_it_has() -> None:
    made = at("2026-07-09 12:00")
    trigger = parse("tomorrow at 9am", MADRID, now=made)
    now = at("2026-07-10 07:30")
    assert moved_slot(trigger, at("2026-07-10 08:00"), old=BEHIND, now=now) is None
    earlier = at("2026-07-10 06:30")
    assert moved_slot(trigger, at("2026-07-10 08:00"), old=BEHIND, now=earlier) == at(
        "2026-07-10 07:00"
    )


def test_a_recurrence_keeps_its_local_time() -> None:
    trigger = Recurrence.parse("FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0", MADRID)
    now = at("2026-07-10 06:30")
    assert moved_slot(trigger, at("2026-07-11 06:00"), old=AHEAD, now=now) == at("2026-07-11 07:00")


def test_a_slot_that_stood_for_times_in_a_gap_keeps_them() -> None:
    """02:30 fired at 03:00 where the clock went forward; by the new rules it does so an hour on."""
    trigger = Cron.parse("30 2 * * *", MADRID)
    old = zones.from_file(MADRID, FILES["America/New_York"])
    # New York goes forward on 8 March 2026: 02:30 stood for 07:00Z. Madrid does on 29 March.
    armed, now = at("2026-03-08 07:00"), at("2026-03-08 00:30")
    assert moved_slot(trigger, armed, old=old, now=now) == at("2026-03-08 01:30")


ZONES = st.sampled_from(
    [
        "Europe/Lisbon",
        "Europe/Athens",
        "Asia/Kolkata",
        "America/New_York",
        "Asia/Tokyo",
        "Africa/Cairo",
    ]
)
TIMES = st.sets(st.integers(0, 23), min_size=1, max_size=4)
INSTANTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31)).map(  # noqa: DTZ001
    lambda each: each.replace(microsecond=0, tzinfo=UTC)
)


@given(other=ZONES, hours=TIMES, minute=st.sampled_from([0, 17, 30]), now=INSTANTS)
def test_no_local_time_fires_twice_and_none_is_lost_unless_it_has_passed(
    other: str, hours: set[int], minute: int, now: datetime
) -> None:
    expression = f"{minute} {','.join(map(str, sorted(hours)))} * * *"
    old = rules_of(other)
    before, after = Cron(expression, old), Cron.parse(expression, MADRID)
    fired = slots(before, now - timedelta(days=3), now)
    armed = before.next_after(now)
    assert armed is not None
    first = moved_slot(after, armed, old=old, now=now) or armed
    assert first > now
    assert after.next_after(first - TICK) == first
    later = [first, *slots(after, first, now + timedelta(days=3))]
    new = zones.zone(MADRID)
    local = [local_times(expression, old, each) for each in fired]
    local += [local_times(expression, new, each) for each in later]
    seen = [each for some in local for each in some]
    assert len(seen) == len(set(seen)), "a local time has fired twice"
    # What lies between the first and the last of them, and has not fired, has passed by the rules
    # that it would fire by.
    wanted = range(min(seen), max(seen) + 1, 60)
    lost = {each for each in wanted if matches(hours, minute, each)}.difference(seen)
    assert all(instant_of(new, each) <= now for each in lost)


def slots(trigger: Cron, after: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    slot = trigger.next_after(after)
    while slot is not None and slot <= until:
        found.append(slot)
        slot = trigger.next_after(slot)
    return found


def local_times(expression: str, zone: zones.Zone, slot: datetime) -> list[int]:
    """The local times, as seconds, that a slot stands for."""
    second = int(slot.timestamp())
    stretch = zone.stretch_at(second)
    pattern = Cron(expression, zone).pattern
    if second == zone.starts[stretch] and zone.gap_before(stretch):
        first, last = zone.reached[stretch], zone.local_start(stretch)
        return [each for each in range(first, last + 1, 60) if pattern.first_from(each) == each]
    return [second + zone.offsets[stretch]]


def matches(hours: set[int], minute: int, local: int) -> bool:
    hour, rest = divmod(local % 86_400, 3600)
    return hour in hours and rest == minute * 60


def instant_of(zone: zones.Zone, local: int) -> datetime:
    return datetime.fromtimestamp(zone.first_instant(local), UTC)


def test_an_interval_never_follows_a_zone() -> None:
    interval = Interval.parse("1h", MADRID).anchored(at("2026-07-10 00:00"))
    assert not follows_zone(interval, {MADRID})
    assert follows_zone(Cron.parse("0 9 * * *", MADRID), {MADRID})
    assert not follows_zone(Cron.parse("0 9 * * *", "Europe/Lisbon"), {MADRID})
