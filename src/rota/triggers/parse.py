"""Whatever a person writes for "when", to a trigger: cron, interval, instant, RRULE or English."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Literal

from rota import durations
from rota.errors import InvalidTrigger
from rota.triggers import english
from rota.triggers.at import ISO, At
from rota.triggers.civil import floor_second
from rota.triggers.cron import Cron
from rota.triggers.interval import SIGNATURE, Interval
from rota.triggers.recurrence import Recurrence
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from rota.triggers.trigger import Trigger

Kind = Literal["cron_expr", "interval", "run_at", "rrule", "text"]
"""What a text for "when" is written as, by the names of the API's fields; `text` is English."""

#: What can be read as a trigger. A number alone is not: of what?
When = str | datetime | timedelta
WHEN_TYPES = (str, datetime, timedelta)

#: No kind of text is longer: cron has 256 characters, an RRULE 1,024.
MAX_LENGTH = 2_048

# English has none of these, and hardly a cron expression is without them.
_CRON_MARK = re.compile(r"[*?#]|^\s*@|TZ=")
_CRON_FIELDS = re.compile(r"\s*[\d,/-]+\s+[\d,/-]+(?=\s|$)|\s*[\d,-]+\s*$")
# An RRULE with nothing around it; what explains one is English.
_RULE = re.compile(r"\s*(RRULE|DTSTART|RDATE|EXDATE|FREQ=)")
_BRACKET = re.compile(r"\)\s*$")


def parse(when: When, timezone: str | None = None, *, now: datetime | None = None) -> Trigger:
    """The trigger. The zone is UTC unless given, or named in the text.

    `now` is needed only by what counts from the present, such as "tomorrow at 5pm".
    """
    if timezone is not None:
        timezone = zone(timezone).name  # A bad zone is refused first, whatever it is for.
    _check_type(when)
    if isinstance(when, datetime):
        floor_second(when)
        return At(when.astimezone(UTC), timezone or "UTC")
    if isinstance(when, timedelta):
        return Interval.parse(when, timezone or "UTC")
    if len(when) > MAX_LENGTH:
        raise InvalidTrigger(
            f"Expected when to run in at most {MAX_LENGTH} characters, got {len(when)}"
        )
    if not when.strip():
        raise InvalidTrigger('Expected when to run, such as "every weekday at 9am", got nothing')
    return _from_text(when, timezone, now)


def _check_type(when: object) -> None:
    """Programs without type checks pass numbers and dates, too."""
    if not isinstance(when, WHEN_TYPES):
        raise InvalidTrigger(
            "Expected when to run as a text, a datetime or a timedelta, "
            f"got {type(when).__name__}: {str(when)[:40]}"
        )


def kind(text: str) -> Kind:
    """How the text is written; whether it can be read is another question."""
    upper = text.upper()
    if _RULE.match(upper) and not _BRACKET.search(text):
        return "rrule"
    if ISO.fullmatch(text.strip()):
        return "run_at"
    if _CRON_MARK.search(upper) or _CRON_FIELDS.match(text):
        return "cron_expr"
    return "interval" if _is_interval(text) else "text"


def field(when: object) -> dict[str, str | float]:
    """The API's field for it, so that a schedule reads back as it was written.

    The only place that decides it: the command line, the library and the dashboard all ask here.
    """
    if isinstance(when, datetime):
        return {"run_at": when.isoformat()}
    if isinstance(when, timedelta):
        seconds = when.total_seconds()
        return {"interval": int(seconds) if seconds.is_integer() else seconds}
    if not isinstance(when, str):
        raise TypeError(
            'expected when to run as a text such as "every weekday at 9am", a datetime or a '
            f"timedelta, got {type(when).__name__}"
        )
    found = kind(when)
    return {found: when.strip() if found == "run_at" else when}


def read_as(written: Kind, text: str, timezone: str | None, now: datetime | None) -> Trigger:
    """The trigger of a text that is written as this kind, and no other."""
    match written:
        case "rrule":
            return Recurrence.parse(text, timezone or "UTC")
        case "run_at":
            return At.parse(text, timezone or "UTC")
        case "cron_expr":
            return Cron.parse(text, timezone or "UTC")
        case "interval":
            return Interval.parse(text, timezone or "UTC")
        case "text":
            return parse(text, timezone, now=now)


def _from_text(text: str, timezone: str | None, now: datetime | None) -> Trigger:
    found = kind(text)
    if found == "text":
        return english.read(text, timezone=timezone, now=now)
    return read_as(found, text, timezone, now)


def _is_interval(text: str) -> bool:
    if SIGNATURE.fullmatch(text):
        return True
    try:
        durations.parse(text)
    except durations.InvalidDuration:
        return False
    return True
