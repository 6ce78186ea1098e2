"""The times of a cron pattern in words: "at 09:00", "every 5 minutes between 09:00 and 16:59".

Times that are fixed begin with "at" or count hours between two times; times that run with the clock
have an "every" in them. The difference is kept because clock changes treat the two differently.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from rota.triggers.cron.text import FULL_HOURS, FULL_MINUTES, runs, step_of, values
from rota.triggers.english.words import clock_text, ordinal_text

if TYPE_CHECKING:
    from rota.triggers.cron.pattern import Pattern

_MOST_TIMES = 6
_ZERO = 1


def clock_words(pattern: Pattern, *, on_some_days: bool) -> str:
    """Seconds, minutes and hours.

    "Every 5 minutes" is an interval when nothing else is said, so only on some days can it stand
    for every 5th minute.
    """
    if pattern.is_wildcard:
        evenly = _evenly(pattern) if on_some_days else ""
        return evenly or _between_hours(pattern) or _hourly(pattern) or _running(pattern)
    return _hours_between(pattern) or _times(pattern) or f"at {_fixed(pattern)}"


def join(items: list[str], last: str = "and") -> str:
    """One; one and two; one, two and three."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def number_words(mask: int) -> str:
    """0, 15 and 30 to 40."""
    return join([item for first, last in runs(mask) for item in _run(first, last)])


def _run(first: int, last: int) -> list[str]:
    if last - first < 2:
        return [str(value) for value in range(first, last + 1)]
    return [f"{first} to {last}"]


def _hours_between(pattern: Pattern) -> str:
    """Fixed: every 2 hours between 08:00 and 18:00, where there are enough of them to count."""
    hours = values(pattern.hours)
    step = hours[1] - hours[0] if len(hours) > 3 else 0
    evenly = step and hours == list(range(hours[0], hours[-1] + 1, step))
    if not evenly or pattern.minutes.bit_count() > 1 or pattern.seconds != _ZERO:
        return ""
    minute = values(pattern.minutes)[0]
    every = "every hour" if step == 1 else f"every {step} hours"
    return f"{every} between {clock_text(hours[0], minute)} and {clock_text(hours[-1], minute)}"


def _times(pattern: Pattern) -> str:
    """Fixed: at 09:00, 12:00 and 17:00."""
    masks = (pattern.hours, pattern.minutes, pattern.seconds)
    times = list(product(*(values(mask) for mask in masks)))
    if len(times) > _MOST_TIMES:
        return ""
    return f"at {join([clock_text(*time) for time in times])}"


def _fixed(pattern: Pattern) -> str:
    """Fixed: minutes 0 to 29 of hours 9 to 17."""
    parts = [_listed(pattern.minutes, "minute"), _listed(pattern.hours, "hour")]
    if pattern.seconds != _ZERO:
        parts.insert(0, _listed(pattern.seconds, "second"))
    return " of ".join(parts)


def _evenly(pattern: Pattern) -> str:
    """Running: every 5 minutes, where they are even over the hour."""
    masks = (pattern.seconds, pattern.minutes, pattern.hours)
    for unit, below, count in (("second", 0, 60), ("minute", 1, 60), ("hour", 2, 24)):
        step = step_of(masks[below], count)
        rest = (*(_ZERO,) * below, masks[below], *(FULL_MINUTES, FULL_HOURS)[below:])
        if step and step > 1 and count % step == 0 and masks == rest:
            return f"every {step} {unit}s"
    return ""


def _between_hours(pattern: Pattern) -> str:
    """Running: every 15 minutes between 09:00 and 16:59."""
    hours = runs(pattern.hours)
    if len(hours) > 1 or pattern.hours == FULL_HOURS:
        return ""
    mask, unit = pattern.minutes, "minute"
    if pattern.seconds != _ZERO:
        mask, unit = pattern.seconds, "second"
    step = step_of(mask, 60)
    if not step or 60 % step or (unit == "second" and pattern.minutes != FULL_MINUTES):
        return ""
    every = f"every {unit}" if step == 1 else f"every {step} {unit}s"
    return f"{every} between {clock_text(hours[0][0], 0)} and {clock_text(hours[0][1], 59)}"


def _hourly(pattern: Pattern) -> str:
    """Running: every hour at minute 30, every 2nd hour."""
    step = step_of(pattern.hours, 24)
    if not step or step_of(pattern.minutes, 60) or pattern.seconds != _ZERO:
        return ""
    every = "every hour" if step == 1 else f"every {ordinal_text(step)} hour"
    if pattern.minutes == _ZERO:
        return every
    return f"{every} at {_listed(pattern.minutes, 'minute')}"


def _running(pattern: Pattern) -> str:
    """Running: every 5th minute of hours 9 and 17; at second 30 of every minute."""
    masks = {"second": pattern.seconds, "minute": pattern.minutes, "hour": pattern.hours}
    counts = {"second": 60, "minute": 60, "hour": 24}
    parts = {unit: _every(mask, counts[unit], unit) for unit, mask in masks.items()}
    if not any(part.startswith("every") for part in parts.values()):
        unit = next(unit for unit in ("minute", "hour", "second") if masks[unit] & 1)
        parts[unit] = f"every {unit} among {number_words(masks[unit])}"
    if parts["hour"] == "every hour":
        del parts["hour"]
    if pattern.seconds == _ZERO and not parts["second"].startswith("every"):
        del parts["second"]
    elif "hour" not in parts and parts["minute"] == "every minute" and _runs(parts["second"]):
        del parts["minute"]
    text = " of ".join(parts.values())
    return text if _runs(text) else f"at {text}"


def _runs(part: str) -> bool:
    return part.startswith("every")


def _every(mask: int, count: int, unit: str) -> str:
    step = step_of(mask, count)
    if step is None:
        return _listed(mask, unit)
    return f"every {unit}" if step == 1 else f"every {ordinal_text(step)} {unit}"


def _listed(mask: int, unit: str) -> str:
    return f"{unit}{'s' if mask.bit_count() > 1 else ''} {number_words(mask)}"
