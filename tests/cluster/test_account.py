"""The checker has teeth: one wrong entry in a sound account turns it, and the right part of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.cluster.ledger import Entry, account, by_cron, every, once

SECOND = timedelta(seconds=1)
START = datetime(2026, 3, 1, 12, tzinfo=UTC)
SLOTS = every(SECOND, START)(START - SECOND, START + 9 * SECOND)


def _entry(number: int, **fields: object) -> Entry:
    usual = Entry(
        id=UUID(int=number),
        schedule_id=UUID(int=99),
        version=1,
        scheduled_for=SLOTS[number],
        last_slot_at=None,
        slot_count=1,
        status="succeeded",
        reason=None,
        triggered_by="schedule",
        catch_up=False,
        live=False,
    )
    return replace(usual, **fields)  # pyright: ignore[reportArgumentType]


def _range(first: int, last: int) -> Entry:
    count = last - first + 1
    return _entry(first, last_slot_at=SLOTS[last], slot_count=count, status="missed", reason="cap")


SOUND = [*(_entry(number) for number in range(5)), _range(5, 8), _entry(9)]


def test_a_sound_account_explains_every_slot() -> None:
    result = account(SLOTS, SOUND)
    assert result.is_sound
    assert result.explained == {"succeeded": 6, "missed: cap": 4}


def test_a_dropped_entry_is_a_slot_unexplained() -> None:
    result = account(SLOTS, [*SOUND[:2], *SOUND[3:]])
    assert (result.unexplained, result.is_sound) == ([SLOTS[2]], False)


def test_a_second_entry_is_a_slot_explained_twice() -> None:
    result = account(SLOTS, [*SOUND, _entry(3, id=UUID(int=77))])
    assert (result.twice, result.is_sound) == ([SLOTS[3]], False)


def test_an_entry_within_a_range_is_a_slot_explained_twice() -> None:
    assert account(SLOTS, [*SOUND, _entry(7)]).twice == [SLOTS[7]]


def test_an_entry_of_no_slot_is_a_phantom() -> None:
    stray = _entry(0, scheduled_for=START + SECOND / 2)
    result = account(SLOTS, [*SOUND, stray])
    assert (result.phantoms, result.is_sound) == ([stray], False)
    assert account(SLOTS, [*SOUND, stray], allowed=lambda entry: entry is stray).is_sound


def test_a_range_must_count_what_it_covers() -> None:
    wrong = replace(_range(5, 8), slot_count=3)
    result = account(SLOTS, [*SOUND[:5], wrong, SOUND[6]])
    assert (result.miscounted, result.is_sound) == ([wrong], False)


def test_runs_that_were_asked_for_have_no_slot() -> None:
    asked = _entry(0, scheduled_for=START + SECOND / 2, triggered_by="manual")
    assert account(SLOTS, [*SOUND, asked]).is_sound


def test_rules_are_open_at_their_beginning_and_closed_at_their_end() -> None:
    assert [START + number * SECOND for number in range(10)] == SLOTS
    assert every(SECOND, START)(START, START + SECOND) == [START + SECOND]
    assert once(START)(START, START + SECOND) == []
    assert once(START)(START - SECOND, START) == [START]
    cron = by_cron("*/2 * * * * *", "UTC")
    assert cron(START, START + 4 * SECOND) == [START + 2 * SECOND, START + 4 * SECOND]
