"""When trouble begins and when it is over."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.watch.kinds import KINDS
from rota.watch.rules import ENOUGH, THRESHOLDS, Reading, decide, failing


def _read(value: float, subject: str = "s") -> Reading:
    return Reading(subject=subject, value=value, detail="d")


@pytest.mark.parametrize(
    ("kind", "healthy", "alarm"),
    [
        ("stalled", 5, 31),  # MO1, MO9
        ("failing", 0.04, 0.11),  # MO4
        ("flapping", 2, 6),  # MO5
        ("slow", 0.79, 0.91),  # MO6
        ("deep", 100, 501),  # MO7
        ("overdue", 0, 1),  # MO8
        ("circuit", 0, 1),
    ],
)
def test_thresholds_are_those_of_the_requirements(kind: str, healthy: float, alarm: float) -> None:
    assert [r.value for r in decide(kind, [_read(alarm)], []).opened] == [alarm]
    assert decide(kind, [_read(healthy)], []).opened == ()
    assert decide(kind, [_read(healthy)], [(None, "s")]).closed == ((None, "s"),)
    assert decide(kind, [_read(alarm)], [(None, "s")]).closed == ()


@pytest.mark.parametrize(("kind", "between"), [("stalled", 20), ("deep", 300), ("failing", 0.07)])
def test_between_the_two_nothing_changes(kind: str, between: float) -> None:
    assert decide(kind, [_read(between)], []).opened == ()
    kept = decide(kind, [_read(between)], [(None, "s")])
    assert (kept.opened, kept.closed, len(kept.going_on)) == ((), (), 1)


def test_what_is_not_seen_any_more_is_over() -> None:
    decision = decide("circuit", [_read(1, "b")], [(None, "a"), (None, "b")])
    assert (decision.closed, decision.opened) == (((None, "a"),), ())


@given(
    st.sampled_from(sorted(THRESHOLDS)),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1000)),
    st.sets(st.sampled_from("abcdef")),
)
def test_each_subject_is_opened_kept_or_closed_and_never_two_of_these(
    kind: str, seen: dict[str, float], known: set[str]
) -> None:
    is_open = [(None, each) for each in sorted(known)]
    decision = decide(kind, [_read(value, name) for name, value in seen.items()], is_open)
    opened = {r.subject for r in decision.opened}
    going_on = {r.subject for r in decision.going_on}
    closed = {subject for _, subject in decision.closed}
    assert opened.isdisjoint(known)
    assert going_on | closed == known
    assert going_on.isdisjoint(closed)
    again = decide(
        kind,
        [_read(value, name) for name, value in seen.items()],
        [(None, each) for each in opened | going_on],
    )
    assert (again.opened, again.closed) == ((), ()), "looking twice changes nothing"


def test_a_rate_of_a_few_says_nothing() -> None:
    assert failing(0, ENOUGH - 1) == 0
    assert failing(ENOUGH - 2, 2) == 0.1
    assert failing(0, 0) == 0


def test_every_threshold_is_of_a_kind() -> None:
    assert set(THRESHOLDS) <= set(KINDS)
