"""Whatever a program writes for "when", as the API's field for it. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from rota import durations
from rota.triggers.at import ISO

When = str | datetime | timedelta
"""English, cron, "every 5m", an instant, an RRULE; a datetime; a timedelta."""

_RULE = re.compile(r"\s*(RRULE|DTSTART|RDATE|EXDATE|FREQ=)", re.IGNORECASE)
_LIKE_CRON = re.compile(r"[*?#@]|\s*[\d,/-]+\s+[\d,/-]+(\s|$)")


def trigger(when: object) -> dict[str, Any]:
    """The field that it is, so that a schedule reads back as what it was; TypeError for others."""
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
    return _of_text(when)


def _of_text(when: str) -> dict[str, Any]:
    if ISO.fullmatch(when.strip()):
        return {"run_at": when.strip()}
    if _RULE.match(when):
        return {"rrule": when}
    try:
        durations.parse(when)
    except durations.InvalidDuration:
        return {"cron_expr": when} if _LIKE_CRON.match(when) or "*" in when else {"text": when}
    return {"interval": when}
