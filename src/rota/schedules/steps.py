"""The steps of a schedule that is a list of calls, each with what undoes it (DS10).

They are part of the stored definition: what was said there of defaults is true here, too.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from rota.schedules.codes import Codes  # noqa: TC001 - read at run time, by msgspec

MAX_STEPS: Final = 20

TARGETS: Final = ("target_url", "job_type", "stream", "celery_task")
#: What a step says of its own target, in the words of a schedule.
CALL: Final = (
    *TARGETS,
    *("method", "headers", "body", "queue", "payload"),
    *("timeout_seconds", "max_attempts"),
    *("success_on", "retry_on", "async_timeout_seconds"),
)


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call. What is None is as the schedule says, or as is usual."""

    name: str = ""
    """Unique among the steps; of a compensation, that of its step."""
    target_url: str | None = None
    method: str | None = None
    headers: dict[str, str] | None = None
    body: str | None = None
    job_type: str | None = None
    stream: str | None = None
    celery_task: str | None = None
    queue: str | None = None
    payload: Any = None
    timeout_seconds: int | float | None = None
    max_attempts: int | None = None
    success_on: Codes | None = None
    retry_on: Codes | None = None
    async_timeout_seconds: int | float | None = None
    compensate: Step | None = None
    """What undoes it, once it has succeeded and a later one has not."""

    @property
    def call(self) -> dict[str, Any]:
        """The fields of a definition that it says something about."""
        return {name: value for name in CALL if (value := getattr(self, name)) is not None}


def written(step: Step) -> dict[str, Any]:
    """As it is read."""
    fields: dict[str, Any] = {"name": step.name} if step.name else {}
    for name, value in step.call.items():
        fields[name] = list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
    if step.compensate is not None:
        fields["compensate"] = written(step.compensate)
    return fields
