"""Once: a single instant."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

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


def first_reading(wall: datetime, in_zone: Zone) -> datetime:
    """When the wall clock first reads this time, or first passes it by."""
    second = in_zone.first_instant(wall_second(wall))
    return instant_at(second) + timedelta(microseconds=wall.microsecond)
