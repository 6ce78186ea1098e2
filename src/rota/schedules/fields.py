"""From an API's flat object to a `Definition` and back. Pure, and quick enough for thousands.

`read` either gives a definition in which everything fits, or raises `InvalidSchedule` with all that
is wrong, so that a person mends a schedule once and not field by field.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

import msgspec

from rota import durations
from rota.schedules import after, calendar_field, codes, monitor, names, steps, steps_fields, when
from rota.schedules.definition import (
    ASYNC_TIMEOUT_SECONDS,
    DEFAULT_QUEUE,
    BackoffShape,
    Capture,
    Definition,
    Delivery,
    MisfirePolicy,
    OverlapPolicy,
)
from rota.schedules.errors import InvalidSchedule
from rota.schedules.values import Values, same_json
from rota.targets import (
    OPEN,
    CeleryTarget,
    HttpTarget,
    InvalidTarget,
    StreamTarget,
    TargetPolicy,
    TaskTarget,
)
from rota.targets.celery import USUAL_QUEUE
from rota.triggers.keys import schedule_key
from rota.triggers.warnings import warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rota.schedules.calendars.calendar import Calendars, Known
    from rota.triggers.trigger import Trigger

MAX_NAME = 200
MAX_KEY = 300
MAX_DESCRIPTION = 5_000
MAX_IDEMPOTENCY_KEY = 120

_DAY = 86_400
_NOTHING = timedelta()
_AS_THEY_ARE = frozenset((str, int, float, bool, dict, list))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A definition that holds, and what there is to say about it."""

    definition: Definition
    trigger: Trigger
    """Its trigger, anchored at the instant it was read."""
    next_slot: datetime | None
    """The first slot after that instant at which it fires."""
    warnings: tuple[str, ...]
    given: frozenset[str]
    """The fields that were given."""
    calendar: Known | None = None
    """The one that was named, as it was when this was read."""


def read(
    fields: Mapping[str, object],
    *,
    now: datetime,
    min_interval: timedelta = _NOTHING,
    require_future: bool = True,
    targets: TargetPolicy = OPEN,
    calendars: Calendars | None = None,
) -> Parsed:
    """The definition that the fields describe; `InvalidSchedule` with all that is wrong.

    `targets` is what the operator lets be called, as far as a URL tells. `calendars` has the one
    that the fields name, if it is there; without it a calendar is taken at its word and not used.
    `require_future=False` lets pass what has no slot left: a change of something else about it.
    """
    values = Values(fields)
    values.problems += names.unknown(fields)
    draft = _draft(values)
    calendar = calendar_field.read(values, draft, calendars)
    trigger = when.read_trigger(values, draft, now, days=calendar and calendar.days)
    next_slot = None
    if trigger is not None:
        # As the trigger has it, which a text or a rule may have named itself.
        draft["timezone"] = trigger.timezone
        # Of a monitor, the slots for which it expects pings; it has no others.
        slots = when.expected(draft, now, calendar and calendar.days) or trigger
        slot = when.read_next_slot(values, slots, now, require_future=require_future)
        when.check_min_interval(values, slots, min_interval, now)
        next_slot = slot if slots is trigger else None
    _name(values, draft, trigger)
    read_target(values, draft)
    _permitted(values, draft, targets)
    if values.problems or trigger is None:
        raise InvalidSchedule(tuple(values.problems))
    return Parsed(
        definition=Definition(**draft),
        trigger=trigger,
        next_slot=next_slot,
        warnings=(*warnings(trigger, after=now), *when.written_warnings(values, draft)),
        given=frozenset(name for name in fields if values.given(name)),
        calendar=calendar,
    )


def write(definition: Definition) -> dict[str, Any]:
    """The fields that `read` makes this definition of, defaults included."""
    target = next((name for name in names.TARGETS if getattr(definition, name) is not None), None)
    other = names.foreign(target)
    fields: dict[str, Any] = {
        name: value if type(value) in _AS_THEY_ARE else _written(value)
        for name, value in msgspec.structs.asdict(definition).items()
        if value is not None and name not in other
    }
    if target in {"job_type", "celery_task"}:
        fields.setdefault("queue", DEFAULT_QUEUE)
    if definition.steps is not None and not definition.timeout_seconds:
        # Each step has its own, the usual of its kind.
        del fields["timeout_seconds"]
    return fields


def merge(definition: Definition, changes: Mapping[str, object]) -> dict[str, Any]:
    """The fields with some of them changed; null takes one away.

    A trigger or target takes the place of the one there is, with all that belonged to it alone.
    """
    fields = write(definition)
    if definition.job_type is not None and definition.queue is None:
        _drop(fields, ("queue",))
    if any(changes.get(name) is not None for name in names.TRIGGERS):
        _drop(fields, names.TRIGGERS)
        if changes.get("monitor") is not None:
            _drop(fields, (*names.TARGETS, *names.HTTP_ONLY, *names.TASK_ONLY, "timeout_seconds"))
        if "timezone" not in changes and when.is_the_texts_own_zone(definition):
            _drop(fields, ("timezone",))
    if any(changes.get(name) is not None and name not in fields for name in names.TARGETS):
        _drop(fields, (*names.TARGETS, *names.HTTP_ONLY, *names.TASK_ONLY, "timeout_seconds"))
    for name, usual, other in (
        ("retry_on", codes.RETRY, "success_on"),
        ("success_on", codes.SUCCESS, "retry_on"),
    ):
        # The usual list, which nobody wrote, gives way to the other.
        if getattr(definition, name) == usual and other in changes:
            _drop(fields, (name,))
    if changes.get("payload") is not None:
        _drop(fields, ("body",))
    if changes.get("body") is not None:
        _drop(fields, ("payload",))
    return {**fields, **changes}


def _draft(values: Values) -> dict[str, Any]:
    """Every field that stands for itself."""
    in_zone = when.read_zone(values)
    task = values.given("job_type")
    draft: dict[str, Any] = {
        "description": values.text("description", most=MAX_DESCRIPTION, default="", lines=True),
        "tags": values.tags("tags"),
        "timezone": in_zone.name,
        "start_at": values.instant("start_at", in_zone),
        "end_at": values.instant("end_at", in_zone),
        "max_firings": values.integer("max_firings", low=1, high=1_000_000_000, default=None),
        "payload": values.json("payload"),
        "idempotency_key": _idempotency_key(values),
        "misfire_policy": values.choice("misfire_policy", MisfirePolicy, "fire_late"),
        "misfire_cap": values.integer("misfire_cap", low=1, high=1_000, default=10),
        "misfire_grace": _duration(values, "misfire_grace", 0, 30 * _DAY, 60),
        "misfire_window": _duration(values, "misfire_window", 1, 366 * _DAY, _DAY),
        "overlap_policy": values.choice("overlap_policy", OverlapPolicy, "skip"),
        "delivery": values.choice("delivery", Delivery, "at_least_once"),
        "timeout_seconds": values.seconds(
            "timeout_seconds", low=0.1, high=7 * _DAY if task else 3600, default=0
        ),
        "max_attempts": values.integer("max_attempts", low=1, high=25, default=3),
        "retry_window": _duration(values, "retry_window", 0, 30 * _DAY, _DAY),
        "backoff": values.choice("backoff", BackoffShape, "exponential"),
        "priority": values.integer("priority", low=0, high=9, default=5),
        "jitter_seconds": values.seconds("jitter_seconds", low=0, high=_DAY, default=0),
        "fire_window_seconds": values.seconds("fire_window_seconds", low=0, high=_DAY, default=0),
        "capture": values.choice("capture", Capture, "all"),
        "enabled": values.flag("enabled", default=True),
    }
    _backoff(values, draft)
    return draft


def _duration(values: Values, name: str, low: int, high: int, default: int) -> timedelta:
    return values.duration(
        name,
        low=timedelta(seconds=low),
        high=timedelta(seconds=high),
        default=timedelta(seconds=default),
    )


def _backoff(values: Values, draft: dict[str, Any]) -> None:
    delay = _duration(values, "backoff_delay", 0, _DAY, 5)
    # A long delay alone must not be at odds with a limit that nobody wrote.
    most = _duration(values, "backoff_max", 0, 7 * _DAY, max(3600, delay // timedelta(seconds=1)))
    if most < delay:
        values.refuse("backoff_max", f"at least the backoff_delay, {durations.compact(delay)}")
    draft["backoff_delay"], draft["backoff_max"] = delay, most


def _idempotency_key(values: Values) -> str | None:
    key = values.text("idempotency_key", most=MAX_IDEMPOTENCY_KEY, default=None)
    if key is not None and not key.isascii():
        values.refuse("idempotency_key", "ASCII, since it is sent as a header")
    return key


def _name(values: Values, draft: dict[str, Any], trigger: Trigger | None) -> None:
    """Name and key: either stands for the other."""
    name = values.text("name", most=MAX_NAME, default=None)
    key = values.text("key", most=MAX_KEY, default=None)
    if not values.given("name") and not values.given("key"):
        values.problem("name", "expected a name, or a key, got neither")
    if key is None and name is not None and trigger is not None:
        key = _short(schedule_key(name, trigger))
    draft["name"] = name or (key or "")[:MAX_NAME]
    draft["key"] = key or ""


def _short(key: str) -> str:
    """The key itself, or for one that is too long, its beginning and a digest of it all."""
    if len(key) <= MAX_KEY:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    return f"{key[: MAX_KEY - 33]}~{digest}"


# Whom it calls.


def read_target(values: Values, draft: dict[str, Any]) -> None:
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
        "async_timeout_seconds", low=1, high=7 * _DAY, default=ASYNC_TIMEOUT_SECONDS
    )
    draft |= {
        "target_url": url,
        "method": target.method,
        "headers": dict(target.headers),
        "body": target.body,
    }


def _permitted(values: Values, draft: dict[str, Any], targets: TargetPolicy) -> None:
    """Note what the operator does not let be called, as far as an address tells."""
    url, stream = draft.get("target_url"), draft.get("stream")
    if url is not None and (wrong := targets.wrong_with_url(url)):
        values.problem("target_url", wrong)
    if stream is not None and (wrong := StreamTarget.read(stream).wrong_by(targets)):
        values.problem("stream", wrong)
    for at, step in enumerate(draft.get("steps") or ()):
        for place, call in ((f"steps[{at}]", step), (f"steps[{at}].compensate", step.compensate)):
            own = Values({})
            _permitted(own, {} if call is None else call.call, targets)
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


# Written again.


def _drop(fields: dict[str, Any], dropped: tuple[str, ...]) -> None:
    for name in dropped:
        fields.pop(name, None)


def _written(value: Any) -> Any:
    if type(value) in _AS_THEY_ARE:
        return value
    if isinstance(value, timedelta):
        return durations.compact(value)
    if isinstance(value, datetime):
        return when.show_instant(value)
    if isinstance(value, tuple):
        each_of = cast("tuple[Any, ...]", value)
        return [each if type(each) in _AS_THEY_ARE else _written(each) for each in each_of]
    write_as = _WRITERS.get(type(cast("object", value)))
    return value if write_as is None else write_as(value)


_WRITERS: dict[type, Callable[[Any], Any]] = {
    after.After: after.written,
    monitor.Monitor: monitor.written,
    steps.Step: steps.written,
}


def restated(new: Definition, old: Definition) -> Definition:
    """The same, without a queue that only says again what is shown of one that was not given.

    Whoever sends back what was read must not pin a task to `default` by it.
    """
    if old.queue is None and new.queue == DEFAULT_QUEUE and new.job_type == old.job_type:
        return msgspec.structs.replace(new, queue=None)
    return new


def _compared(definition: Definition) -> Definition:
    task = definition.job_type is not None and definition.queue is None
    queue = DEFAULT_QUEUE if task else definition.queue
    return msgspec.structs.replace(definition, enabled=True, queue=queue)


def same(one: Definition, other: Definition) -> bool:
    """Whether nothing has changed but how it should begin, as far as it is shown."""
    # The payload once more, as JSON: to Python {"on": 1} and {"on": true} are equal.
    return (
        _compared(one) == _compared(other)
        and same_json(one.payload, other.payload)
        and (one.steps is None or same_json(write(one)["steps"], write(other)["steps"]))
    )
