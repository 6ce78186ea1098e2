"""A trigger to English, in words that read back as the same trigger."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.triggers.at import At, first_reading
from rota.triggers.calendars import Filtered
from rota.triggers.civil import floor_second
from rota.triggers.cron import Cron
from rota.triggers.english.clock_words import clock_words
from rota.triggers.english.day_words import day_words
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.never import Never
from rota.triggers.recurrence import Recurrence
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.trigger import Trigger


def explain(trigger: Trigger) -> str:
    """What the trigger means, in a sentence that is understood again."""
    if isinstance(trigger, Cron):
        return f"{cron_words(trigger)} ({trigger.timezone})"
    if isinstance(trigger, Interval):
        return _interval(trigger)
    if isinstance(trigger, At):
        return f"once at {wall_text(trigger.instant, trigger.timezone)} ({trigger.timezone})"
    if isinstance(trigger, Recurrence):
        return f"by the rule {trigger.text} ({trigger.timezone})"
    if isinstance(trigger, Limited | Filtered):
        return _within(trigger)
    return trigger.words if isinstance(trigger, Never) else trigger.signature


def wall_text(instant: datetime, timezone: str) -> str:
    """What the wall clock reads; with the offset where it reads the same twice."""
    second = floor_second(instant)
    offset = zone(timezone).offset_at(second)
    wall = instant.astimezone(UTC).replace(tzinfo=None)
    local = wall + timedelta(seconds=offset)
    shown = local.isoformat(" ", "auto" if local.second or local.microsecond else "minutes")
    if first_reading(local, zone(timezone)) == instant:
        return shown
    return f"{wall.isoformat()}Z"


def cron_words(cron: Cron) -> str:
    """A cron trigger in words, without its zone."""
    pattern = cron.pattern
    days = day_words(pattern, leading=False)
    clock = clock_words(pattern, on_some_days=bool(days))
    if not clock.startswith("at "):
        return f"{clock} {days}".rstrip()
    return f"{day_words(pattern, leading=True) or 'every day'} {clock}"


def _interval(interval: Interval) -> str:
    text = f"every {durations.words(interval.period)}"
    if interval.anchor is None:
        return text
    anchor = wall_text(interval.anchor, interval.timezone)
    return f"{text}, counted from {anchor} ({interval.timezone})"


def _within(trigger: Limited | Filtered) -> str:
    if isinstance(trigger, Limited):
        return _limited(trigger)
    return f"{explain(trigger.trigger)}, not on dates that its calendar leaves out"


def _limited(limited: Limited) -> str:
    trigger, timezone = limited.trigger, limited.timezone
    if isinstance(trigger, Interval) and trigger.anchor == limited.start_at:
        trigger = Interval(trigger.period)  # Its start says what it counts from.
    text = explain(trigger)
    bracket = f" ({timezone})"
    said = text.removesuffix(bracket)
    if limited.start_at is not None:
        said += f", starting {wall_text(limited.start_at, timezone)}"
    if limited.end_at is not None:
        said += f", until {wall_text(limited.end_at, timezone)}"
    if limited.max_firings is not None:
        said += f", at most {limited.max_firings} times"
    return f"{said}{bracket}"
