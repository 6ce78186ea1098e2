"""A Celery task's name and queue."""

from __future__ import annotations

import pytest

from rota.targets import CeleryTarget, InvalidTarget


def test_a_task_goes_to_celerys_own_queue_unless_another_is_named() -> None:
    assert CeleryTarget.read("proj.tasks.add").queue == "celery"
    assert CeleryTarget.read("proj.tasks.add", "mail:urgent").queue == "mail:urgent"


@pytest.mark.parametrize("task", ["", "a b", "a\n", "ä", ".a", "x" * 201])
def test_what_is_no_name_is_refused(task: str) -> None:
    with pytest.raises(InvalidTarget, match="Invalid celery_task: expected") as refused:
        CeleryTarget.read(task)
    assert refused.value.field == "celery_task"


@pytest.mark.parametrize("queue", ["", "a b", "\0", "x" * 101])
def test_what_is_no_queue_is_refused(queue: str) -> None:
    with pytest.raises(InvalidTarget, match="Invalid queue: expected"):
        CeleryTarget.read("t", queue)
