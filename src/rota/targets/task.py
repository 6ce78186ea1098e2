"""A task: a function that a worker knows by name, in a queue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.targets.errors import InvalidTarget, Problem, show

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_JOB_TYPE = 200
MAX_QUEUE = 100
#: A queue is a lane, and in these lanes wait the calls that Rota's own workers make.
RESERVED_QUEUES = frozenset({"http", "stream", "celery"})

# What module paths, Celery and routes are made of: no spaces, no control characters.
_JOB_TYPE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/<>-]*", re.ASCII)
_QUEUE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTarget:
    """Run the task `job_type` on a worker of `queue`."""

    job_type: str
    queue: str = "default"

    @staticmethod
    def read(job_type: str, queue: str = "default") -> TaskTarget:
        """The target; `InvalidTarget` when a name cannot be one."""
        problems = (*_job_type_problems(job_type), *_queue_problems(queue))
        if problems:
            raise InvalidTarget(problems)
        return TaskTarget(job_type=job_type, queue=queue)


def _job_type_problems(job_type: str) -> Iterator[Problem]:
    if len(job_type) > MAX_JOB_TYPE or not _JOB_TYPE.fullmatch(job_type):
        yield Problem(
            "job_type",
            f"Invalid job_type: expected a task's name such as reports.send, of letters, digits "
            f"and _ . : / < > -, at most {MAX_JOB_TYPE}, got {show(job_type)}",
        )


def _queue_problems(queue: str) -> Iterator[Problem]:
    if queue in RESERVED_QUEUES:
        yield Problem(
            "queue", f"Invalid queue: {show(queue)} is kept for calls of URLs, streams and Celery"
        )
    elif len(queue) > MAX_QUEUE or not _QUEUE.fullmatch(queue):
        yield Problem(
            "queue",
            f"Invalid queue: expected a name of letters, digits and _ . -, at most {MAX_QUEUE}, "
            f"got {show(queue)}",
        )
