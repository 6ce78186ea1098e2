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
from rota.schedules import audit, next_slot
from rota.schedules.audit import Span
from rota.triggers.preview import local_time
from rota.triggers.zones import zone

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
        "due_at": None,
    }
    return Firing(status=status, reason=reason, **usual | fields)


def why(
    at: datetime = SLOT,
    found: Firing | None = None,
    *,
    now: datetime = SLOT + HOUR,
    timer: datetime | None = None,
    span: Span | None = None,
    **fields: Any,
) -> Why:
    made = schedule(timezone="America/New_York", **fields)
    return explain(Facts(schedule=made, at=at, now=now, firing=found, timer_slot=timer, span=span))


def change(action: audit.Action, at: datetime, actor: str) -> audit.Change:
    return audit.Change(
        id=1,
        schedule_id=SCHEDULE_ID,
        at=at,
        action=action,
        actor=actor,
        status=None,
        version=1,
        fields={},
        details={},
    )


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


WINDOW: dict[str, Any] = {"fire_window_seconds": 3000}
SPREAD = next_slot.spread(schedule(timezone="America/New_York", **WINDOW))


def clock(instant: datetime) -> str:
    return f"{local_time(instant, zone('America/New_York')):%Y-%m-%d %H:%M:%S} America/New_York"


def test_a_run_that_a_fire_window_delayed_is_told_with_that_reason() -> None:
    begun = SLOT + SPREAD + 12 * MS
    found = firing("succeeded", due_at=SLOT + SPREAD, started_at=begun, finished_at=begun + MS)
    reason = f"due at {clock(SLOT + SPREAD)} by its fire_window_seconds 3000"
    assert reason in why(found=found, **WINDOW).sentence
    both = why(found=found, jitter_seconds=1000, fire_window_seconds=2000)
    assert "by its jitter_seconds 1000 and fire_window_seconds 2000" in both.sentence
    assert "due at" not in why(found=found).sentence


def test_a_delay_that_is_not_the_windows_is_not_put_down_to_it() -> None:
    """It was due later for another reason, such as a limit of its host; or before an edit."""
    begun = SLOT + HOUR
    postponed = firing("succeeded", due_at=SLOT + HOUR - MS, started_at=begun, finished_at=begun)
    assert "due at" not in why(found=postponed, **WINDOW).sentence
    manual = firing(
        "succeeded",
        triggered_by="manual",
        due_at=SLOT + SPREAD,
        started_at=begun,
        finished_at=begun,
    )
    assert "due at" not in why(found=manual, **WINDOW).sentence


def test_a_slot_to_come_says_when_it_is_due() -> None:
    answer = why(at=SLOT, now=SLOT - HOUR, **WINDOW)
    assert answer.outcome == "future"
    assert f"due at {clock(SLOT + SPREAD)} by its fire_window_seconds 3000" in answer.sentence


def test_a_slot_that_has_passed_and_is_not_due_yet_is_to_come() -> None:
    answer = why(at=SLOT, now=SLOT + SPREAD / 2, timer=SLOT, **WINDOW)
    assert answer.outcome == "future"
    assert f"due at {clock(SLOT + SPREAD)} by its fire_window_seconds 3000" in answer.sentence
    overdue = why(at=SLOT, now=SLOT + SPREAD + HOUR, timer=SLOT, **WINDOW)
    assert overdue.outcome == "due"


def test_a_firing_that_is_prepared_says_why_it_begins_later_than_its_slot() -> None:
    found = firing("waiting", available_at=SLOT + SPREAD)
    answer = why(at=SLOT, found=found, now=SLOT + SPREAD / 2, **WINDOW)
    assert f"begins at {clock(SLOT + SPREAD)}" in answer.sentence
    assert "by its fire_window_seconds 3000" in answer.sentence


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
    assert early.sentence.startswith("The schedule was created later, at 2026-03-04 08:00:00")
    changed = replace(schedule(), updated_at=SLOT + timedelta(minutes=1))
    answer = explain(
        Facts(schedule=changed, at=SLOT, now=SLOT + HOUR, firing=None, timer_slot=SLOT + HOUR)
    )
    assert answer.outcome == "unknown"
    assert "no history of changes" in answer.sentence


def test_a_slot_that_is_older_than_history() -> None:
    old = why(now=SLOT + timedelta(days=31), timer=SLOT + timedelta(days=31))
    assert (old.outcome, old.sentence) == (
        "forgotten",
        "It is older than what history keeps (30 days).",
    )


def test_a_slot_of_a_schedule_that_had_completed() -> None:
    assert why(status="completed").outcome == "completed"


def test_a_slot_that_nobody_knows_of_is_admitted() -> None:
    answer = why(timer=SLOT + HOUR)
    assert answer.outcome == "unrecorded"
    assert answer.sentence.endswith("what became of it is unexplained.")


def test_a_pause_of_today_explains_no_slot_of_a_time_when_it_was_active() -> None:
    then = Span(since=SLOT - HOUR, until=SLOT + MS, state="active", version=1)
    assert why(status="paused", span=then).outcome == "unrecorded"


def test_a_slot_that_passed_while_it_was_paused_names_the_pause_and_by_whom() -> None:
    then = Span(
        since=SLOT,
        until=SLOT + HOUR / 2,
        state="paused",
        version=1,
        began=change("paused", SLOT - HOUR, "cli:1a2b"),
        ended=change("resumed", SLOT + HOUR / 2, "dashboard:operator"),
    )
    expected = (
        "from 2026-03-09 08:00:00 America/New_York on the command line (key 1a2b), "
        "until 2026-03-09 09:30:00 America/New_York on the dashboard (operator)."
    )
    answer = why(span=then)
    assert (answer.outcome, answer.sentence) == (
        "paused",
        f"It passed while the schedule was paused, {expected}",
    )
    recorded = why(found=firing("skipped", "paused"), span=then)
    assert recorded.sentence == f"It was skipped: the schedule was paused, {expected}"


@pytest.mark.parametrize(
    ("actor", "words"),
    [
        ("api:1a2b", "through the API (key 1a2b)"),
        ("apply:1a2b", "by rota apply (key 1a2b)"),
        ("dashboard:1a2b", "on the dashboard (key 1a2b)"),
        ("code:shop", "by the program shop"),
        ("rota", "by Rota"),
        (None, "by an unknown actor"),
    ],
)
def test_an_actor_is_told_in_words(actor: str | None, words: str) -> None:
    assert audit.words(actor) == words


@pytest.mark.parametrize(
    ("by", "begins"),
    [("manual", "No slot, but a run that somebody"), ("api", "No slot, but a run that a program")],
)
def test_a_run_that_was_asked_for_is_told_though_it_is_no_slot(by: str, begins: str) -> None:
    at = SLOT + timedelta(minutes=7)
    answer = why(at, firing("succeeded", scheduled_for=at, triggered_by=by))
    assert answer.outcome == "succeeded"
    assert answer.sentence.startswith(begins)
