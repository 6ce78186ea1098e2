"""Every so often: an anchor and a period, in elapsed time.

No wall clock is involved, so neither a clock change nor a clock that was set can skew it, and the
slots never drift: each is the anchor plus a whole number of periods.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rota import durations
from rota.errors import InvalidInterval
from rota.triggers.civil import BEGIN, END, EPOCH, floor_second

MIN_PERIOD = timedelta(seconds=1)
MAX_PERIOD = timedelta(days=366 * 100)
_MILLISECOND = timedelta(milliseconds=1)
_MOST_DIGITS = 10**40
_EVERY = re.compile(r"^\s*every\s", re.IGNORECASE)
#: As `Interval.signature` writes it: whole milliseconds.
SIGNATURE = re.compile(r"\s*every: ?(\d{1,15})\s*", re.IGNORECASE | re.ASCII)
_FIRST = EPOCH + timedelta(seconds=BEGIN)
_LAST = EPOCH + timedelta(seconds=END) - timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Interval:
    """Slots at the anchor and every period from there on.

    Without an anchor it counts from the instant it is asked about ("every 5 minutes, from now");
    a schedule gets its anchor when it is created.
    """

    period: timedelta
    anchor: datetime | None = None
    timezone: str = field(default="UTC", compare=False)
    anchor_is_slot: bool = True
    """Whether the anchor is a slot itself; otherwise the first is a period after it."""

    @staticmethod
    def parse(value: str | float | timedelta, timezone: str = "UTC") -> Interval:
        """From "5m", "PT5M", "every 5m", "every:300000" (milliseconds), seconds, or a timedelta."""
        return Interval(_period(value), timezone=timezone)

    def anchored(self, at: datetime, *, is_slot: bool = True) -> Interval:
        """The same interval, counted from this instant, which is the first slot or is none."""
        floor_second(at)  # Refuses an anchor outside the calendar.
        return Interval(self.period, at.astimezone(UTC), self.timezone, is_slot)

    def next_after(self, instant: datetime) -> datetime | None:
        floor_second(instant)
        if self.anchor is None:
            return _within(instant.astimezone(UTC) + self.period)
        if instant < self.anchor and self.anchor_is_slot:
            return self.anchor
        passed = (max(instant, self.anchor) - self.anchor) // self.period
        return _within(self.anchor + (passed + 1) * self.period)

    def previous_before(self, instant: datetime) -> datetime | None:
        floor_second(instant)
        if self.anchor is None:
            return _within(instant.astimezone(UTC) - self.period)
        if instant <= self.anchor:
            return None
        # Rounded up, less one: a slot is not before itself.
        passed = -((self.anchor - instant) // self.period) - 1
        if not passed and not self.anchor_is_slot:
            return None
        return self.anchor + passed * self.period

    @property
    def signature(self) -> str:
        return f"every:{self.period // _MILLISECOND}"


def _within(slot: datetime) -> datetime | None:
    return slot if _FIRST <= slot <= _LAST else None


def _period(value: str | float | timedelta) -> timedelta:
    period = value if isinstance(value, timedelta) else _read(value)
    if not MIN_PERIOD <= period <= MAX_PERIOD:
        raise InvalidInterval(
            f"Invalid interval: expected 1 second to 100 years, got {_show(value)}",
            field="interval",
        )
    if period % _MILLISECOND:
        raise InvalidInterval(
            f"Invalid interval: expected whole milliseconds, got {_show(value)}", field="interval"
        )
    return period


def _read(value: str | float) -> timedelta:
    try:
        if isinstance(value, str):
            if written := SIGNATURE.fullmatch(value):
                return int(written[1]) * _MILLISECOND
            return durations.parse(_EVERY.sub("", value))
        # True is 1 to Python, and to nobody else.
        return timedelta(seconds=float("nan") if isinstance(value, bool) else value)
    except durations.InvalidDuration as problem:
        raise InvalidInterval(f"Invalid interval: {problem}", field="interval") from None
    except (OverflowError, TypeError, ValueError):
        raise InvalidInterval(
            f"Invalid interval: expected a number of seconds, got {_show(value)}", field="interval"
        ) from None


def _show(value: str | float | timedelta) -> str:
    if isinstance(value, int) and abs(value) > _MOST_DIGITS:
        return "a number beyond all calendars"  # Python refuses to write out the longest.
    return f'"{value}"' if isinstance(value, str) else str(value)
