"""The part of an API's object that says when: zone, trigger and limits. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rota import durations
from rota.errors import InvalidInput
from rota.schedules import after, monitor, names
from rota.schedules.definition import Definition
from rota.schedules.errors import Problem
from rota.schedules.next_slot import gap_below
from rota.triggers import warnings
from rota.triggers.at import At
from rota.triggers.limits import Limited
from rota.triggers.never import is_timed
from rota.triggers.parse import parse
from rota.triggers.zones import Zone, zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.schedules.values import Values
    from rota.triggers.calendars import Days
    from rota.triggers.trigger import Trigger

MAX_TRIGGER = 4_000
_LIKE_MILLISECONDS = 10_000
"""From here on, whole thousands of seconds may be milliseconds by mistake."""


def read_zone(values: Values) -> Zone:
    """The zone that was given; UTC when none was, or none that there is."""
    name = values.text("timezone", most=64, default="UTC")
    try:
        return zone(name)
    except InvalidInput as error:
        values.problems.append(Problem("timezone", error.message))
        return zone("UTC")


def read_trigger(
    values: Values, draft: dict[str, Any], now: datetime, *, days: Days | None = None
) -> Trigger | None:
    """The trigger, on its calendar's days; None when there is none, or a problem with it."""
    if not values.exactly_one(names.TRIGGERS, "when it fires"):
        return None
    kind = next(name for name in names.TRIGGERS if values.given(name))
    if not _keep_trigger(values, kind, draft):
        return None
    if kind in names.UNTIMED:
        _refuse_limits(values, kind)
    bad_zone = any(problem.field == "timezone" for problem in values.problems)
    try:
        if kind in {"text", "monitor"} and not values.given("timezone"):
            # Only a text can name its own zone, and then there must be no other beside it.
            draft["timezone"] = _own_zone(draft[kind], now)
        return Definition(name="", key="", **_of_trigger(draft)).trigger(now, days)
    except InvalidInput as error:
        # A cron field is called "minutes" where it is read; its owner calls it cron_expr.
        field = error.field if error.field in names.FRAME else kind
        if not (bad_zone and field == "timezone"):
            values.problems.append(Problem(field, error.message))
        return None


def written_warnings(values: Values, draft: Mapping[str, Any]) -> list[str]:
    """What there is to say about the way it is written, which is not stored."""
    return [*_instant_warnings(values, draft), *_number_warnings(values, draft)]


def _number_warnings(values: Values, draft: Mapping[str, Any]) -> list[str]:
    """Seconds that may have been meant as milliseconds, as other schedulers count."""
    monitored = draft.get("monitor")
    number = values.raw("interval") if monitored is None else monitored.expect
    if isinstance(number, bool) or not isinstance(number, int | float):
        return []
    if number < _LIKE_MILLISECONDS or number % 1_000:
        return []
    length = durations.words(timedelta(seconds=number))
    return [f'{number:.0f} is read as seconds: {length}. For milliseconds, write "{number:.0f}ms".']


def _instant_warnings(values: Values, draft: Mapping[str, Any]) -> list[str]:
    """A `run_at` on the wall clock that clocks skip or read twice."""
    text = values.raw("run_at")
    if not isinstance(text, str):
        return []
    # Read again as it was written: what is stored is the instant alone.
    at = At.parse(text, draft["timezone"])
    return warnings.warnings(at, after=at.instant)


def _keep_trigger(values: Values, kind: str, draft: dict[str, Any]) -> bool:
    """Put the trigger into the draft as it was written; False when it is not of the right type."""
    if kind == "after":
        draft[kind] = after.read(values, kind)
    elif kind == "monitor":
        draft[kind] = monitor.read(values, kind)
    elif kind == "on_demand":
        draft[kind] = _on_demand(values)
    elif kind == "run_at":
        draft[kind] = values.instant(kind, zone(draft["timezone"]))
    elif kind == "interval" and not isinstance(values.raw(kind), str):
        number = values.raw(kind)
        if isinstance(number, timedelta):
            number = number.total_seconds()
        if isinstance(number, bool) or not isinstance(number, int | float):
            values.refuse(kind, 'a length of time such as "5m", "PT5M" or 300 seconds')
            return False
        draft[kind] = number
    else:
        draft[kind] = values.text(
            kind, most=MAX_TRIGGER, default=None, lines=kind in {"rrule", "text"}
        )
    return draft[kind] is not None


def _own_zone(given: str | monitor.Monitor, now: datetime) -> str:
    if isinstance(given, monitor.Monitor):
        return monitor.slots(given, None, now).timezone
    return parse(given, now=now).timezone


def _on_demand(values: Values) -> bool | None:
    if values.raw("on_demand") is not True:
        values.refuse("on_demand", "true, or another trigger in its place")
        return None
    return True


def _refuse_limits(values: Values, kind: str) -> None:
    """Limits are of slots, and it has none."""
    for name in names.LIMITS:
        if values.given(name):
            values.problem(name, f"expected none beside {kind}, which has no slots to limit")


def _of_trigger(draft: dict[str, Any]) -> dict[str, Any]:
    return {name: draft[name] for name in (*names.TRIGGERS, *names.FRAME) if name in draft}


def expected(draft: dict[str, Any], now: datetime, days: Days | None) -> Trigger | None:
    """The slots for which a monitor expects pings; None for what is no monitor."""
    if draft.get("monitor") is None:
        return None
    return Definition(name="", key="", **_of_trigger(draft)).expected(now, days)


def read_next_slot(
    values: Values, trigger: Trigger, now: datetime, *, require_future: bool
) -> datetime | None:
    slot = trigger.next_after(now)
    if slot is None and require_future and is_timed(trigger):
        kind = next(name for name in names.TRIGGERS if values.given(name))
        values.problems.append(Problem(kind, no_future(trigger, now)))
    return slot


def no_future(trigger: Trigger, now: datetime) -> str:
    """What to say of a trigger that has no slot left."""
    ends = ""
    if isinstance(trigger, Limited) and trigger.end_at is not None:
        ends = f" until {show_instant(trigger.end_at)}"
    return (
        f"No upcoming schedule found: {trigger.signature[:200]} has no slot "
        f"after {show_instant(now)}{ends}"
    )


def check_min_interval(
    values: Values, trigger: Trigger, min_interval: timedelta, now: datetime
) -> None:
    gap = gap_below(trigger, min_interval, after=now)
    if gap is not None:
        kind = next(name for name in names.TRIGGERS if values.given(name))
        values.problem(
            kind,
            f"expected at least {durations.words(min_interval)} between firings, "
            f"as the tenant may have, got {durations.words(gap)}",
        )


def is_the_texts_own_zone(definition: Definition) -> bool:
    """Whether the zone was named by the text, and so goes when the text does."""
    if definition.text is None:
        return False
    try:
        own = parse(definition.text, now=datetime(2000, 1, 1, tzinfo=UTC)).timezone
    except InvalidInput:
        return False
    return own == definition.timezone


def show_instant(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
