"""Overlap: what a firing does while the one before it lives (OV1-OV4)."""

from __future__ import annotations

import pytest

from rota.firing.overlap import MOST_LIVE, Entry, Policy, entry, needs_second_look

POLICIES: list[Policy] = ["skip", "queue", "cancel_previous", "allow"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("skip", Entry.SKIPPED),
        ("queue", Entry.BEHIND),
        ("cancel_previous", Entry.INSTEAD),
        ("allow", Entry.FREE),
    ],
)
def test_a_live_firing_makes_the_policy_count(policy: Policy, expected: Entry) -> None:
    assert entry(policy, live=True, catch_up=False) is expected


def test_a_line_of_queued_firings_has_an_end() -> None:
    """I12: depth no more than a limit."""
    assert entry("queue", live=MOST_LIVE - 1, catch_up=False) is Entry.BEHIND
    assert entry("queue", live=MOST_LIVE, catch_up=False) is Entry.SKIPPED


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("catch_up", [True, False])
def test_without_a_live_firing_nothing_is_held_back(policy: Policy, catch_up: bool) -> None:
    assert entry(policy, live=False, catch_up=catch_up) is Entry.FREE


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous"])
def test_catch_ups_run_one_after_another_whatever_the_policy(policy: Policy) -> None:
    assert entry(policy, live=True, catch_up=True) is Entry.BEHIND


@pytest.mark.parametrize("policy", POLICIES)
def test_only_a_live_firing_seen_ahead_of_time_needs_a_second_look(policy: Policy) -> None:
    assert needs_second_look(policy, live=True, ahead=True) == (policy != "allow")
    assert not needs_second_look(policy, live=True, ahead=False)
    assert not needs_second_look(policy, live=False, ahead=True)
