"""Whatever a person writes for "when", to a trigger: cron, interval, instant, RRULE or English."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from rota import durations
from rota.errors import InvalidTrigger
from rota.triggers import english
from rota.triggers.at import ISO, At
from rota.triggers.civil import floor_second
from rota.triggers.cron import Cron
from rota.triggers.interval import Interval
from rota.triggers.recurrence import Recurrence
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

#: What can be read as a trigger. A number alone is not: of what?
When = str | datetime | timedelta
WHEN_TYPES = (str, datetime, timedelta)

# English has none of these, and hardly a cron expression is without them.
_CRON_MARK = re.compile(r"[*?#@]|TZ=")
_CRON_FIELDS = re.compile(r"\s*[\d,/-]+(\s+[\d,/-]+|\s*$)")
_RULE = re.compile(r"(?:by the rule )?(.*?)(?: \(([^()]*)\))?", re.IGNORECASE | re.DOTALL)


def parse(when: When, timezone: str | None = None, *, now: datetime | None = None) -> Trigger:
    """The trigger. The zone is UTC unless given, or named in the text.

    `now` is needed only by what counts from the present, such as "tomorrow at 5pm".
    """
    if timezone is not None:
        zone(timezone)  # A bad zone is refused first, whatever it is for.
    if isinstance(when, datetime):
        floor_second(when)
        return At(when.astimezone(UTC), timezone or "UTC")
    if isinstance(when, timedelta):
        return Interval.parse(when, timezone or "UTC")
    if not when.strip():
        raise InvalidTrigger('Expected when to run, such as "every weekday at 9am", got nothing')
    return _from_text(when, timezone, now)


def _from_text(text: str, timezone: str | None, now: datetime | None) -> Trigger:
    upper = text.upper()
    if "FREQ=" in upper or upper.lstrip().startswith(("RRULE", "DTSTART")):
        return _recurrence(text, timezone)
    if ISO.fullmatch(text.strip()):
        return At.parse(text, timezone or "UTC")
    if _CRON_MARK.search(upper) or _CRON_FIELDS.match(text):
        return Cron.parse(text, timezone or "UTC")
    if _is_duration(text):
        return Interval.parse(text, timezone or "UTC")
    return english.read(text, timezone=timezone, now=now)


def _recurrence(text: str, timezone: str | None) -> Recurrence:
    match = _RULE.fullmatch(text.strip())
    rule, said = match.groups() if match else (text, None)
    return Recurrence.parse(rule, said or timezone or "UTC")


def _is_duration(text: str) -> bool:
    try:
        durations.parse(text)
    except durations.InvalidDuration:
        return False
    return True
