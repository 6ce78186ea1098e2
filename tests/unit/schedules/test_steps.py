"""The field `steps`: read, written, and what each step is as a definition of its own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rota.schedules import definition, fields
from rota.schedules.errors import InvalidSchedule
from rota.schedules.steps import CALL
from rota.targets import TargetPolicy

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
URL = "https://acme.example/flights"
UNDO = {"target_url": URL, "method": "DELETE"}
BASE: dict[str, Any] = {"key": "trip", "on_demand": True}


def read(*steps: Any, **more: Any) -> definition.Definition:
    return fields.read({**BASE, "steps": list(steps), **more}, now=NOW).definition


def refused(*steps: Any, **more: Any) -> dict[str, str]:
    with pytest.raises(InvalidSchedule) as caught:
        read(*steps, **more)
    return {problem.field: problem.message for problem in caught.value.problems}


def test_they_are_stored_and_written_as_they_were_read() -> None:
    read_ = read({"name": "flight", "target_url": URL, "compensate": UNDO}, {"job_type": "mail"})
    assert definition.decode(definition.encode(read_)) == read_
    written = fields.write(read_)
    assert written["steps"] == [
        {"name": "flight", "target_url": URL, "compensate": UNDO},
        {"name": "step-2", "job_type": "mail"},
    ]
    assert fields.same(fields.read(written, now=NOW).definition, read_)


def test_a_step_has_its_own_policies_or_the_schedules_or_the_usual() -> None:
    whole = read(
        {"target_url": URL, "timeout_seconds": 5, "max_attempts": 1},
        {"job_type": "mail", "queue": "post"},
        {"celery_task": "a.b"},
        max_attempts=7,
        backoff="fixed",
        delivery="at_most_once",
    )
    assert whole.steps is not None
    first, second, third = map(whole.of_step, whole.steps)
    assert (first.timeout_seconds, first.max_attempts, first.lane) == (5, 1, "http")
    assert (second.timeout_seconds, second.max_attempts, second.lane) == (3600, 7, "post")
    assert (third.timeout_seconds, third.queue, third.lane) == (30, "celery", "celery")
    assert {each.backoff for each in (first, second, third)} == {"fixed"}
    assert first.delivery == "at_most_once"
    # Half undone is not undone.
    assert whole.of_step(whole.steps[0], compensating=True).delivery == "at_least_once"
    assert (whole.lane, whole.host) == ("http", "acme.example")


def test_a_list_of_codes_gives_way_to_the_other() -> None:
    whole = read({"target_url": URL, "success_on": [200, 503]})
    assert whole.steps is not None
    step = whole.of_step(whole.steps[0])
    assert (step.success_on, step.retry_on) == ((200, 503), ("5xx", 408, 425, 429))


WRONG: list[tuple[list[Any], str, str]] = [
    ([], "steps", "1 to 20 steps"),
    ([{"job_type": "x"}] * 21, "steps", "1 to 20 steps"),
    (["x"], "steps[0]", "expected an object"),
    ([{}], "steps[0].target_url", "exactly one"),
    ([{"job_type": "x", "stream": "redis://h/s"}], "steps[0].stream", "exactly one"),
    ([{"job_type": "x", "steps": []}], "steps[0].steps", "expected one of"),
    ([{"job_type": "x", "name": "a:b"}], "steps[0].name", "letters, digits"),
    ([{"job_type": "x", "name": "a"}] * 2, "steps[1].name", "each name once"),
    ([{"job_type": "x", "method": "GET"}], "steps[0].method", "only beside target_url"),
    ([{"job_type": "x", "max_attempts": 99}], "steps[0].max_attempts", "25"),
    ([{"job_type": "x", "payload": "${secrets.}"}], "steps[0].payload", "placeholders"),
    (
        [{"job_type": "x", "compensate": {"job_type": "x", "compensate": {}}}],
        "steps[0].compensate.compensate",
        "expected one of",
    ),
]


@pytest.mark.parametrize(("steps", "field", "says"), WRONG)
def test_what_is_wrong_is_named_with_its_place(steps: list[Any], field: str, says: str) -> None:
    problems = refused(*steps)
    assert says in problems[field]


def test_what_belongs_to_one_target_does_not_stand_beside_steps() -> None:
    assert "headers" in refused({"job_type": "x"}, headers={"a": "b"})
    assert "exactly one" in refused({"job_type": "x"}, job_type="y")["steps"]


def test_the_operators_word_on_targets_counts_for_every_step() -> None:
    """S1: what may not be called by itself may not be called as a step either."""
    inside = {"job_type": "x", "compensate": {"target_url": "http://127.0.0.1/"}}
    with pytest.raises(InvalidSchedule) as caught:
        fields.read({**BASE, "steps": [inside]}, now=NOW, targets=TargetPolicy())
    assert [each.field for each in caught.value.problems] == ["steps[0].compensate.target_url"]


_ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
_CALL: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from([*CALL, "name"]) | st.text(), _ANYTHING, max_size=4
)


@st.composite
def _steps(draw: st.DrawFn) -> dict[str, Any]:
    return {**draw(_CALL), "compensate": draw(_CALL | _ANYTHING)}


@given(st.lists(_steps() | _ANYTHING, max_size=3), _ANYTHING)
def test_whatever_is_given_is_read_or_refused_with_reasons(steps: list[Any], after: Any) -> None:
    for whole in ({**BASE, "steps": steps}, {"key": "x", "job_type": "x", "after": after}):
        try:
            made = fields.read(whole, now=NOW).definition
        except InvalidSchedule:
            continue
        assert fields.same(fields.read(fields.write(made), now=NOW).definition, made)


def test_the_same_steps_with_another_number_for_true_are_not_the_same() -> None:
    one, other = ({"job_type": "x", "payload": {"on": value}} for value in (1, True))
    assert not fields.same(read(one), read(other))
