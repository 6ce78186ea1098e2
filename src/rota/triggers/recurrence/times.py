"""Which times of a day a rule means: two bit masks, and a step that may wander through the days.

A day is divided into *units* of the rule's frequency: hours, minutes or seconds, or one unit that
is the whole day. `units` has a bit for each unit that the filters let through, `offsets` one for
each second within a unit at which it fires. INTERVAL picks every n-th unit since the start; in a
given day that is a comb of bits, so even FREQ=SECONDLY is decided by a few operations.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

from rota.triggers.civil import DAY
from rota.triggers.recurrence.days import bits, lowest
from rota.triggers.recurrence.rule import Frequency, Rule

if TYPE_CHECKING:
    from collections.abc import Iterable


class Times:
    """The times of a completed rule, as seconds since the day's midnight."""

    __slots__ = (
        "_comb",
        "_empty",
        "_interval",
        "_offsets",
        "_per_day",
        "_per_unit",
        "_phase",
        "_unit",
        "_units",
    )

    def __init__(self, rule: Rule, start: int) -> None:
        self._unit = rule.frequency.unit
        self._per_day = DAY // self._unit
        self._interval = rule.interval if rule.frequency > Frequency.DAILY else 1
        self._phase = start // self._unit
        self._comb = _comb(self._interval, self._per_day)
        # First seconds of the comb on days that the filters leave empty.
        self._empty: set[int] = set()
        units, self._offsets = _masks(rule)
        if rule.by_set_pos and rule.frequency >= Frequency.DAILY:
            self._offsets = _chosen(self._offsets, rule.by_set_pos)
        self._per_unit = self._offsets.bit_count()
        # Units that the step never reaches, on whatever day.
        common = gcd(self._interval, self._per_day)
        self._units = units & _comb(common, self._per_day) << self._phase % common

    def __bool__(self) -> bool:
        """Whether there is any time at all."""
        return bool(self._units and self._offsets)

    def first_from(self, day: int, second: int) -> int | None:
        """The day's first time at or after."""
        units = self._on(day)
        unit, offset = divmod(second, self._unit)
        if units >> unit & 1 and (later := self._offsets >> offset):
            return second + lowest(later)
        if later := units >> unit + 1:
            return (unit + 1 + lowest(later)) * self._unit + lowest(self._offsets)
        return None

    def last_until(self, day: int, second: int) -> int | None:
        """The day's last time at or before."""
        units = self._on(day)
        unit, offset = divmod(second, self._unit)
        if units >> unit & 1 and (earlier := self._offsets & (2 << offset) - 1):
            return second - offset + earlier.bit_length() - 1
        if earlier := units & (1 << unit) - 1:
            return (earlier.bit_length() - 1) * self._unit + self._offsets.bit_length() - 1
        return None

    def size(self, day: int) -> int:
        """How many times the day has."""
        return self._on(day).bit_count() * self._per_unit

    def listed(self, day: int) -> list[int]:
        """Every time of the day, in order."""
        offsets = bits(self._offsets)
        return [unit * self._unit + offset for unit in bits(self._on(day)) for offset in offsets]

    def day_from(self, day: int) -> int:
        """The first day at or after on which the step sets foot."""
        unit = day * self._per_day
        return (unit + (self._phase - unit) % self._interval) // self._per_day

    def day_until(self, day: int) -> int:
        """The last day at or before on which the step sets foot."""
        unit = (day + 1) * self._per_day - 1
        return (unit - (unit - self._phase) % self._interval) // self._per_day

    def _on(self, day: int) -> int:
        """The units of this day."""
        if self._interval == 1:
            return self._units
        first = (self._phase - day * self._per_day) % self._interval
        if first >= self._per_day or first in self._empty:
            return 0
        units = self._units & self._comb << first
        if not units:
            self._empty.add(first)
        return units


def picks(rule: Rule) -> list[tuple[int, int]]:
    """BYSETPOS in a period of several days, as (index among its days, second of the day).

    The index is negative when it counts from the period's end.
    """
    _, offsets = _masks(rule)
    times = bits(offsets)
    found: list[tuple[int, int]] = []
    for position in rule.by_set_pos:
        index = position - 1 if position > 0 else position
        day, time = divmod(index, len(times))
        found.append((day, times[time]))
    return found


def _chosen(offsets: int, positions: tuple[int, ...]) -> int:
    """The offsets at these positions among all of them, from 1 or from the end."""
    times = bits(offsets)
    chosen = 0
    for position in positions:
        if abs(position) <= len(times):
            chosen |= 1 << times[position - 1 if position > 0 else position]
    return chosen


def _masks(rule: Rule) -> tuple[int, int]:
    """The units of a day and the offsets of a unit that the filters let through."""
    hours = rule.by_hour or range(24)
    minutes = rule.by_minute or range(60)
    seconds = _spread(rule.by_second or range(60), 1, 1)
    match rule.frequency:
        case Frequency.SECONDLY:
            return _spread(hours, 3600, _spread(minutes, 60, seconds)), 1
        case Frequency.MINUTELY:
            return _spread(hours, 60, _spread(minutes, 1, 1)), seconds
        case Frequency.HOURLY:
            return _spread(hours, 1, 1), _spread(minutes, 60, seconds)
        case _:
            return 1, _spread(hours, 3600, _spread(minutes, 60, seconds))


def _spread(values: Iterable[int], width: int, mask: int) -> int:
    """The mask once for each value, as many widths to the left."""
    found = 0
    for value in values:
        found |= mask << value * width
    return found


def _comb(step: int, length: int) -> int:
    """Bits 0, step, 2·step, … below the length."""
    mask, width = 1, step
    while width < length:
        mask |= mask << width
        width *= 2
    return mask & (1 << length) - 1
