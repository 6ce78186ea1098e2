"""What must hold of every expression at every instant, above all around changes of the clock.

The answers are compared with the oracle, which lists slots from the rules and searches nothing.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.oracle import cron as oracle
from tests.oracle.clock import clock, epoch, utc
from tests.oracle.strategies import EXPRESSIONS, moments

from rota.errors import InvalidCron
from rota.triggers.cron import Cron
from rota.triggers.zones import names

MICROSECOND = timedelta(microseconds=1)
ZONES = [*sorted(names()), "UTC", "+05:30", "-09:30"]
BEGINNING = date(1970, 1, 3)

thorough = settings(max_examples=400)
Moment = tuple[str, datetime]


def parsed(text: str, zone: str) -> Cron:
    """The evaluator's reading; texts that never fire are looked at elsewhere."""
    try:
        return Cron.parse(text, zone)
    except InvalidCron as error:
        assume("never" not in str(error))
        raise


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_the_next_slot_is_the_one_the_oracle_lists(text: str, moment: Moment) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    expected = oracle.next_after(oracle.expression(text), clock(zone), instant)
    assert trigger.next_after(instant) == expected


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_the_previous_slot_is_the_one_the_oracle_lists(text: str, moment: Moment) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    expected = oracle.previous_before(
        oracle.expression(text), clock(zone), instant, since=BEGINNING
    )
    found = trigger.previous_before(instant)
    if expected is not None:
        assert found == expected
    elif found is not None:
        assert found.date() <= BEGINNING


@thorough
@given(EXPRESSIONS, moments(ZONES), st.sampled_from([2, 12, 30]))
def test_the_slots_of_a_window_are_those_the_oracle_lists(
    text: str, moment: Moment, hours: int
) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    start, end = epoch(instant) - hours * 3_600, epoch(instant) + hours * 3_600
    expected = [
        utc(slot) for slot in oracle.slots(oracle.expression(text), clock(zone), start, end)
    ]
    at = utc(start) - MICROSECOND
    for slot in expected[:200]:
        found = trigger.next_after(at)
        assert found == slot
        at = slot
    at = utc(end)
    for slot in expected[:-200:-1]:
        found = trigger.previous_before(at)
        assert found == slot
        at = slot


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_the_next_slot_is_strictly_after_in_utc_and_on_a_whole_second(
    text: str, moment: Moment
) -> None:
    zone, instant = moment
    slot = parsed(text, zone).next_after(instant)
    if slot is not None:
        assert slot > instant
        assert slot.tzinfo is UTC
        assert slot.microsecond == 0


@thorough
@given(EXPRESSIONS, moments(ZONES), st.timedeltas(timedelta(0), timedelta(days=3)))
def test_asking_later_never_gives_an_earlier_slot(
    text: str, moment: Moment, later: timedelta
) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    first, second = trigger.next_after(instant), trigger.next_after(instant + later)
    if first is not None and second is not None:
        assert first <= second
        assert first == second or first <= instant + later
    before, after = trigger.previous_before(instant), trigger.previous_before(instant + later)
    if before is not None:
        assert after is not None
        assert before <= after
        assert before == after or after >= instant


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_no_slot_lies_between_the_argument_and_the_next_slot(text: str, moment: Moment) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    following = trigger.next_after(instant)
    assume(following is not None)
    assert following is not None
    # Just after the next slot, it is the previous one; just before, the one before that is,
    # and it does not lie after the argument.
    assert trigger.previous_before(following + MICROSECOND) == following
    assert trigger.next_after(following - MICROSECOND) == following
    back = trigger.previous_before(following)
    if back is not None:
        assert back <= instant
        assert trigger.next_after(back) == following


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_no_slot_lies_between_the_previous_slot_and_the_argument(text: str, moment: Moment) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    back = trigger.previous_before(instant)
    assume(back is not None)
    assert back is not None
    assert back < instant
    following = trigger.next_after(back)
    if following is not None:
        assert following >= instant
        assert trigger.previous_before(following) == back


@thorough
@given(EXPRESSIONS, moments(ZONES))
def test_a_walk_of_twenty_slots_is_the_same_both_ways(text: str, moment: Moment) -> None:
    zone, instant = moment
    trigger = parsed(text, zone)
    walked: list[datetime] = []
    slot = trigger.next_after(instant)
    while slot is not None and len(walked) < 20:
        walked.append(slot)
        slot = trigger.next_after(slot)
    assert walked == sorted(set(walked))
    for earlier, later in pairwise(walked):
        assert trigger.previous_before(later) == earlier


@thorough
@given(EXPRESSIONS)
def test_the_evaluator_refuses_exactly_what_the_oracle_refuses(text: str) -> None:
    assert _refusal_of_evaluator(text) == _refusal_of_oracle(text)


# Pieces of the dialect and of other dialects: most combinations are wrong somewhere. How many
# leading zeros are too many is nowhere written, so they are left out.
PIECES = [*"0123456789*/-,?LW#", "10", "59", "60", "31", "MON", "sun", "SUN", "JAN", "L-", "1W"]
SLIPS = (
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5)
    .map("".join)
    .filter(lambda slip: not re.search(r"(?<!\d)0\d\d", slip))
)


@settings(thorough, max_examples=1_500)
@given(EXPRESSIONS.filter(lambda text: " " in text), st.integers(0, 6), SLIPS)
def test_one_slip_is_refused_for_its_field_or_read_as_the_oracle_reads_it(
    text: str, position: int, slip: str
) -> None:
    fields = text.split()
    fields[position % len(fields)] = slip
    slipped = " ".join(fields)
    ours, theirs = _refusal_of_evaluator(slipped), _refusal_of_oracle(slipped)
    assert ours == theirs, slipped
    if theirs == "accepted":
        instant = datetime(2024, 2, 27, 23, 59, 59, tzinfo=UTC)
        expected = oracle.next_after(oracle.read(slipped), clock("UTC"), instant)
        assert Cron.parse(slipped).next_after(instant) == expected


def _refusal_of_evaluator(text: str) -> str | None:
    try:
        Cron.parse(text)
    except InvalidCron as error:
        return error.field
    return "accepted"


def _refusal_of_oracle(text: str) -> str | None:
    try:
        oracle.read(text)
    except oracle.Refused as error:
        return error.field
    return "accepted"


@pytest.mark.parametrize("zone", ["America/New_York", "Australia/Lord_Howe", "Pacific/Apia"])
def test_an_aware_argument_in_any_zone_means_its_instant(zone: str) -> None:
    trigger = Cron.parse("*/30 * * * *", zone)
    for hour in range(72):
        at = datetime(2011, 12, 29, tzinfo=UTC) + timedelta(hours=hour)
        assert trigger.next_after(at.astimezone(clock(zone).zone)) == trigger.next_after(at)
