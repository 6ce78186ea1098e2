"""The jobs of APScheduler 3 as schedules of Rota tasks.

In its cron triggers Monday is 0, every field must match, and what is less significant than the
first field given begins at its lowest value: all of that is read from the trigger itself.
"""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from rota import durations
from rota.clock import SystemClock
from rota.library import naming
from rota.library.importers.apscheduler_cron import pattern_of
from rota.library.importers.imported import Imported, NotTaken, arguments
from rota.library.importers.patterns import Inexpressible, trigger

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

USUAL_GRACE: Final = 1
"""Seconds: what APScheduler lets a run be late by unless it is told otherwise."""
_LONGEST: Final = timedelta(days=366)
_USUAL_MISFIRE_GRACE: Final = timedelta(seconds=60)
_DRAWN = re.compile(r"[0-9a-f]{32}")


def from_apscheduler(
    scheduler_or_jobs: Any, *, now: datetime | None = None, queue: str | None = None
) -> Imported:
    """Schedules of a scheduler's jobs, or of jobs; each calls the Rota task of the job's function.

    A job's id is the schedule's key; one that APScheduler drew itself, which changes at every
    start, gives way to the function's name. Decorate the functions with `@rota.task`.
    """
    done = Imported()
    now = now or SystemClock().now()
    defaults: Mapping[str, Any] = getattr(scheduler_or_jobs, "_job_defaults", {})
    given = list(_jobs(scheduler_or_jobs))
    used = {str(each.id) for each in given}
    for each in given:
        name = str(each.name if _DRAWN.fullmatch(str(each.id)) else each.id)
        try:
            fields, notes = _fields(each, defaults, used)
            triggers = list(_triggers(each.trigger))
        except (NotTaken, Inexpressible) as problem:
            done.refuse(name, problem)
            continue
        if len(triggers) > 1:
            notes.append(f"its {len(triggers)} triggers become as many schedules")
        before = len(done.schedules)
        for number, when in enumerate(triggers, 1):
            apart = {} if number == 1 else {"key": f"{fields['key']}-{number}"}
            done.take(name, {**fields, **apart, "queue": queue, **when}, now)
        if len(done.schedules) > before:
            done.note(name, notes)
    return done


def _jobs(given: Any) -> Iterable[Any]:
    return given.get_jobs() if hasattr(given, "get_jobs") else given


def _fields(
    each: Any, defaults: Mapping[str, Any], used: set[str]
) -> tuple[dict[str, Any], list[str]]:
    """All but when, and what will be different."""
    task = _task(each)
    notes: list[str] = []
    fields: dict[str, Any] = {
        "key": _key(each, used),
        "name": str(each.name)[:200],
        "job_type": task,
        "payload": arguments(each.args, each.kwargs),
        # Only a job that was added to a running scheduler has it, and None is for paused.
        "enabled": False if getattr(each, "next_run_time", "to come") is None else None,
        "jitter_seconds": getattr(each.trigger, "jitter", None),
        **_lateness(each, defaults, notes),
    }
    most = _option(each, "max_instances", defaults, 1)
    if most > 1:
        fields["overlap_policy"] = "allow"
        notes.append(f"max_instances={most} becomes overlap_policy allow, which has no number")
    if fields["jitter_seconds"]:
        notes.append("its jitter is drawn once for the schedule, and not at every run")
    executor = getattr(each, "executor", "default")
    if executor != "default":
        notes.append(f"its executor {executor!r} is not taken over: see runs_in= and queue=")
    return fields, notes


def _task(each: Any) -> str:
    function = each.func
    name = naming.task_name(function)
    if name is None or "<" in getattr(function, "__qualname__", "<"):
        raise NotTaken(
            "its function is a lambda, a partial or inside another function, which no other "
            "process can import: give it a name at the top of a module"
        )
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, type | ModuleType):
        raise NotTaken(
            f"its function is a method of an object ({type(owner).__name__}), which only this "
            "process has: make it a function that finds its object"
        )
    return name


def _key(each: Any, used: set[str]) -> str:
    """Its id; of one that was drawn, a name that no other has."""
    if not _DRAWN.fullmatch(str(each.id)):
        return str(each.id)
    name = naming.function_name(each.func) or str(each.id)
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    key = next(key for key in itertools.chain([name], numbered) if key not in used)
    used.add(key)
    return key


def _lateness(each: Any, defaults: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Coalescing is firing the most recent one; what is later than its grace is not fired."""
    coalesce = _option(each, "coalesce", defaults, True)
    grace: float | None = _option(each, "misfire_grace_time", defaults, USUAL_GRACE)
    fields: dict[str, Any] = {"misfire_policy": "fire_most_recent" if coalesce else "fire_late"}
    if not coalesce:
        fields["misfire_cap"] = 1000
    if grace == USUAL_GRACE:
        notes.append(
            "misfire_grace_time is APScheduler's usual second, which loses runs at every restart: "
            "Rota's usual day is used"
        )
        return fields
    window = _LONGEST if grace is None else timedelta(seconds=max(grace, 1))
    fields["misfire_window"] = durations.compact(window)
    fields["misfire_grace"] = durations.compact(min(window, _USUAL_MISFIRE_GRACE))
    return fields


def _option(each: Any, name: str, defaults: Mapping[str, Any], usual: Any) -> Any:
    """Of a job that waits for its scheduler to start, what was not said is not there yet."""
    return getattr(each, name, defaults.get(name, usual))


def _triggers(given: Any) -> Iterator[dict[str, Any]]:
    """The fields that say when; of several triggers that are joined by "or", each by itself."""
    kind = type(given).__name__
    match kind:
        case "CronTrigger":
            yield {**trigger(pattern_of(given)), **_limits(given)}
        case "IntervalTrigger":
            seconds = given.interval.total_seconds()
            every = int(seconds) if seconds.is_integer() else seconds
            limits = _limits(given)
            if given.start_date.microsecond:
                # Nobody said it: it is when the program started, and another at every start.
                limits["start_at"] = None
            yield {"interval": every, **limits}
        case "DateTrigger":
            yield {"run_at": _instant(given.run_date)}
        case "OrTrigger":
            for each in given.triggers:
                yield from _triggers(each)
        case "AndTrigger":
            raise NotTaken("it fires when all of several triggers agree, which Rota cannot say")
        case "CalendarIntervalTrigger":
            raise NotTaken("calendar intervals are not read: say it as an RRULE")
        case _:
            raise NotTaken(f"its trigger, {kind}, is not one of APScheduler 3's own")


def _limits(given: Any) -> dict[str, Any]:
    return {
        "timezone": str(given.timezone),
        "start_at": given.start_date and _instant(given.start_date),
        "end_at": given.end_date and _instant(given.end_date),
    }


def _instant(given: datetime) -> str:
    return given.astimezone(UTC).isoformat().replace("+00:00", "Z")
