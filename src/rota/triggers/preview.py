"""The slots to come: on the wall clock, in UTC, and with a note where a clock change matters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from datetime import timezone as fixed_offset
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from rota import durations
from rota.triggers.calendars import Filtered
from rota.triggers.civil import floor_second, instant_at
from rota.triggers.cron import Cron
from rota.triggers.limits import Limited
from rota.triggers.zones import Zone, zone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rota.triggers.trigger import Trigger

MAX_COUNT = 10_000
#: How many dates that are left out a note names.
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class Slot:
    """One instant, and what there is to say about it."""

    instant: datetime
    local: datetime
    note: str | None = None


def slots(trigger: Trigger, *, after: datetime, count: int) -> list[datetime]:
    """The next instants, at most so many; no more than the trigger's own limit, if it has one."""
    return list(_slots(trigger, after, count))


def _slots(trigger: Trigger, after: datetime, count: int) -> Iterator[datetime]:
    most = min(count, MAX_COUNT)
    if isinstance(trigger, Limited) and trigger.max_firings is not None:
        most = min(most, trigger.max_firings)
    slot = trigger.next_after(after)
    for _ in range(most):
        if slot is None:
            return
        yield slot
        slot = trigger.next_after(slot)


def preview(trigger: Trigger, *, after: datetime, count: int) -> list[Slot]:
    """The next slots with the wall clock's reading, and a note at every clock change."""
    return list(each_slot(trigger, after=after, count=count))


def each_slot(trigger: Trigger, *, after: datetime, count: int) -> Iterator[Slot]:
    """The same, one at a time: 10,000 of them take a while."""
    in_zone = zone(trigger.timezone)
    cron = innermost(trigger)
    filtered = _filtered(trigger)
    for before, slot in pairwise(chain((after,), _slots(trigger, after, count))):
        notes = _notes(before, slot, in_zone)
        if filtered is not None:
            notes += _left_out(filtered, before, slot)
        if isinstance(cron, Cron):
            notes += _moved(cron, floor_second(slot))
        yield Slot(slot, local_time(slot, in_zone), "; ".join(notes) or None)


def innermost(trigger: Trigger) -> Trigger:
    """The trigger beneath its limits and calendars."""
    while isinstance(trigger, Limited | Filtered):
        trigger = trigger.trigger
    return trigger


def _filtered(trigger: Trigger) -> Filtered | None:
    while isinstance(trigger, Limited):
        trigger = trigger.trigger
    return trigger if isinstance(trigger, Filtered) else None


def _left_out(filtered: Filtered, before: datetime, slot: datetime) -> list[str]:
    """Which dates since the slot before have none because of the calendar, and why."""
    dates = list(islice(filtered.left_out(before, slot), MAX_NAMED + 1))
    if not dates:
        return []
    said = [_named(each, filtered.calendar.reason(each)) for each in dates[:MAX_NAMED]]
    if len(dates) > MAX_NAMED:
        said.append("others")
    return [f"left out: {', '.join(said)}"]


def _named(local_date: date, reason: str) -> str:
    return f"{local_date.isoformat()} ({reason})" if reason else local_date.isoformat()


def local_time(instant: datetime, in_zone: Zone) -> datetime:
    """The wall clock's reading, with its offset."""
    offset = in_zone.offset_at(floor_second(instant))
    return instant.astimezone(fixed_offset(timedelta(seconds=offset)))


def _notes(before: datetime, slot: datetime, in_zone: Zone) -> list[str]:
    """What a clock change does to this slot, or did since the one before."""
    second = floor_second(slot)
    stretch = in_zone.stretch_at(second)
    notes: list[str] = []
    # There and back again between two slots is nobody's concern: both read the same offset.
    if in_zone.offset_at(floor_second(before)) != in_zone.offsets[stretch]:
        notes.append(_change(in_zone, stretch))
    return notes + _repeated(in_zone, stretch, second)


def _change(in_zone: Zone, stretch: int) -> str:
    """Clocks go forward 1h on 2025-03-09: 02:00 becomes 03:00."""
    moved = in_zone.offsets[stretch] - in_zone.offsets[stretch - 1]
    way = "forward" if moved > 0 else "back"
    length = durations.compact(timedelta(seconds=abs(moved)))
    read = instant_at(in_zone.local_end(stretch - 1))
    to = instant_at(in_zone.local_start(stretch))
    becomes = f"{to:%H:%M}" if to.date() == read.date() else f"{to:%Y-%m-%d %H:%M}"
    return f"clocks go {way} {length} on {read:%Y-%m-%d}: {read:%H:%M} becomes {becomes}"


def _repeated(in_zone: Zone, stretch: int, second: int) -> list[str]:
    """Whether the wall clock reads this time twice, and which time this is."""
    local = second + in_zone.offsets[stretch]
    if local < in_zone.reached[stretch]:
        return [f"the second {instant_at(local):%H:%M} of the day"]
    following = stretch + 1
    if following < len(in_zone.starts) and local >= in_zone.local_start(following):
        return [f"the first of two {instant_at(local):%H:%M}"]
    return []


def _moved(cron: Cron, second: int) -> list[str]:
    """Whether the slot stands for a time that the wall clock skips."""
    clock = cron.zone
    stretch = clock.stretch_at(second)
    local = second + clock.offsets[stretch]
    if not clock.gap_before(stretch) or second != clock.starts[stretch]:
        return []
    if cron.pattern.first_from(local) == local:
        return []
    nominal = cron.pattern.first_from(clock.reached[stretch])
    return [] if nominal is None else [f"{instant_at(nominal):%H:%M} does not exist that day"]
