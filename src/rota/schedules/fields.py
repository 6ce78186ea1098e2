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
from rota.schedules import after, calendar_field, codes, monitor, names, steps, target_fields, when
from rota.schedules.definition import (
    BackoffShape,
    Capture,
    Definition,
    Delivery,
    MisfirePolicy,
    OverlapPolicy,
)
from rota.schedules.errors import InvalidSchedule
from rota.schedules.values import Values, same_json
from rota.targets import OPEN, TargetPolicy
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
        when.check_cadence(values, slots, min_interval, now)
        next_slot = slot if slots is trigger else None
    _name(values, draft, trigger)
    target_fields.read(values, draft)
    target_fields.permitted(values, draft, targets)
    if values.problems or trigger is None:
        raise InvalidSchedule(tuple(values.problems))
    return Parsed(
        definition=Definition(**draft),
        trigger=trigger,
        next_slot=next_slot,
        warnings=(*warnings(trigger, after=now), *when.instant_warnings(values, draft)),
        given=frozenset(name for name in fields if values.given(name)),
        calendar=calendar,
    )


def write(definition: Definition) -> dict[str, Any]:
    """The fields that `read` makes this definition of, defaults included."""
    target = next((name for name in names.TARGETS if getattr(definition, name) is not None), None)
    other = names.foreign(target)
    fields: dict[str, Any] = {}
    for name in definition.__struct_fields__:
        value = getattr(definition, name)
        if value is not None and name not in other:
            fields[name] = _written(value)
    if definition.steps is not None and not definition.timeout_seconds:
        # Each step has its own, the usual of its kind.
        del fields["timeout_seconds"]
    return fields


def merge(definition: Definition, changes: Mapping[str, object]) -> dict[str, Any]:
    """The fields with some of them changed; null takes one away.

    A trigger or target takes the place of the one there is, with all that belonged to it alone.
    """
    fields = write(definition)
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
    """Name and key: either stands for the other (TR14)."""
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
        return [_written(each) for each in cast("tuple[Any, ...]", value)]
    write_as = _WRITERS.get(type(cast("object", value)))
    return value if write_as is None else write_as(value)


_WRITERS: dict[type, Callable[[Any], Any]] = {
    after.After: after.written,
    monitor.Monitor: monitor.written,
    steps.Step: steps.written,
}


def same(one: Definition, other: Definition) -> bool:
    """Whether nothing has changed but how it should begin."""
    # The payload once more, as JSON: to Python {"on": 1} and {"on": true} are equal.
    return (
        msgspec.structs.replace(one, enabled=True) == msgspec.structs.replace(other, enabled=True)
        and same_json(one.payload, other.payload)
        and (one.steps is None or same_json(write(one)["steps"], write(other)["steps"]))
    )
