"""What a text for "when" means, as somebody types it: in English, the next slots on three clocks,
what to beware of; or why it means nothing, and what may have been meant. Pure.
"""

import difflib
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rota.errors import InvalidInput, InvalidText
from rota.triggers.calendars import Days, Filtered
from rota.triggers.english import explain
from rota.triggers.english.refusals import EXAMPLES
from rota.triggers.interval import Interval
from rota.triggers.limits import require_future
from rota.triggers.parse import kind, parse
from rota.triggers.preview import Slot, preview
from rota.triggers.trigger import Trigger
from rota.triggers.warnings import warnings
from rota.triggers.zones import names

COUNT: Final = 10
MAX_LENGTH: Final = 4_000

_KINDS: Final = {
    "cron_expr": "cron",
    "interval": "an interval",
    "run_at": "an instant",
    "rrule": "an RRULE",
    "text": "English",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What there is to say about a text."""

    read_as: str = ""
    meaning: str = ""
    timezone: str = "UTC"
    slots: tuple[Slot, ...] = ()
    warnings: tuple[str, ...] = ()
    wrong: str = ""
    """Why it cannot be; empty when it can."""
    whens: tuple[str, ...] = ()
    """Texts that would be understood, and may be what was meant."""
    zones: tuple[str, ...] = ()
    """Zones that may have been meant."""


def look(text: str, timezone: str, *, now: datetime, days: Days | None = None) -> Look:
    """What the text means in the zone, from now on, on the calendar's days."""
    if not text.strip():
        return Look(whens=EXAMPLES)
    try:
        trigger = _trigger(text[:MAX_LENGTH], timezone or None, now, days)
        require_future(trigger, now)
    except InvalidInput as error:
        return _refused(error, timezone)
    return Look(
        read_as=_KINDS[kind(text)],
        meaning=_meaning(trigger),
        timezone=trigger.timezone,
        slots=tuple(preview(trigger, after=now, count=COUNT)),
        warnings=tuple(warnings(trigger, after=now)),
    )


def _trigger(text: str, timezone: str | None, now: datetime, days: Days | None) -> Trigger:
    trigger = parse(text, timezone, now=now)
    if isinstance(trigger, Interval) and trigger.anchor is None:
        trigger = trigger.anchored(now)
    return trigger if days is None else Filtered(trigger, days)


def _meaning(trigger: Trigger) -> str:
    """In English; an anchor that is simply now says nothing."""
    words = explain(trigger)
    return words[:1].upper() + words.partition(", counted from")[0][1:]


def _refused(error: InvalidInput, timezone: str) -> Look:
    if error.field == "timezone":
        return Look(wrong=error.message, zones=near_zones(timezone))
    choices = error.choices if isinstance(error, InvalidText) else ()
    unknown = isinstance(error, InvalidText) and not choices
    message = error.message.partition(". Say ")[0] + "." if choices or unknown else error.message
    return Look(wrong=message, whens=choices or (EXAMPLES if unknown else ()))


def near_zones(text: str, *, most: int = 5) -> tuple[str, ...]:
    """Zones whose names hold what was written."""
    wanted = text.strip().lower().replace(" ", "_")
    if len(wanted) < 3:
        return ()
    found = sorted(name for name in names() if wanted in name.lower())
    if not found:
        by_lower = {name.lower(): name for name in names() if name[:3].lower() == wanted[:3]}
        close = difflib.get_close_matches(wanted, sorted(by_lower), n=most, cutoff=0.7)
        return tuple(by_lower[each] for each in close)
    # A place itself before what only has it somewhere in its name.
    return tuple(sorted(found, key=lambda name: not name.lower().endswith(wanted))[:most])
