"""A claim of one step, and what comes next when it has ended (DS10)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from tests.unit.workers.made import claim, schedule

from rota import ids
from rota.queue.complete import AttemptRecord, Settlement
from rota.schedules.definition import Definition
from rota.schedules.schedule import Schedule
from rota.schedules.steps import Step
from rota.workers import sagas
from rota.workers.delivery import message
from rota.workers.delivery.request import request_of

FIRST, SECOND = "https://a.example/1", "https://b.example:8443/2"
STEPS = (
    Step(name="one", target_url=FIRST, compensate=Step(target_url=FIRST, method="DELETE")),
    Step(name="two", target_url=SECOND, payload={"own": 1}),
    Step(name="three", job_type="mail.send", queue="post", max_attempts=9),
)
FIRING = ids.to_text(ids.Kind.FIRING, claim().id)


def trip(**fields: Any) -> Schedule:
    return schedule(target_url=None, steps=STEPS, **fields)


def settled(each: Any, status: Any = "succeeded", **fields: Any) -> Settlement:
    at = each.available_at
    usual: dict[str, Any] = {
        "started_at": at,
        "finished_at": at,
        "status": status,
        "tried": AttemptRecord(outcome="succeeded"),
    }
    return Settlement(claim=each, **usual | fields)


def after_first(result: bytes = b'{"n": 7}', **fields: Any) -> tuple[Any, Schedule, str]:
    """The claim of the second step, its schedule, and what is stored between the two."""
    first, of_first = sagas.at_step(claim(**fields), trip(payload={"who": "ada"}))
    moved = sagas.carry_on(settled(first, result=result), of_first)
    assert moved.step is not None
    assert moved.step.state is not None
    state = moved.step.state
    second, of_second = sagas.at_step(claim(attempt=2, saga=state, **fields), "deleted")
    assert isinstance(of_second, Schedule)
    return second, of_second, state


def test_the_first_step_is_a_claim_like_any_other_but_for_its_key() -> None:
    one, of_one = sagas.at_step(claim(), trip(payload={"who": "ada"}))
    request = request_of(one, of_one)
    assert (request.url, request.method) == (FIRST, "POST")
    assert json.loads(request.body) == {"who": "ada", "steps": {}}
    assert request.headers["Idempotency-Key"] == f"{FIRING}:one"
    assert request.headers["Rota-Step"] == "one"
    assert (one.tries, of_one.definition.steps) == (1, None)


def test_streams_and_celery_take_each_step_once() -> None:
    one, of_one = sagas.at_step(claim(), trip())
    assert message.delivery_id(message.facts(one, of_one)) == f"{FIRING}:one"
    assert message.delivery_id(message.facts(claim(), schedule())) == FIRING


def test_what_has_no_steps_is_left_alone() -> None:
    plain, of_plain = claim(), schedule()
    assert sagas.at_step(plain, of_plain) == (plain, of_plain)
    assert sagas.at_step(plain, "paused") == (plain, "paused")
    ended = settled(plain)
    assert sagas.carry_on(ended, of_plain) is ended
    assert sagas.carry_on(ended, None) is ended


def test_a_success_moves_on_to_the_next_lane_and_host_and_hands_on_its_result() -> None:
    one, of_one = sagas.at_step(claim(), trip())
    moved = sagas.carry_on(settled(one, result=b'"${secrets.KEY}"'), of_one)
    assert moved.status is None
    assert moved.step is not None
    assert (moved.step.name, moved.step.lane, moved.step.host) == ("one", "http", "b.example:8443")
    two, of_two, _ = after_first(b'"${secrets.KEY}"')
    assert json.loads(request_of(two, of_two).body) == {
        "own": 1,
        "steps": {"one": "$ {secrets.KEY}"},
    }
    assert two.tries == 1


def test_it_goes_on_though_its_schedule_is_gone() -> None:
    two, of_two, _ = after_first()
    assert (of_two.id, of_two.definition.target_url) == (two.schedule_id, SECOND)
    assert json.loads(two.payload)["steps"] == {"one": {"n": 7}}


@pytest.mark.parametrize(
    ("status", "reason", "end"),
    [
        ("dead", "HTTP 500", "dead"),
        ("cancelled", "no", "cancelled"),
        ("cancelled", "worker lost", "dead"),
    ],
)
def test_what_does_not_succeed_is_turned_back(status: str, reason: str, end: str) -> None:
    two, of_two, _ = after_first()
    turned = sagas.carry_on(settled(two, status, reason=reason), of_two)
    assert turned.step is not None
    assert turned.step.state is not None
    undo, of_undo = sagas.at_step(claim(attempt=3, saga=turned.step.state), None)
    assert of_undo is not None
    request = request_of(undo, of_undo)
    assert (request.method, request.url) == ("DELETE", FIRST)
    assert request.headers["Idempotency-Key"] == f"{FIRING}:one:compensate"
    done = sagas.carry_on(settled(undo, result=b"x"), of_undo)
    assert (done.status, done.result) == (end, None)
    assert done.reason == f"step two: {reason}; compensated one"


def test_nobody_can_cancel_the_way_back() -> None:
    two, of_two, _ = after_first()
    turned = sagas.carry_on(settled(two, "dead", reason="x"), of_two)
    assert turned.step is not None
    undo, of_undo = sagas.at_step(claim(attempt=3, saga=turned.step.state), None)
    again = sagas.carry_on(settled(undo, "cancelled", reason="stop"), of_undo)
    assert (again.status, again.retry_at) == (None, again.finished_at)


def test_a_retry_stays_where_it_is_and_names_its_step() -> None:
    two, of_two, _ = after_first()
    failed = settled(two, None, retry_at=two.available_at)
    kept = sagas.carry_on(failed, of_two)
    assert msgspec.structs.replace(kept, step=None) == failed
    assert kept.step is not None
    assert (kept.step.name, kept.step.state) == ("two", None)


def test_one_taken_back_before_it_began_is_only_skipped() -> None:
    one, of_one = sagas.at_step(claim(), trip())
    skipped = settled(one, "skipped", reason="paused", started_at=None, tried=None)
    assert sagas.carry_on(skipped, of_one) is skipped


def test_what_is_stored_holds_the_definition_it_began_with() -> None:
    _, _, state = after_first()
    stored = msgspec.json.decode(state)
    assert msgspec.convert(stored["definition"], Definition).steps == STEPS
    assert [each["status"] for each in stored["steps"]] == ["succeeded", "running", "waiting"]
