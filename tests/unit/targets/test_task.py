"""Task targets: names that a worker can know."""

from __future__ import annotations

import pytest

from rota.targets import InvalidTarget, TaskTarget


@pytest.mark.parametrize("name", ["resize", "reports.send", "app.tasks:nightly", "a/b-c", "_x"])
def test_a_tasks_name_is_taken_as_written(name: str) -> None:
    assert TaskTarget.read(name) == TaskTarget(job_type=name, queue="default")


@pytest.mark.parametrize("name", ["", " ", "a b", "a\n", ".a", "ü", "x" * 201])
def test_a_name_that_no_worker_could_register_is_refused(name: str) -> None:
    with pytest.raises(InvalidTarget) as caught:
        TaskTarget.read(name)
    assert caught.value.field == "job_type"


@pytest.mark.parametrize("queue", ["", "a b", "a/b", "x" * 101, "http"])
def test_a_queue_that_cannot_be_a_lane_of_its_own_is_refused(queue: str) -> None:
    with pytest.raises(InvalidTarget) as caught:
        TaskTarget.read("resize", queue)
    assert caught.value.field == "queue"
