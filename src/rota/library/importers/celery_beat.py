"""The entries of Celery's `beat_schedule` as schedules: of the Celery tasks, or of Rota tasks.

In a crontab of Celery's every field must match: a day of the month *and* a day of the week, where
cron takes either. Such ones become RRULEs.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rota.clock import SystemClock
from rota.library.importers.imported import Imported, NotTaken, arguments, require_json
from rota.library.importers.patterns import Inexpressible, Pattern, trigger
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Mapping

To = Literal["celery", "rota"]

_UNITS: Final = (86_400, 3_600, 60)
"""What `relative` rounds to: the largest that fits into the interval."""


def from_celery_beat(
    app_or_schedule: Any,
    *,
    to: To = "celery",
    timezone: str | None = None,
    now: datetime | None = None,
) -> Imported:
    """Schedules of a Celery application's `beat_schedule`, or of such a mapping itself.

    `to="celery"` has Rota send the tasks to the workers that there are; `to="rota"` calls Rota
    tasks of the same names, for functions that are decorated with `@rota.task` now. Times are in
    the application's zone, or in `timezone`.
    """
    done = Imported()
    now = now or SystemClock().now()
    entries, usual_queue, own_zone = _read(app_or_schedule)
    in_zone = timezone or own_zone or "UTC"
    for name, given in entries.items():
        entry = cast("dict[str, Any]", given if isinstance(given, dict) else vars(given))
        try:
            fields, notes = _fields(str(name), entry, to, usual_queue)
            when = _when(entry, in_zone, now, notes)
        except (NotTaken, Inexpressible) as problem:
            done.refuse(str(name), problem)
            continue
        before = len(done.schedules)
        done.take(str(name), {**fields, **when}, now)
        if len(done.schedules) > before:
            done.note(str(name), notes)
    return done


def _read(given: Any) -> tuple[Mapping[Any, Any], str | None, str | None]:
    """The entries, the queue that is usual there, and the zone."""
    if not hasattr(given, "conf"):
        return given, None, None
    return given.conf.beat_schedule or {}, given.conf.task_default_queue, str(given.timezone)


def _fields(
    name: str, entry: Mapping[str, Any], to: To, usual_queue: str | None
) -> tuple[dict[str, Any], list[str]]:
    """All but when, and what will be different."""
    args: tuple[Any, ...] = tuple(entry.get("args") or ())
    kwargs = dict(entry.get("kwargs") or {})
    options = dict(entry.get("options") or {})
    queue = options.pop("queue", None)
    notes = [f"its option {each}={options[each]!r:.40} is not taken over" for each in options]
    task = str(entry["task"])
    fields: dict[str, Any] = {"key": name, "name": name[:200]}
    if to == "rota":
        payload = arguments(args, kwargs)
        return {**fields, "job_type": task, "queue": _text(queue), "payload": payload}, notes
    # A celery_task is given a list or an object, and not both.
    if args and kwargs:
        raise NotTaken(
            "it has args and kwargs, and a celery_task is given one of them: name all its "
            'arguments, or import it as a Rota task (to="rota")'
        )
    require_json("arguments", [*args, kwargs])
    named = kwargs or None
    queue = _text(queue) or usual_queue
    return {**fields, "celery_task": task, "queue": queue, "payload": list(args) or named}, notes


def _text(queue: Any) -> str | None:
    """A queue by its name; kombu's own objects have it."""
    return None if queue is None else str(getattr(queue, "name", queue))


def _when(
    entry: Mapping[str, Any], in_zone: str, now: datetime, notes: list[str]
) -> dict[str, Any]:
    given = entry["schedule"]
    relative = bool(entry.get("relative") or getattr(given, "relative", False))
    if isinstance(given, timedelta | int | float):
        return _interval(_seconds(given), relative, in_zone, now, notes)
    kind = type(given).__name__
    if kind == "crontab":
        return {**trigger(_pattern(given)), "timezone": in_zone}
    if kind == "solar":
        raise NotTaken("it follows the sun (solar), which Rota does not")
    if kind == "schedule":
        return _interval(_seconds(given.run_every), relative, in_zone, now, notes)
    raise NotTaken(f"its schedule, {kind}, is not one of Celery's own")


def _seconds(given: timedelta | float) -> float:
    return given.total_seconds() if isinstance(given, timedelta) else float(given)


def _pattern(given: Any) -> Pattern:
    def values(name: str) -> frozenset[int]:
        return frozenset(cast("set[int]", getattr(given, name)))

    return Pattern(
        minutes=values("minute"),
        hours=values("hour"),
        days=values("day_of_month"),
        months=values("month_of_year"),
        weekdays=values("day_of_week"),
    )


def _interval(
    seconds: float, relative: bool, in_zone: str, now: datetime, notes: list[str]
) -> dict[str, Any]:
    fields: dict[str, Any] = {"interval": int(seconds) if seconds.is_integer() else seconds}
    if not relative:
        notes.append("beat counts from its last run; Rota from when the schedule is made")
        return fields
    unit = next((each for each in _UNITS if seconds >= each), 1)
    if seconds % unit:
        raise NotTaken(
            f"relative rounds its {seconds:g} seconds to {unit}, so that the interval is not kept: "
            "say it as a crontab"
        )
    if unit == 86_400:
        notes.append("its days are of 24 hours each: at a change of clocks they move by an hour")
    clock = zone(in_zone)
    second = floor_second(now)
    local = second + clock.offset_at(second)
    begin = instant_at(second - local % unit)
    return {**fields, "timezone": in_zone, "start_at": begin.isoformat().replace("+00:00", "Z")}
