"""Overlap: what a firing does while the one before it lives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.queue.overlap import (
    MOST_LIVE,
    Admission,
    Entry,
    Live,
    Policy,
    entry,
    needs_second_look,
)

POLICIES: list[Policy] = ["skip", "queue", "cancel_previous", "allow"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", Entry.SKIPPED),
        ("queue", Entry.BLOCKED),
        ("cancel_previous", Entry.REPLACE),
        ("allow", Entry.READY),
    ],
)
def test_a_live_firing_makes_the_policy_count(policy: Policy, expected: Entry) -> None:
    assert entry(policy, live=True, catch_up=False) is expected


def test_a_line_of_queued_firings_has_an_end() -> None:
    """However long its runs take."""
    assert entry("queue", live=MOST_LIVE - 1, catch_up=False) is Entry.BLOCKED
    assert entry("queue", live=MOST_LIVE, catch_up=False) is Entry.SKIPPED


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("catch_up", [True, False])
def test_without_a_live_firing_nothing_is_held_back(policy: Policy, catch_up: bool) -> None:
    assert entry(policy, live=False, catch_up=catch_up) is Entry.READY


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous"])
def test_catch_ups_run_one_after_another_whatever_the_policy(policy: Policy) -> None:
    assert entry(policy, live=True, catch_up=True) is Entry.BLOCKED


@pytest.mark.parametrize("policy", POLICIES)
def test_only_a_live_firing_seen_ahead_of_time_needs_a_second_look(policy: Policy) -> None:
    assert needs_second_look(policy, live=True, ahead=True) == (policy != "allow")
    assert not needs_second_look(policy, live=True, ahead=False)
    assert not needs_second_look(policy, live=False, ahead=True)


LIVES = st.builds(
    Live,
    count=st.integers(0, MOST_LIVE + 5),
    is_running=st.booleans(),
    is_held=st.booleans(),
)


@given(st.sampled_from(POLICIES), LIVES, st.booleans(), st.integers(1, 150))
def test_of_runs_that_enter_together_at_most_one_starts_unless_overlap_is_allowed(
    policy: Policy, live: Live, patient: bool, count: int
) -> None:
    admission = Admission(policy, live, patient=patient)
    states = [admission.next()[0] for _ in range(count)]
    if policy == "allow":
        assert states == ["waiting"] * count
        return
    assert states.count("waiting") <= 1
    # None starts while a worker may still begin a slot, or beside a firing that is not replaced.
    if live.is_held or (live.count and policy != "cancel_previous"):
        assert "waiting" not in states


@given(LIVES, st.booleans(), st.integers(1, 150))
def test_no_more_than_the_bound_are_queued_however_they_enter(
    live: Live, patient: bool, count: int
) -> None:
    admission = Admission("queue", live, patient=patient)
    made = [admission.next() for _ in range(count)]
    entered = sum(state != "skipped" for state, _ in made)
    assert entered == min(count, max(0, MOST_LIVE - live.count))
    assert {reason for state, reason in made if state == "skipped"} <= {"overlap_queue_full"}


@given(LIVES, st.integers(1, 20))
def test_patient_runs_wait_where_the_policy_would_skip_them(live: Live, count: int) -> None:
    admission = Admission("skip", live, patient=True)
    assert "skipped" not in {admission.next()[0] for _ in range(count)}


@pytest.mark.parametrize("policy", POLICIES)
def test_only_what_has_reached_its_instant_makes_the_policy_count(policy: Policy) -> None:
    """A slot that a worker holds ahead makes a run wait for the worker's answer, nothing more."""
    admission = Admission(policy, Live(is_held=True))
    assert not admission.replaces
    assert admission.next() == ("waiting" if policy == "allow" else "blocked", None)
