"""Once: a single instant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from datetime import timezone as fixed_offset

from rota.errors import InvalidInstant
from rota.triggers.civil import floor_second, instant_at, wall_second
from rota.triggers.zones import Zone, zone

#: An ISO 8601 date, with a time and an offset if there are any. A "T" or spaces stand between.
ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ] ?(\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?))? ?(Z|[+-]\d\d:\d\d)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class At:
    """One slot. The zone is for reading it; the instant alone decides."""

    instant: datetime
    timezone: str = field(default="UTC", compare=False)
    wall: datetime | None = field(default=None, compare=False)
    """The time on the zone's wall clock that it was written as; None if it had an offset."""

    @staticmethod
    def parse(text: str, timezone: str = "UTC") -> At:
        """From ISO 8601; without an offset, the time on the wall clock of the zone."""
        in_zone = zone(timezone)
        instant = parse_instant(text, in_zone)
        match = ISO.fullmatch(text.strip())
        assert match is not None
        date, time, offset = match.groups()
        wall = None if offset else datetime.fromisoformat(f"{date}T{time or '00:00'}")
        return At(instant, in_zone.name, wall)

    def next_after(self, instant: datetime) -> datetime | None:
        floor_second(instant)
        return self.instant if self.instant > instant else None

    def previous_before(self, instant: datetime) -> datetime | None:
        floor_second(instant)
        return self.instant if self.instant < instant else None

    @property
    def signature(self) -> str:
        return f"at:{self.instant.isoformat().replace('+00:00', 'Z')}"


def parse_instant(text: str, in_zone: Zone) -> datetime:
    """The instant, aware and in UTC.

    A time that the wall clock skips stands for the end of the gap; one that it reads twice, for the
    first time.
    """
    match = ISO.fullmatch(text.strip())
    if match is None:
        raise InvalidInstant(
            f'Invalid instant: expected one such as "2027-01-01 09:00" or "2027-01-01T09:00:00Z", '
            f'got "{text[:40]}"'
        )
    date, time, offset = match.groups()
    try:
        wall = datetime.fromisoformat(f"{date}T{time or '00:00'}")
        clock = zone(offset) if offset else in_zone
        instant = first_reading(wall, clock)
    except (ValueError, OverflowError) as problem:
        raise InvalidInstant(f'Invalid instant: {problem}, got "{text[:40]}"') from None
    floor_second(instant)  # Refuses what is outside the calendar.
    return instant


@dataclass(frozen=True, slots=True)
class NamedInstants:
    """The instants that a text names: one, or two where clocks read it twice."""

    instants: tuple[datetime, ...]
    note: str | None = None
    """What to know about a local time that clocks skip or repeat."""


def named(text: str, in_zone: Zone) -> NamedInstants:
    """Every instant at which the zone's clocks read this time; the end of the gap if none does."""
    first = parse_instant(text, in_zone)
    wall = At.parse(text, in_zone.name).wall
    if wall is None:
        return NamedInstants((first,))
    local = wall_second(wall)
    stretch = in_zone.first_reading(local)
    place = f"{wall:%H:%M:%S}".removesuffix(":00") + "{} on " + f"{wall:%Y-%m-%d} in {in_zone.name}"
    if local < in_zone.local_start(stretch):
        skipped = place.format(" does not exist")
        return NamedInstants(
            (first,),
            f"{skipped}: clocks skip it. This is about the end of the gap, "
            f"{_local(first, in_zone)}.",
        )
    if local < in_zone.next_local_start(stretch):
        return NamedInstants((first,))
    second = instant_at(local - in_zone.offsets[stretch + 1])
    second += timedelta(microseconds=wall.microsecond)
    twice = place.format(" exists twice")
    return NamedInstants(
        (first, second),
        f"{twice}: first at {_local(first, in_zone)}, then at {_local(second, in_zone)}.",
    )


def _local(instant: datetime, in_zone: Zone) -> str:
    offset = timedelta(seconds=in_zone.offset_at(floor_second(instant)))
    return instant.astimezone(fixed_offset(offset)).isoformat()


def first_reading(wall: datetime, in_zone: Zone) -> datetime:
    """When the wall clock first reads this time, or first passes it by."""
    second = in_zone.first_instant(wall_second(wall))
    return instant_at(second) + timedelta(microseconds=wall.microsecond)
