"""A schedule that calls nothing and waits for pings: a dead-man's switch. Pure.

It expects a ping for each slot of a trigger, and has a grace. Time is cut into windows, one for
each slot: from the deadline of the slot before, which is outside, to the slot's own deadline, which
is inside; a deadline is the slot and the grace. A ping counts for the slot whose window it is in,
early or late, and the first ping in a window decides. So every instant is in one window, also where
the grace is longer than the time between two slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from rota import durations
from rota.triggers.count import slots_within
from rota.triggers.interval import Interval
from rota.triggers.never import Never
from rota.triggers.parse import parse

if TYPE_CHECKING:
    from rota.schedules.values import Values
    from rota.triggers.trigger import Trigger

USUAL_GRACE: Final = timedelta(minutes=5)
MAX_GRACE: Final = timedelta(days=30)
MAX_EXPECT: Final = 2_000

_TICK = timedelta(microseconds=1)


class Monitor(msgspec.Struct, frozen=True, kw_only=True):
    """When pings are expected (cron, an interval or English), and how late one may be."""

    expect: str | int | float
    grace: timedelta = USUAL_GRACE


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected next: the slot, and the last instant of its window."""

    slot: datetime
    deadline: datetime


@dataclass(frozen=True, slots=True)
class Overdue:
    """Slots without a ping whose windows have ended, as one run; and what is expected next."""

    first: datetime
    last: datetime
    count: int
    following: Expected | None


def read(values: Values, name: str) -> Monitor | None:
    """The field `monitor`: an object with expect and, unless the usual will do, grace."""
    given = values.raw(name)
    if not isinstance(given, dict):
        values.refuse(name, 'an object such as {"expect": "every day at 3am", "grace": "1h"}')
        return None
    fields = cast("dict[str, Any]", given)
    expect = fields.get("expect")
    if unknown := sorted(set(fields) - {"expect", "grace"}):
        values.problem(name, f"expected only expect and grace, got {', '.join(unknown)[:100]}")
    elif isinstance(expect, bool) or not isinstance(expect, str | int | float):
        values.problem(name, 'expected expect to be cron, an interval or English, such as "1h"')
    elif isinstance(expect, str) and not 0 < len(expect.strip()) <= MAX_EXPECT:
        values.problem(name, f"expected expect to have 1 to {MAX_EXPECT:,} characters")
    else:
        grace = _grace(values, name, fields.get("grace"))
        return None if grace is None else Monitor(expect=expect, grace=grace)
    return None


def written(monitor: Monitor) -> dict[str, object]:
    """As `read` takes it."""
    return {"expect": monitor.expect, "grace": durations.compact(monitor.grace)}


def never(expected: Trigger) -> Never:
    """It has no slots at which anything is called."""
    words = "when a ping that it waits for does not come"
    return Never(f"monitor:{expected.signature}", words, expected.timezone)


def slots(monitor: Monitor, timezone: str | None, anchor_at: datetime) -> Trigger:
    """The slots for which pings are expected.

    Intervals count from the anchor, which is no slot: nobody was waiting for a ping then.
    """
    expect = monitor.expect
    if isinstance(expect, str):
        trigger = parse(expect, timezone, now=anchor_at)
    else:
        trigger = Interval.parse(expect, timezone or "UTC")
    if isinstance(trigger, Interval) and trigger.anchor is None:
        return trigger.anchored(anchor_at, is_slot=False)
    return trigger


def expected_after(trigger: Trigger, grace: timedelta, instant: datetime) -> Expected | None:
    """The first slot after the instant: what is expected by who begins to wait then."""
    slot = trigger.next_after(instant)
    return None if slot is None else Expected(slot, slot + grace)


def slot_of(trigger: Trigger, grace: timedelta, ping_at: datetime) -> datetime | None:
    """The slot whose window the instant is in; None when no slot is left."""
    return trigger.next_after(ping_at - grace - _TICK)


def overdue(trigger: Trigger, grace: timedelta, slot: datetime, now: datetime) -> Overdue:
    """What is missed of an expected slot whose window has ended, and of all that followed it."""
    newest = trigger.previous_before(now - grace)
    last = slot if newest is None else max(slot, newest)
    return Overdue(
        first=slot,
        last=last,
        count=1 + slots_within(trigger, slot, last),
        following=expected_after(trigger, grace, last),
    )


def _grace(values: Values, name: str, given: object) -> timedelta | None:
    if given is None:
        return USUAL_GRACE
    try:
        if isinstance(given, str):
            length = durations.parse(given)
        elif isinstance(given, int | float) and not isinstance(given, bool):
            length = timedelta(seconds=given)
        else:
            length = given if isinstance(given, timedelta) else timedelta(-1)
    except (durations.InvalidDuration, OverflowError, ValueError):
        length = timedelta(-1)
    if timedelta() <= length <= MAX_GRACE:
        return length
    most = durations.compact(MAX_GRACE)
    values.problem(name, f'expected grace to be a length of time from 0s to {most}, such as "1h"')
    return None
