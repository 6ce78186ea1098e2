"""A trigger within limits: not before a start, not after an end, not more often than so many times.

Both ends are inclusive: a slot exactly at `start_at` or at `end_at` is still one of the slots.
Triggers never keep count, so `max_firings` is a question to ask with the count in hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota.errors import InvalidTrigger, NoFutureSlot
from rota.triggers.interval import Interval

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Limited:
    """The slots of a trigger from `start_at` to `end_at`, both included."""

    trigger: Trigger
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_firings: int | None = None

    def __post_init__(self) -> None:
        # In UTC: two readings of one zone's clock are compared as read, blind to a repeated hour.
        object.__setattr__(self, "start_at", _in_utc("start_at", self.start_at))
        object.__setattr__(self, "end_at", _in_utc("end_at", self.end_at))
        if self.start_at and isinstance(self.trigger, Interval) and self.trigger.anchor is None:
            # It would count from wherever it is asked about; a start gives it something to hold.
            object.__setattr__(self, "trigger", self.trigger.anchored(self.start_at))
        if self.start_at and self.end_at and self.start_at >= self.end_at:
            raise InvalidTrigger(
                f"Invalid end_at: expected an instant after start_at {_show(self.start_at)}, "
                f"got {_show(self.end_at)}",
                field="end_at",
            )
        if self.max_firings is not None and self.max_firings < 1:
            raise InvalidTrigger(
                f"Invalid max_firings: expected 1 or more, got {self.max_firings}",
                field="max_firings",
            )

    def next_after(self, instant: datetime) -> datetime | None:
        if self.start_at and instant < self.start_at:
            instant = self.start_at - _TICK
        slot = self.trigger.next_after(instant)
        if slot is None or (self.end_at and slot > self.end_at):
            return None
        return slot

    def previous_before(self, instant: datetime) -> datetime | None:
        if self.end_at and instant > self.end_at:
            instant = self.end_at + _TICK
        slot = self.trigger.previous_before(instant)
        if slot is None or (self.start_at and slot < self.start_at):
            return None
        return slot

    def first(self, after: datetime) -> datetime:
        """The next slot; raises NoFutureSlot when there is none left."""
        return require_future(self, after)

    def exhausted(self, fired: int) -> bool:
        """Whether so many firings are all there may be."""
        return self.max_firings is not None and fired >= self.max_firings

    @property
    def timezone(self) -> str:
        return self.trigger.timezone

    @property
    def signature(self) -> str:
        """The inner trigger's: limits may be moved without making it another schedule."""
        return self.trigger.signature


def require_future(trigger: Trigger, after: datetime) -> datetime:
    """The next slot of a trigger that must have one; raises NoFutureSlot when there is none."""
    slot = trigger.next_after(after)
    if slot is None:
        raise NoFutureSlot(
            f"No upcoming schedule found: {trigger.signature} has no slot after {_show(after)}"
        )
    return slot


def _in_utc(field: str, instant: datetime | None) -> datetime | None:
    if instant is None:
        return None
    if instant.utcoffset() is None:
        raise InvalidTrigger(
            f"Invalid {field}: expected an instant with a zone, such as "
            f"{instant.isoformat()}Z, got {instant.isoformat()}",
            field=field,
        )
    return instant.astimezone(UTC)


def _show(instant: datetime) -> str:
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")
