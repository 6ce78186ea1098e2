"""A Celery task: a message for a fleet of Celery workers, through the broker they share."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rota.targets.errors import InvalidTarget, Problem, show

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TASK = 200
MAX_QUEUE = 100
#: What Celery's own workers listen to unless they are told otherwise.
USUAL_QUEUE = "celery"

_TASK = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*", re.ASCII)
_QUEUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*", re.ASCII)
# No brackets: what they mean differs from one kind of pattern to the next.
_PATTERN = re.compile(r"[A-Za-z0-9_.:/<>*?-]+@[A-Za-z0-9_.:*?-]+", re.ASCII)
PATTERN = f"^{_PATTERN.pattern}$"
"""The same for those who read the API's description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CeleryTarget:
    """Send the task called `task` to Celery's queue `queue`."""

    task: str
    queue: str = USUAL_QUEUE

    @staticmethod
    def read(task: str, queue: str = USUAL_QUEUE) -> CeleryTarget:
        """The target; `InvalidTarget` when a name cannot be one."""
        problems = (*_task_problems(task), *_queue_problems(queue))
        if problems:
            raise InvalidTarget(problems)
        return CeleryTarget(task=task, queue=queue)


def is_pattern(text: str) -> bool:
    """Whether it is TASK@QUEUE, in which * stands for anything and ? for one character."""
    return len(text) <= MAX_TASK + MAX_QUEUE + 1 and _PATTERN.fullmatch(text) is not None


def matches(pattern: str, target: CeleryTarget) -> bool:
    """Whether the pattern is of this task and this queue."""
    task, _, queue = pattern.partition("@")
    return fnmatchcase(target.task, task) and fnmatchcase(target.queue, queue)


def _task_problems(task: str) -> Iterator[Problem]:
    if len(task) > MAX_TASK or not _TASK.fullmatch(task):
        yield Problem(
            "celery_task",
            "Invalid celery_task: expected a task's name such as proj.tasks.add, of letters, "
            f"digits and _ . : / < > -, at most {MAX_TASK}, got {show(task)}",
        )


def _queue_problems(queue: str) -> Iterator[Problem]:
    if len(queue) > MAX_QUEUE or not _QUEUE.fullmatch(queue):
        yield Problem(
            "queue",
            "Invalid queue: expected a name of letters, digits and _ . : -, at most "
            f"{MAX_QUEUE}, got {show(queue)}",
        )
