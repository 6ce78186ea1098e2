"""Streams and Celery tasks through the API."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api.conftest import SCHEDULE, Api, problem

NOTHING = dict.fromkeys(SCHEDULE)
STREAM: dict[str, Any] = {"name": "s", "interval": "5m", "stream": "redis://r.example.com/2/jobs"}
CELERY: dict[str, Any] = {"name": "c", "interval": "5m", "celery_task": "proj.tasks.add"}


@pytest.mark.parametrize(
    ("given", "others"),
    [
        (STREAM, {"target_url": None, "job_type": None, "celery_task": None}),
        (CELERY, {"target_url": None, "job_type": None, "stream": None, "queue": "celery"}),
        (CELERY | {"queue": "mail"}, {"queue": "mail"}),
    ],
)
async def test_it_reads_back_as_it_was_made(
    api: Api, given: dict[str, Any], others: dict[str, Any]
) -> None:
    made = await api.created(**(NOTHING | given))
    assert made | given | others == made
    assert made["timeout_seconds"] == 30
    text = "r.example.com" if "stream" in given else "proj.tasks"
    listed = (await api.get(f"/v1/schedules?q={text}")).json()["items"]
    assert [each["id"] for each in listed] == [made["id"]]


async def test_a_target_can_be_changed_for_another_kind(api: Api) -> None:
    made = await api.created(**(NOTHING | STREAM))
    path = f"/v1/schedules/{made['id']}"
    changed = (await api.patch(path, {"celery_task": "t", "queue": "q"})).json()
    assert (changed["stream"], changed["celery_task"], changed["queue"]) == (None, "t", "q")
    back = (await api.patch(path, {"stream": STREAM["stream"]})).json()
    assert (back["stream"], back["celery_task"]) == (STREAM["stream"], None)


async def test_a_password_in_plain_sight_is_refused_and_not_repeated(api: Api) -> None:
    """S8."""
    answer = await api.post(
        "/v1/schedules", STREAM | {"stream": "redis://ann:hunter2@r.example.com/jobs"}
    )
    told = problem(answer, 422)
    assert [each["field"] for each in told["errors"]] == ["stream"]
    assert "hunter2" not in answer.text
    assert "${secrets." in told["detail"]
