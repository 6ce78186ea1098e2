"""Reading the field `steps` of an API's object. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from rota.schedules.steps import CALL, MAX_STEPS, Step
from rota.schedules.values import Values
from rota.targets.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    ReadTarget = Callable[[Values, dict[str, Any]], None]
    """Reads the one target that the values have, and all that belongs to it, into a draft."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}", re.ASCII)
_WEEK: Final = 7 * 86_400
_CODES: Final = {"success_on", "retry_on"}


def read(values: Values, name: str, read_target: ReadTarget) -> tuple[Step, ...] | None:
    """The steps; None when something is wrong with them, which is noted."""
    given = values.raw(name)
    listed = cast("list[object]", given) if isinstance(given, list | tuple) else None
    if listed is None or not 1 <= len(listed) <= MAX_STEPS:
        values.problem(name, f"expected a list of 1 to {MAX_STEPS} steps")
        return None
    steps = tuple(
        _step(values, f"{name}[{at}]", each, f"step-{at + 1}", read_target)
        for at, each in enumerate(listed)
    )
    names = [each.name for each in steps]
    for at, each in enumerate(names):
        if each in names[:at]:
            values.problem(f"{name}[{at}].name", f"expected each name once, got {each} again")
    return steps


def _step(values: Values, place: str, given: object, usual: str, read_target: ReadTarget) -> Step:
    fields = _object(values, place, given)
    step_name = fields.get("name") or usual
    if not isinstance(step_name, str) or not _NAME.fullmatch(step_name):
        values.problem(f"{place}.name", "expected up to 60 letters, digits, - and _")
        step_name = usual
    _refuse_unknown(values, place, fields, ("name", "compensate"))
    undo = fields.get("compensate")
    return Step(
        name=step_name,
        **_call(values, place, fields, read_target),
        compensate=None
        if undo is None
        else _compensation(values, f"{place}.compensate", undo, read_target),
    )


def _compensation(values: Values, place: str, given: object, read_target: ReadTarget) -> Step:
    fields = _object(values, place, given)
    _refuse_unknown(values, place, fields, ())
    return Step(**_call(values, place, fields, read_target))


def _object(values: Values, place: str, given: object) -> dict[str, Any]:
    if isinstance(given, dict):
        return cast("dict[str, Any]", given)
    values.problem(place, 'expected an object such as {"target_url": "https://…"}')
    return {}


def _refuse_unknown(
    values: Values, place: str, fields: Mapping[str, Any], more: tuple[str, ...]
) -> None:
    for name in sorted(set(fields) - {*CALL, *more}):
        expected = ", ".join((*more, *CALL))
        values.problem(f"{place}.{name[:60]}", f"expected one of {expected}")


def _call(
    values: Values, place: str, fields: Mapping[str, Any], read_target: ReadTarget
) -> dict[str, Any]:
    """The target and its policies, by the rules of a schedule's own."""
    own = Values({name: value for name, value in fields.items() if name in CALL})
    draft: dict[str, Any] = {}
    read_target(own, draft)
    draft["payload"] = own.json("payload")
    task = own.given("job_type")
    for name, low, high in (
        ("timeout_seconds", 0.1, _WEEK if task else 3600),
        ("async_timeout_seconds", 1, _WEEK),
    ):
        draft[name] = own.seconds(name, low=low, high=high, default=0) or None
    draft["max_attempts"] = own.integer("max_attempts", low=1, high=25, default=None)
    values.problems += [
        Problem(f"{place}.{each.field}", each.message.replace("Invalid ", f"Invalid {place}.", 1))
        for each in own.problems
    ]
    # Only what was given: the rest is as the schedule says, or as is usual. Of the lists of codes
    # each gives way to the other, and Celery's usual queue is not that of tasks.
    kept = {name for name in draft if own.given(name)}
    if kept & _CODES:
        kept |= _CODES
    if "celery_task" in kept:
        kept.add("queue")
    return {name: value for name, value in draft.items() if name in kept}
