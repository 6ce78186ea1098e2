"""The part of an API's object that says whom it calls. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rota.schedules import codes, names, steps, steps_fields
from rota.schedules.definition import ASYNC_TIMEOUT_SECONDS, DEFAULT_QUEUE
from rota.schedules.values import Values
from rota.targets import CeleryTarget, HttpTarget, InvalidTarget, StreamTarget, TaskTarget
from rota.targets.celery import USUAL_QUEUE

if TYPE_CHECKING:
    from rota.targets import TargetPolicy

_WEEK: Final = 7 * 86_400


def read(values: Values, draft: dict[str, Any]) -> None:
    """The one target that was given, with all that belongs to it, into the draft."""
    if values.given("monitor"):
        _no_target(values)
        return
    _one_target(values, draft, names.TARGETS)


def _one_target(values: Values, draft: dict[str, Any], among: tuple[str, ...]) -> None:
    if not values.exactly_one(among, "what it calls"):
        return
    kind = next(name for name in among if values.given(name))
    for name, owners in names.foreign(kind).items():
        if values.given(name):
            values.problem(name, f"expected it only beside {owners}")
    try:
        _READ_TARGET[kind](values, draft)
    except InvalidTarget as error:
        values.problems += error.problems


def _no_target(values: Values) -> None:
    """A monitor waits for pings and calls nothing."""
    for name in (*names.TARGETS, *names.foreign(None)):
        if values.given(name):
            values.problem(name, "expected none beside monitor, which waits and calls nothing")


def _http_target(values: Values, draft: dict[str, Any]) -> None:
    url = values.text("target_url", most=10_000, default=None)
    method = values.text("method", most=20, default="POST")
    headers = values.headers("headers")
    body = values.raw("body")
    if body is not None and not isinstance(body, str):
        values.problem("body", "expected text; JSON goes into payload")
        body = None
    if body is not None and values.given("payload"):
        values.problem("body", "expected either body or payload, got both")
    if body is not None and "\0" in body:
        values.problem("body", "expected text without the character NUL")
        body = None
    target = HttpTarget.read(url or "https://x", method=method, headers=headers, body=body)
    draft["success_on"], draft["retry_on"] = codes.read(values, "success_on", "retry_on")
    draft["async_timeout_seconds"] = values.seconds(
        "async_timeout_seconds", low=1, high=_WEEK, default=ASYNC_TIMEOUT_SECONDS
    )
    draft |= {
        "target_url": url,
        "method": target.method,
        "headers": dict(target.headers),
        "body": target.body,
    }


def permitted(values: Values, draft: dict[str, Any], targets: TargetPolicy) -> None:
    """Note what the operator does not let be called, as far as an address tells."""
    url, stream = draft.get("target_url"), draft.get("stream")
    if url is not None and (wrong := targets.wrong_with_url(url)):
        values.problem("target_url", wrong)
    if stream is not None and (wrong := StreamTarget.read(stream).wrong_by(targets)):
        values.problem("stream", wrong)
    for at, step in enumerate(draft.get("steps") or ()):
        for place, call in ((f"steps[{at}]", step), (f"steps[{at}].compensate", step.compensate)):
            own = Values({})
            permitted(own, {} if call is None else call.call, targets)
            for each in own.problems:
                values.problem(f"{place}.{each.field}", each.message.partition(": ")[2])


def _task_target(values: Values, draft: dict[str, Any]) -> None:
    job_type = values.text("job_type", most=1_000, default=None)
    queue = values.text("queue", most=1_000, default=None)
    TaskTarget.read(job_type or "x", queue or DEFAULT_QUEUE)
    draft |= {"job_type": job_type, "queue": queue}


def _stream_target(values: Values, draft: dict[str, Any]) -> None:
    stream = values.text("stream", most=10_000, default=None)
    if stream is not None:
        StreamTarget.read(stream)
        draft["stream"] = stream


def _celery_target(values: Values, draft: dict[str, Any]) -> None:
    task = values.text("celery_task", most=1_000, default=None)
    queue = values.text("queue", most=1_000, default=USUAL_QUEUE)
    target = CeleryTarget.read(task or "x", queue)
    draft |= {"celery_task": task, "queue": target.queue}


def _steps_target(values: Values, draft: dict[str, Any]) -> None:
    """Each step has a target by the same rules, but no steps of its own."""
    draft["steps"] = steps_fields.read(
        values, "steps", lambda own, call: _one_target(own, call, steps.TARGETS)
    )


_READ_TARGET = {
    "steps": _steps_target,
    "target_url": _http_target,
    "job_type": _task_target,
    "stream": _stream_target,
    "celery_task": _celery_target,
}
