"""Expected slots against outcomes: the pure part, compared with sets of slots."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rota.history.slot_audit import MOST_RUNS, Account, Expected, Outcome, account
from rota.time_slicer import run_at_once
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited

MINUTE = timedelta(minutes=1)
START = datetime(2026, 3, 28, tzinfo=UTC)


def single(slot: datetime) -> Outcome:
    return Outcome(slot, slot, 1, "succeeded")


def every_minute(after: datetime, until: datetime) -> Expected:
    return Expected(Interval.parse("1m").anchored(START), after, until)


def told(expected: list[Expected], outcomes: list[Outcome]) -> Account:
    return run_at_once(account(expected, sorted(outcomes, key=lambda each: each.first)))


def test_every_slot_with_an_outcome_is_explained() -> None:
    slots = [START + n * MINUTE for n in range(1, 10)]
    result = told([every_minute(START, START + 10 * MINUTE)], [single(each) for each in slots])
    assert (result.expected, result.unexplained, result.runs) == (9, 0, [])


def test_slots_one_after_another_are_named_as_one_run() -> None:
    slots = [START + n * MINUTE for n in (1, 2, 6, 8, 9)]
    result = told([every_minute(START, START + 10 * MINUTE)], [single(each) for each in slots])
    assert (result.expected, result.unexplained) == (9, 4)
    assert [(each.first, each.last, each.count) for each in result.runs] == [
        (START + 3 * MINUTE, START + 5 * MINUTE, 3),
        (START + 7 * MINUTE, START + 7 * MINUTE, 1),
    ]


def test_a_missed_range_explains_what_lies_in_it_and_nothing_else() -> None:
    missed = Outcome(START + 2 * MINUTE, START + 6 * MINUTE, 5, "missed")
    result = told([every_minute(START, START + 9 * MINUTE)], [missed])
    assert result.expected == 8
    assert [(each.first, each.count) for each in result.runs] == [
        (START + MINUTE, 1),
        (START + 7 * MINUTE, 2),
    ]


def test_a_range_that_began_before_explains_the_slots_it_reaches() -> None:
    missed = Outcome(START - 5 * MINUTE, START + 2 * MINUTE, 8, "missed")
    result = told([every_minute(START, START + 4 * MINUTE)], [missed])
    assert (result.expected, result.unexplained) == (3, 1)


def test_what_was_not_active_is_not_expected() -> None:
    parts = [
        every_minute(START, START + 3 * MINUTE),
        every_minute(START + 7 * MINUTE, START + 9 * MINUTE),
    ]
    result = told(parts, [])
    assert result.expected == 3
    assert [(each.first, each.count) for each in result.runs] == [
        (START + MINUTE, 2),
        (START + 8 * MINUTE, 1),
    ]


def test_a_day_of_an_outage_takes_one_step() -> None:
    trigger = Interval.parse("1s").anchored(START)
    day = timedelta(days=1)
    missed = Outcome(START + timedelta(seconds=1), START + day, 86_400, "missed")
    result = told([Expected(trigger, START, START + day + timedelta(seconds=3))], [missed])
    assert (result.expected, result.unexplained) == (86_402, 2)


def test_only_so_many_runs_are_named_and_all_are_counted() -> None:
    length = 2 * (MOST_RUNS + 10)
    slots = [START + n * MINUTE for n in range(1, length) if n % 2 == 0]
    result = told([every_minute(START, START + length * MINUTE)], [single(each) for each in slots])
    assert len(result.runs) == MOST_RUNS
    assert result.unexplained == length // 2


def test_limits_of_a_trigger_are_those_of_its_slots() -> None:
    inner = Interval.parse("1m").anchored(START)
    trigger = Limited(inner, START + 2 * MINUTE, START + 4 * MINUTE)
    assert told([Expected(trigger, START, START + 10 * MINUTE)], []).expected == 3


@given(
    zone=st.sampled_from(["UTC", "Europe/Madrid", "America/New_York"]),
    expression=st.sampled_from(["*/20 * * * *", "30 1,2,3 * * *", "0 */5 * * *"]),
    length=st.integers(1, 60),
    kept=st.lists(st.booleans(), min_size=200, max_size=200),
    runs=st.lists(st.tuples(st.integers(0, 150), st.integers(1, 20)), max_size=4),
    cuts=st.lists(st.integers(0, 60), max_size=4),
)
def test_it_names_exactly_the_slots_without_an_outcome(
    *,
    zone: str,
    expression: str,
    length: int,
    kept: list[bool],
    runs: list[tuple[int, int]],
    cuts: list[int],
) -> None:
    """Over the clock changes of spring, with any records, ranges and spans."""
    trigger = Cron.parse(expression, zone)
    end = START + timedelta(hours=length)
    slots: list[datetime] = []
    slot = trigger.next_after(START)
    while slot is not None and slot < end:
        slots.append(slot)
        slot = trigger.next_after(slot)
    outcomes = {each: single(each) for each, keep in zip(slots, kept, strict=False) if keep}
    explained = set(outcomes)
    for first, count in runs:
        some = slots[first : first + count]
        # As in the table: no two rows of a schedule begin at one slot, and runs do not overlap.
        if len(some) > 1 and not explained.intersection(some):
            outcomes[some[0]] = Outcome(some[0], some[-1], len(some), "missed")
            explained.update(some)
    edges = sorted({START, end, *(START + timedelta(hours=min(cut, length)) for cut in cuts)})
    parts = [
        Expected(trigger, since, until)
        for n, (since, until) in enumerate(pairwise(edges))
        if n % 2 == 0
    ]
    wanted = [each for each in slots if any(part.after < each < part.until for part in parts)]
    result = told(parts, list(outcomes.values()))
    assert result.expected == len(wanted)
    assert result.unexplained == len([each for each in wanted if each not in explained])
    named = [each for run in result.runs for each in slots if run.first <= each <= run.last]
    assert named == [each for each in wanted if each not in explained]
