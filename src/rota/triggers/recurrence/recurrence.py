"""The recurrence trigger: wall-clock slots, told as instants.

A rule counts on the wall clock of its zone, whatever its frequency. A time that falls in a gap
moves to the gap's end; a time that is read twice counts when first read; slots that thereby come
to the same instant are one. So FREQ=HOURLY rests for two hours as the clock goes back: those who
want even spacing want an interval.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import TYPE_CHECKING

from rota.errors import ContractBroken, InvalidRecurrence
from rota.triggers.civil import DAY, ceil_second, floor_second, instant_at
from rota.triggers.recurrence.days import FIRST_SECOND, LAST_SECOND
from rota.triggers.recurrence.rule import refusal, show_time
from rota.triggers.recurrence.slots import Bounded, slots_of
from rota.triggers.recurrence.syntax import Definition, parse

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.recurrence.rule import Rule
    from rota.triggers.zones import Zone


class Recurrence:
    """A recurrence rule in a zone. Immutable; equal when the meaning and the zone are equal.

    COUNT counts the rule's own wall-clock times from DTSTART on, whether or not an EXDATE leaves
    them out. UNTIL is inclusive, and a date alone includes all of that local day.
    """

    __slots__ = ("_definition", "_slots", "_text")

    _definition: Definition
    _slots: Bounded
    _text: str

    def __init__(self, definition: Definition) -> None:
        start, end = max(definition.start, FIRST_SECOND), min(_end(definition), LAST_SECOND)
        rule = definition.rule.completed(definition.start)
        slots = slots_of(rule, definition.start)
        _refuse_never(definition, slots.first_from(start), end)
        bounded = Bounded(slots, start=start, end=end, count=rule.count)
        object.__setattr__(self, "_definition", definition)
        object.__setattr__(self, "_slots", bounded)
        object.__setattr__(self, "_text", definition.text)

    @staticmethod
    def parse(text: str, timezone: str = "UTC") -> Recurrence:
        """The trigger; the same object for the same text, so that its work is shared."""
        return _shared(text, timezone)

    def next_after(self, instant: datetime) -> datetime | None:
        """The first slot strictly after the instant; None when there is none left."""
        second = floor_second(instant)
        added = self._definition.added
        at = bisect_right(added, second)
        while at < len(added) and self._leaves_out(added[at]):
            at += 1
        found = self._rule_after(second)
        if at < len(added) and (found is None or added[at] < found):
            found = added[at]
        if found is not None and found <= second:
            raise ContractBroken(f"{self!r} named {found}, not after {instant.isoformat()}")
        return None if found is None else instant_at(found)

    def previous_before(self, instant: datetime) -> datetime | None:
        """The last slot strictly before the instant; None when there is none."""
        second = ceil_second(instant)
        added = self._definition.added
        at = bisect_left(added, second) - 1
        while at >= 0 and self._leaves_out(added[at]):
            at -= 1
        found = self._rule_before(second)
        if at >= 0 and (found is None or added[at] > found):
            found = added[at]
        if found is not None and found >= second:
            raise ContractBroken(f"{self!r} named {found}, not before {instant.isoformat()}")
        return None if found is None else instant_at(found)

    @property
    def rule(self) -> Rule:
        """The rule's parts, as given."""
        return self._definition.rule

    @property
    def zone(self) -> Zone:
        return self._definition.zone

    @property
    def dtstart(self) -> datetime:
        """Where it begins and INTERVAL counts from: a reading of the zone's wall clock."""
        return instant_at(self._definition.start).replace(tzinfo=None)

    @property
    def has_own_start(self) -> bool:
        """The text has a DTSTART; otherwise it begins on Monday, 1990-01-01, at midnight."""
        return self._definition.has_own_start

    @property
    def text(self) -> str:
        """The same meaning in one line: names in upper case, parts in one order."""
        return self._text

    @property
    def timezone(self) -> str:
        return self.zone.name

    @property
    def signature(self) -> str:
        """The pattern's part of a stable key."""
        return f"rrule:{self._text}:{self.zone.name}"

    def _identity(self) -> tuple[object, ...]:
        says = self._definition
        return (
            says.rule.completed(says.start),
            (says.zone.name, says.start),
            (says.added, says.excluded, says.excluded_days),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recurrence) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __repr__(self) -> str:
        return f"Recurrence({self._text!r}, {self.zone.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return Recurrence.parse, (self._text, self.zone.name)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Recurrence does not change: {name}")

    def _rule_after(self, second: int) -> int | None:
        says = self._definition
        local = self._slots.first_from(_latest_reading(says.zone, second) + 1)
        while local is not None:
            day = local // DAY
            if day in says.excluded_days:
                local = self._slots.first_from((day + 1) * DAY)
                continue
            found = says.zone.first_instant(local)
            if found not in says.excluded:
                return found
            local = self._slots.first_from(_latest_reading(says.zone, found) + 1)
        return None

    def _rule_before(self, second: int) -> int | None:
        says = self._definition
        local = self._slots.last_until(_latest_reading(says.zone, second - 1))
        while local is not None:
            day = local // DAY
            if day in says.excluded_days:
                local = self._slots.last_until(day * DAY - 1)
                continue
            found = says.zone.first_instant(local)
            if found not in says.excluded:
                return found
            local = self._slots.last_until(_latest_reading(says.zone, found - 1))
        return None

    def _leaves_out(self, second: int) -> bool:
        """Whether an EXDATE names the instant or its local day."""
        says = self._definition
        day = (second + says.zone.offset_at(second)) // DAY
        return second in says.excluded or day in says.excluded_days


def _latest_reading(clock: Zone, second: int) -> int:
    """The latest time the wall clock has read, or jumped over, by the instant.

    A slot is at or before the instant exactly when its wall-clock time is at or before this one;
    so slots that share an instant are passed over together.
    """
    stretch = clock.stretch_at(second)
    return max(second + clock.offsets[stretch], clock.reached[stretch] - 1)


def _end(definition: Definition) -> int:
    """The last wall-clock second at which it may fire."""
    until = definition.rule.until
    if until is None:
        return LAST_SECOND
    if not until.is_utc:
        return until.second
    return _latest_reading(definition.zone, until.second)


def _refuse_never(definition: Definition, first: int | None, end: int) -> None:
    until = definition.rule.until
    if first is None or (first > end and until is None):
        raise InvalidRecurrence(
            "Invalid recurrence rule: expected one that fires before 2300, "
            f'got one that never does: "{definition.text}"',
            field="RRULE",
        )
    if first > end:
        expected = f"a time not before the first slot, {show_time(first)}"
        raise refusal("UNTIL", expected, str(until))


@lru_cache(maxsize=2_048)
def _shared(text: str, timezone: str) -> Recurrence:
    return Recurrence(parse(text, timezone))
