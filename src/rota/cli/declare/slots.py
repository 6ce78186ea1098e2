"""Which fire times a plan makes appear and disappear, within the next days. Pure.

Counts are exact up to `until`. Slots are those of the triggers: jitter moves none of them here, and
firings that `max_firings` has already used up are not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from rota.triggers.at import At
from rota.triggers.interval import Interval
from rota.triggers.never import is_timed
from rota.triggers.preview import innermost, local_time
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rota.cli.declare.plan import Plan
    from rota.cli.declare.standing import Standing
    from rota.cli.declare.wanted import Wanted
    from rota.schedules.definition import Definition
    from rota.triggers.calendars import Days
    from rota.triggers.trigger import Trigger

SHOWN = 24
"""How many are shown of each list."""
COUNTED = 11_000
"""How many are counted for one schedule, before and after each."""
BUDGET = 400_000
"""How many are worked out for a whole plan: a person is waiting for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Instants in UTC and the zone they are read in: the first of them, and how many there are."""

    timezone: str
    count: int
    first: tuple[datetime, ...]

    def local(self) -> list[datetime]:
        """The wall clock's readings, with their offsets."""
        in_zone = zone(self.timezone)
        return [local_time(each, in_zone) for each in self.first]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What a change does to the fire times of one schedule."""

    appear: Slots
    disappear: Slots
    kept: int
    """How many there are before and after."""
    is_timed: bool
    """Whether it has fire times at all; not what runs after another, or on demand."""
    until: datetime
    """Up to here, which is earlier than asked for where there are very many."""
    is_cut: bool


@dataclass(frozen=True, slots=True)
class _Line:
    """The slots of one side, and the zone they are read in."""

    trigger: Trigger | None
    timezone: str
    most: int | None = None


def shifts(
    plan: Plan, *, now: datetime, days: int, calendars: Mapping[str, Days]
) -> dict[str, Shift]:
    """By key, for everything that the plan creates, changes or removes; empty for no days.

    `calendars` are those that the plan names, with what they leave out.

    A plan with very many slots gets no further than the budget; those after it are left out.
    """
    pairs = chain(
        ((each.key, None, each) for each in plan.creates),
        ((each.key, each.standing, each.wanted) for each in plan.changes if each.moves_slots),
        ((each.key, each, None) for each in plan.removals),
    )
    found: dict[str, Shift] = {}
    spent = 0
    for key, standing, wanted in pairs:
        if days <= 0 or spent > BUDGET:
            break
        before = _before(standing, now, calendars)
        after = _after(wanted, standing, now, calendars)
        found[key], used = _shift(before, after, now=now, until=now + timedelta(days=days))
        spent += used
    return found


def _shift(before: _Line, after: _Line, *, now: datetime, until: datetime) -> tuple[Shift, int]:
    old, old_until = _within(before, now, until)
    new, new_until = _within(after, now, until)
    reach = min(old_until, new_until)
    was, will_be = set(old), set(new)
    shift = Shift(
        appear=_slots([s for s in new if s not in was and s <= reach], after.timezone),
        disappear=_slots([s for s in old if s not in will_be and s <= reach], before.timezone),
        kept=sum(1 for s in new if s in was and s <= reach),
        is_timed=_is_timed(before) or _is_timed(after),
        until=reach,
        is_cut=reach < until,
    )
    return shift, len(old) + len(new)


def _is_timed(line: _Line) -> bool:
    return line.trigger is not None and is_timed(line.trigger)


def _slots(instants: list[datetime], timezone: str) -> Slots:
    return Slots(timezone=timezone, count=len(instants), first=tuple(instants[:SHOWN]))


def _within(line: _Line, now: datetime, until: datetime) -> tuple[list[datetime], datetime]:
    """The slots up to an instant, and up to where they are all there."""
    found: list[datetime] = []
    for slot in _walk(line, now):
        if slot > until:
            break
        if len(found) == COUNTED:
            return found, found[-1]
        found.append(slot)
    return found, until


def _walk(line: _Line, now: datetime) -> Iterator[datetime]:
    if line.trigger is None:
        return
    slot = line.trigger.next_after(now)
    left = line.most
    while slot is not None and left != 0:
        yield slot
        left = None if left is None else left - 1
        slot = line.trigger.next_after(slot)


def _before(standing: Standing | None, now: datetime, calendars: Mapping[str, Days]) -> _Line:
    """As it is: nothing while it is paused or has ended."""
    if standing is None:
        return _Line(None, "UTC")
    timezone = str(standing.written.get("timezone", "UTC"))
    definition = standing.definition(now)
    upcoming = standing.next_fire_at
    if standing.status != "active" or definition is None or upcoming is None:
        return _Line(None, timezone)
    # What it was counted from is the server's own affair, but its next slot tells enough.
    days = calendars.get(definition.calendar or "")
    trigger = definition.trigger(now, days)
    kind = innermost(trigger)
    if isinstance(kind, At):
        return _Line(At(upcoming, timezone), timezone)
    if isinstance(kind, Interval) and definition.start_at is None:
        trigger = definition.trigger(upcoming, days)
    return _line(trigger, definition)


def _after(
    wanted: Wanted | None,
    standing: Standing | None,
    now: datetime,
    calendars: Mapping[str, Days],
) -> _Line:
    """As it will be when it is carried out now."""
    if wanted is None:
        return _Line(None, "UTC")
    definition = wanted.definition
    paused = standing is not None and standing.status == "paused"
    if wanted.enabled is False or (wanted.enabled is None and paused):
        return _Line(None, definition.timezone)
    days = calendars.get(definition.calendar or "")
    return _line(definition.trigger(now, days), definition)


def _line(trigger: Trigger, definition: Definition) -> _Line:
    return _Line(trigger, definition.timezone, definition.max_firings)
