"""Limits: both ends are included, a count is only compared, and no slot left is an error (TR8)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.errors import InvalidTrigger, NoFutureSlot
from rota.triggers.cron import Cron
from rota.triggers.limits import Limited, require_future
from rota.triggers.trigger import Trigger

NINE = Cron.parse("0 9 * * *")
START = datetime(2025, 1, 10, 9, tzinfo=UTC)
END = datetime(2025, 1, 13, 9, tzinfo=UTC)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def test_it_is_a_trigger_with_the_signature_and_zone_of_the_one_inside() -> None:
    inner = Cron.parse("0 9 * * *", "Europe/Madrid")
    limited = Limited(inner, start_at=START, max_firings=3)
    assert isinstance(limited, Trigger)
    assert limited.signature == inner.signature
    assert limited.timezone == "Europe/Madrid"


def test_a_slot_exactly_at_the_start_and_one_exactly_at_the_end_are_included() -> None:
    limited = Limited(NINE, start_at=START, end_at=END)
    assert limited.next_after(START - 100 * DAY) == START
    assert limited.next_after(START - TICK) == START
    assert limited.next_after(START) == START + DAY
    assert limited.next_after(END - TICK) == END
    assert limited.next_after(END) is None
    assert limited.previous_before(END + 100 * DAY) == END
    assert limited.previous_before(END) == END - DAY
    assert limited.previous_before(START + TICK) == START
    assert limited.previous_before(START) is None


def test_a_slot_a_moment_outside_is_not() -> None:
    limited = Limited(NINE, start_at=START + TICK, end_at=END - TICK)
    assert limited.next_after(START - DAY) == START + DAY
    assert limited.next_after(END - DAY) is None
    assert limited.previous_before(END + DAY) == END - DAY
    assert limited.previous_before(START + DAY) is None


def test_without_limits_it_is_the_trigger_inside() -> None:
    limited = Limited(NINE)
    assert limited.next_after(START) == NINE.next_after(START)
    assert limited.previous_before(START) == NINE.previous_before(START)
    assert not limited.exhausted(10**9)


def test_it_is_exhausted_when_it_has_fired_so_many_times() -> None:
    limited = Limited(NINE, max_firings=2)
    assert [limited.exhausted(fired) for fired in range(4)] == [False, False, True, True]


@pytest.mark.parametrize("end_at", [START, START - TICK])
def test_an_end_that_is_not_after_the_start_is_refused(end_at: datetime) -> None:
    with pytest.raises(InvalidTrigger, match="Invalid end_at: expected an instant after") as caught:
        Limited(NINE, start_at=START, end_at=end_at)
    assert caught.value.field == "end_at"


@pytest.mark.parametrize("max_firings", [0, -1])
def test_fewer_than_one_firing_is_refused(max_firings: int) -> None:
    with pytest.raises(InvalidTrigger, match="expected 1 or more, got") as caught:
        Limited(NINE, max_firings=max_firings)
    assert caught.value.field == "max_firings"


def test_a_limit_without_a_zone_is_refused() -> None:
    naive = START.replace(tzinfo=None)
    with pytest.raises(InvalidTrigger, match="Invalid start_at: expected an instant with a zone"):
        Limited(NINE, start_at=naive)
    with pytest.raises(InvalidTrigger, match="Invalid end_at: expected an instant with a zone"):
        Limited(NINE, end_at=naive)


def test_no_slot_left_is_an_error_that_says_so() -> None:
    limited = Limited(NINE, end_at=END)
    assert limited.first(END - TICK) == END
    assert require_future(NINE, END) == END + DAY
    with pytest.raises(NoFutureSlot, match=r"^No upcoming schedule found: cron:0 9 \* \* \*:UTC"):
        limited.first(END)
    never_again = Cron.parse("0 0 0 1 1 * 1999")
    with pytest.raises(NoFutureSlot, match="after 2025-01-13T09:00:00Z"):
        require_future(never_again, END)


@given(
    st.integers(0, 200),
    st.integers(1, 200),
    st.timedeltas(timedelta(days=-3), timedelta(days=20)),
)
def test_the_slots_are_those_inside_whose_instant_lies_within(
    begin: int, length: int, away: timedelta
) -> None:
    inner = Cron.parse("0 */5 * * *")
    start_at = START + timedelta(hours=begin)
    limited = Limited(inner, start_at=start_at, end_at=start_at + timedelta(hours=length))
    asked = START + away
    slots: list[datetime] = []
    slot = inner.next_after(START - 10 * DAY)
    while slot is not None and slot < START + 40 * DAY:
        if start_at <= slot <= start_at + timedelta(hours=length):
            slots.append(slot)
        slot = inner.next_after(slot)
    assert limited.next_after(asked) == min((s for s in slots if s > asked), default=None)
    assert limited.previous_before(asked) == max((s for s in slots if s < asked), default=None)
