"""A reason for every slot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.workers.made import SCHEDULE_ID, SLOT, TENANT_ID, schedule

from rota import ids
from rota.history.firing import Firing
from rota.history.why import Facts, Why, explain

if TYPE_CHECKING:
    from datetime import datetime

HOUR = timedelta(hours=1)
MS = timedelta(milliseconds=1)


def firing(status: str, reason: str | None = None, **fields: Any) -> Firing:
    usual: dict[str, Any] = {
        "id": ids.firing_id(SCHEDULE_ID, SLOT),
        "schedule_id": SCHEDULE_ID,
        "tenant_id": TENANT_ID,
        "version": 1,
        "scheduled_for": SLOT,
        "last_slot_at": None,
        "slot_count": 1,
        "attempt": 1,
        "triggered_by": "schedule",
        "catch_up": False,
        "available_at": None,
        "started_at": None,
        "finished_at": None,
        "result_code": None,
        "result_excerpt": None,
    }
    return Firing(status=status, reason=reason, **usual | fields)


def why(
    at: datetime = SLOT,
    found: Firing | None = None,
    *,
    now: datetime = SLOT + HOUR,
    timer: datetime | None = None,
    **fields: Any,
) -> Why:
    made = schedule(timezone="America/New_York", **fields)
    return explain(Facts(schedule=made, at=at, now=now, firing=found, timer_slot=timer))


def test_a_success_is_told_with_its_details() -> None:
    found = firing(
        "succeeded",
        result_code=200,
        started_at=SLOT + 12 * MS,
        finished_at=SLOT + 46 * MS,
    )
    answer = why(found=found)
    assert answer.outcome == "succeeded"
    assert answer.sentence == (
        "It ran and succeeded: HTTP 200, attempt 1, begun 12 ms after its slot, over after 34 ms."
    )
    assert answer.firing == found
    assert (answer.previous_slot, answer.next_slot) == (SLOT - HOUR, SLOT + HOUR)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (firing("dead", "HTTP 404"), "It failed for good: HTTP 404."),
        (firing("cancelled", "replaced"), "It was cancelled: replaced."),
        (
            firing("cancelled", "overlap"),
            "It was cancelled: a later firing took its place (overlap_policy cancel_previous).",
        ),
        (
            firing("skipped", "overlap"),
            "It was skipped: the firing before it was still under way (overlap_policy skip).",
        ),
        (firing("skipped", "paused"), "It was skipped: the schedule was paused."),
        (
            firing("skipped", "edited"),
            "It was skipped: the schedule was changed before it could run.",
        ),
        (firing("blocked"), "It waits for the firing before it to end."),
        (firing("running", attempt=2), "It is running: attempt 2."),
        (
            firing("running", attempt=1, detached_until=SLOT + timedelta(hours=6)),
            (
                "Its target has taken it on, and has until 2026-03-09 15:00:00 America/New_York "
                "to complete it."
            ),
        ),
        (
            firing("retrying", available_at=SLOT + HOUR),
            "Attempt 1 failed; the next is due at 2026-03-09 10:00:00 America/New_York.",
        ),
        (
            firing("waiting", available_at=SLOT + 2 * HOUR),
            "It is prepared, and begins at 2026-03-09 11:00:00 America/New_York.",
        ),
        (firing("waiting", available_at=SLOT), "It is due, and waits for a worker."),
    ],
)
def test_each_outcome_has_its_sentence(found: Firing, sentence: str) -> None:
    answer = why(found=found)
    assert (answer.outcome, answer.sentence) == (found.status, sentence)


def test_a_slot_within_a_run_that_was_missed_is_told_with_the_run() -> None:
    run = firing(
        "missed",
        "misfire_cap",
        scheduled_for=SLOT - 3 * HOUR,
        last_slot_at=SLOT + HOUR,
        slot_count=5,
    )
    answer = why(found=run)
    assert answer.outcome == "missed"
    assert answer.sentence == (
        "It was missed: only the newest are caught up with (misfire_cap 10), as one of 5 slots "
        "from 2026-03-09 06:00:00 America/New_York to 2026-03-09 10:00:00 America/New_York."
    )


@pytest.mark.parametrize(
    ("reason", "part"),
    [
        ("misfire_policy", "(misfire_policy skip)"),
        ("misfire_cap", "(misfire_cap 3)"),
        ("misfire_window", "(misfire_window 1h)"),
        ("max_firings", "(max_firings 9)"),
        ("something else", "something else"),
        (None, "nothing fired it in time"),
    ],
)
def test_a_missed_slot_names_the_setting_that_decided(reason: str | None, part: str) -> None:
    answer = why(
        found=firing("missed", reason),
        misfire_policy="skip",
        misfire_cap=3,
        misfire_window=HOUR,
        max_firings=9,
    )
    assert part in answer.sentence


def test_an_instant_between_the_slots_of_a_run_is_not_a_slot() -> None:
    run = firing("missed", scheduled_for=SLOT - HOUR, last_slot_at=SLOT + HOUR, slot_count=3)
    assert why(SLOT + timedelta(minutes=1), run).outcome == "not_a_slot"


def test_an_instant_that_is_no_slot_is_told_with_the_nearest() -> None:
    answer = why(SLOT + timedelta(minutes=5))
    assert answer.outcome == "not_a_slot"
    assert (answer.previous_slot, answer.next_slot) == (SLOT, SLOT + HOUR)
    assert answer.sentence == (
        "The schedule has no slot at that instant; the nearest are 2026-03-09 09:00:00 "
        "America/New_York before it and 2026-03-09 10:00:00 America/New_York after it."
    )


def test_beyond_the_last_slot_there_is_none_after() -> None:
    answer = why(SLOT + HOUR, end_at=SLOT)
    assert answer.outcome == "not_a_slot"
    assert answer.sentence.endswith("and none after it.")


def test_what_is_recorded_stands_after_the_trigger_has_changed() -> None:
    odd = SLOT + timedelta(minutes=7)
    found = firing("succeeded", scheduled_for=odd)
    assert why(odd, found).outcome == "succeeded"


def test_a_slot_to_come() -> None:
    answer = why(SLOT + HOUR, now=SLOT + timedelta(minutes=30))
    assert answer.outcome == "future"
    assert answer.sentence == ("It is to come, at 2026-03-09 10:00:00 America/New_York: in 30m.")


def test_a_slot_to_come_of_a_schedule_that_does_not_fire() -> None:
    assert why(SLOT + HOUR, now=SLOT, status="paused").outcome == "paused"
    assert why(SLOT + HOUR, now=SLOT, status="completed").outcome == "completed"


def test_a_slot_that_is_due_and_not_fired_yet() -> None:
    assert why(now=SLOT + MS, timer=SLOT).outcome == "due"
    assert why(now=SLOT + HOUR, timer=SLOT - HOUR).outcome == "due"


def test_a_slot_that_passed_while_paused_and_is_not_recorded_yet() -> None:
    assert why(status="paused").outcome == "paused"


def test_a_slot_from_before_the_schedule_was_made_or_changed() -> None:
    early = why(SLOT - timedelta(days=6))
    assert early.outcome == "not_armed"
    assert early.sentence.startswith("The schedule was made later, at 2026-03-04 08:00:00")
    changed = replace(schedule(), updated_at=SLOT + timedelta(minutes=1))
    answer = explain(
        Facts(schedule=changed, at=SLOT, now=SLOT + HOUR, firing=None, timer_slot=SLOT + HOUR)
    )
    assert answer.outcome == "not_armed"
    assert "changed later" in answer.sentence


def test_a_slot_that_is_older_than_history() -> None:
    old = why(now=SLOT + timedelta(days=31), timer=SLOT + timedelta(days=31))
    assert (old.outcome, old.sentence) == (
        "forgotten",
        "It is older than what history keeps (30 days).",
    )


def test_a_slot_of_a_schedule_that_had_completed() -> None:
    assert why(status="completed").outcome == "completed"


def test_a_slot_that_nobody_knows_of_is_admitted() -> None:
    assert why(timer=SLOT + HOUR).outcome == "unrecorded"
