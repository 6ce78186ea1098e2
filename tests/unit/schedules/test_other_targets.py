"""Schedules that add to a stream or send a Celery task: the fields, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.schedules.examples import NOW, problems, read

from rota.schedules import definition as definitions
from rota.schedules import fields
from rota.schedules.errors import InvalidSchedule
from rota.targets import CeleryTarget, StreamTarget, TargetPolicy

STREAM: dict[str, Any] = {"name": "s", "interval": "5m", "stream": "redis://r.example/jobs"}
CELERY: dict[str, Any] = {"name": "c", "interval": "5m", "celery_task": "proj.tasks.add"}


def test_a_stream_is_a_target_with_a_lane_and_a_host() -> None:
    definition = read(STREAM).definition
    assert definition.target == StreamTarget(host="r.example", name="jobs")
    assert (definition.lane, definition.host) == ("stream", "r.example:6379")
    assert definition.timeout_seconds == 30


def test_a_celery_task_is_a_target_with_a_lane_and_no_host() -> None:
    definition = read(CELERY).definition
    assert definition.target == CeleryTarget(task="proj.tasks.add")
    assert (definition.lane, definition.host, definition.queue) == ("celery", None, "celery")
    assert definition.timeout_seconds == 30
    assert read(CELERY, queue="mail").definition.target == CeleryTarget(
        task="proj.tasks.add", queue="mail"
    )


@pytest.mark.parametrize("given", [STREAM, CELERY, CELERY | {"queue": "mail", "payload": [1]}])
def test_what_is_written_is_read_back_and_stored_as_it_was(given: dict[str, Any]) -> None:
    parsed = read(given)
    written = fields.write(parsed.definition)
    assert {name: written[name] for name in given} == given
    assert fields.read(written, now=NOW).definition == parsed.definition
    stored = definitions.encode(parsed.definition)
    assert definitions.decode(stored) == parsed.definition
    assert "method" not in written
    assert ("queue" in written) == ("celery_task" in given)


@pytest.mark.parametrize(
    ("given", "field", "told"),
    [
        (STREAM | {"queue": "q"}, "queue", "only beside job_type or celery_task"),
        (STREAM | {"headers": {"A": "b"}}, "headers", "only beside target_url"),
        (STREAM | {"retry_on": [404]}, "retry_on", "only beside target_url"),
        (CELERY | {"body": "x"}, "body", "only beside target_url"),
        (CELERY | {"queue": "a b"}, "queue", "Invalid queue"),
        (CELERY | {"celery_task": "a b"}, "celery_task", "Invalid celery_task"),
        (STREAM | {"stream": "redis://h"}, "stream", "expected redis://host/name"),
        (STREAM | {"stream": 5}, "stream", "expected text"),
        (STREAM | {"timeout_seconds": 3601}, "timeout_seconds", "from 100ms to 1h"),
        (STREAM | {"celery_task": "t"}, "celery_task", "exactly one of target_url, job_type"),
        (
            {"name": "t", "interval": "5m", "job_type": "t", "queue": "celery"},
            "queue",
            "is kept for",
        ),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], field: str, told: str) -> None:
    assert told in problems(given)[field]


def test_a_target_of_another_kind_takes_the_place_of_the_one_there_is() -> None:
    stream = read(STREAM).definition
    celery = fields.read(fields.merge(stream, {"celery_task": "t"}), now=NOW).definition
    assert (celery.stream, celery.celery_task, celery.queue) == (None, "t", "celery")
    url = fields.read(fields.merge(celery, {"target_url": "https://a.example"}), now=NOW)
    assert (url.definition.celery_task, url.definition.lane) == (None, "http")
    moved = fields.read(fields.merge(stream, {"stream": "redis://h/2/x"}), now=NOW).definition
    assert moved.target == StreamTarget(host="h", db=2, name="x")


def test_a_stream_that_the_operator_does_not_allow_is_refused_when_it_is_written() -> None:
    """S1: a courtesy; the wall is where the connection is made."""
    given = STREAM | {"stream": "redis://127.0.0.1/jobs"}
    with pytest.raises(InvalidSchedule, match=r"127\.0\.0\.1") as refused:
        fields.read(given, now=NOW, targets=TargetPolicy())
    assert [problem.field for problem in refused.value.problems] == ["stream"]
