"""The cron trigger: the next and the previous instant, by integers and bit masks.

Two kinds of expression meet a clock change differently. A *wildcard* one (a star in seconds,
minutes or hours) fires exactly when the wall clock reads a match: nothing in a gap, both passes of
an overlap. A *fixed-time* one keeps its promise of one firing for every local day: times in a gap
fire once, at its end; repeated times fire in the first pass only.

The search never walks second by second: the pattern finds the next matching wall-clock time, which
is arithmetic on integers, and the zone says when its clock first reads it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache

from rota.errors import ContractBroken
from rota.triggers.civil import EPOCH, ceil_second, floor_second
from rota.triggers.cron.syntax import parse, split
from rota.triggers.zones import DATE_LINE_GAP, Zone, zone


class Cron:
    """A cron expression in a zone. Immutable; equal when the meaning and the zone are equal."""

    __slots__ = ("_latest", "expression", "pattern", "zone")

    def __init__(self, expression: str, in_zone: Zone) -> None:
        fields = split(expression)
        self.expression = " ".join(fields)
        self.pattern = parse(fields)
        self.zone = in_zone
        self._latest: tuple[datetime | None, datetime | None] = None, None

    @staticmethod
    def parse(expression: str, timezone: str = "UTC") -> Cron:
        """The trigger; the same object for the same text, so that its latest answer is shared."""
        return _shared(expression, timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after the instant; None when the calendar ends first."""
        # Thousands of schedules share a trigger and ask about one instant, one after another.
        asked, found = self._latest
        # Outside UTC, both readings of a repeated hour are equal, though an hour apart.
        if instant == asked and instant.tzinfo is UTC:
            return found
        from_second = floor_second(instant) + 1
        second = (
            self._first_reading(from_second)
            if self.pattern.is_wildcard
            else self._first_fixed(from_second)
        )
        if second is not None and second < from_second:
            raise ContractBroken(f"{self!r} named {second}, not after {instant.isoformat()}")
        found = None if second is None else datetime.fromtimestamp(second, UTC)
        self._latest = instant, found
        return found

    def previous_before(self, instant: datetime) -> datetime | None:
        """The last slot strictly before the instant; None when the calendar begins first."""
        to_second = ceil_second(instant) - 1
        second = (
            self._last_reading(to_second)
            if self.pattern.is_wildcard
            else self._last_fixed(to_second)
        )
        if second is not None and second > to_second:
            raise ContractBroken(f"{self!r} named {second}, not before {instant.isoformat()}")
        return None if second is None else EPOCH + timedelta(0, second)

    @property
    def timezone(self) -> str:
        return self.zone.name

    @property
    def signature(self) -> str:
        """The pattern's part of a stable key."""
        return f"cron:{self.expression}:{self.zone.name}"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Cron)
            and self.pattern == other.pattern
            and self.zone.name == other.zone.name
        )

    def __hash__(self) -> int:
        return hash((self.pattern, self.zone.name))

    def __repr__(self) -> str:
        return f"Cron({self.expression!r}, {self.zone.name!r})"

    def _first_reading(self, second: int) -> int | None:
        """Wildcard: the first instant from here on at which the wall clock reads a match."""
        clock = self.zone
        stretch = clock.stretch_at(second)
        floor = second + clock.offsets[stretch]
        local = self.pattern.first_from(floor)
        while local is not None:
            if local < clock.local_end(stretch):
                return local - clock.offsets[stretch]
            stretch += 1
            start = clock.local_start(stretch)
            if start >= floor:
                # No match lies between floor and local: whole stretches can be passed over.
                stretch = max(stretch, clock.first_reading(local))
                start = clock.local_start(stretch)
                if start <= local:
                    continue
            # Either local lies in a gap, or the clock went back over times not looked at yet.
            floor = start
            local = self.pattern.first_from(start)
        return None

    def _last_reading(self, second: int) -> int | None:
        """Wildcard: the last instant up to here at which the wall clock read a match."""
        clock = self.zone
        stretch = clock.stretch_at(second)
        ceiling = second + clock.offsets[stretch]
        local = self.pattern.last_until(ceiling)
        while local is not None:
            if local >= clock.local_start(stretch):
                return local - clock.offsets[stretch]
            stretch -= 1
            latest = clock.local_end(stretch) - 1
            if local > latest or latest > ceiling:
                # Either local lies in a gap, or the clock read later times before going back.
                ceiling = latest
                local = self.pattern.last_until(latest)
        return None

    def _first_fixed(self, second: int) -> int | None:
        """Fixed times: the first instant from here on that a matching time stands for."""
        clock = self.zone
        stretch = clock.stretch_at(second)
        local = second + clock.offsets[stretch]
        reached = clock.reached[stretch]
        if local < reached or second == clock.starts[stretch]:
            # A second pass fires nothing; the very instant that ends a gap stands for times in it.
            local = reached
        found = self.pattern.first_from(local)
        while found is not None:
            stretch = clock.first_reading(found)
            instant = found - clock.offsets[stretch]
            if instant >= clock.starts[stretch]:
                return instant
            if clock.gap_before(stretch) < DATE_LINE_GAP:
                return clock.starts[stretch]
            found = self.pattern.first_from(clock.local_start(stretch))
        return None

    def _last_fixed(self, second: int) -> int | None:
        """Fixed times: the last instant up to here that a matching time stands for."""
        clock = self.zone
        stretch = clock.stretch_at(second)
        local = second + clock.offsets[stretch]
        if local < clock.reached[stretch]:
            # A second pass, which fires nothing: go on from the end of the first.
            local = clock.reached[stretch] - 1
        found = self.pattern.last_until(local)
        while found is not None:
            stretch = clock.first_reading(found)
            if clock.local_start(stretch) <= found:
                return found - clock.offsets[stretch]
            if clock.gap_before(stretch) < DATE_LINE_GAP:
                return clock.starts[stretch]
            found = self.pattern.last_until(clock.reached[stretch] - 1)
        return None


@lru_cache(maxsize=16_384)
def _shared(expression: str, timezone: str) -> Cron:
    return Cron(expression, zone(timezone))
