"""Asking about time without a server: `rota.parse`, `rota.preview`, `rota.explain`.

The edge at which "now" enters: the triggers themselves read no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota.clock import SystemClock
from rota.triggers import english
from rota.triggers import parse as triggers_parse
from rota.triggers import preview as triggers_preview
from rota.triggers.trigger import Trigger

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.parse import When


def parse(when: When, timezone: str | None = None, *, now: datetime | None = None) -> Trigger:
    """The trigger that a cron expression, interval, instant, RRULE or English text describes.

    `trigger.next_after(instant)` gives the next slot, as an aware UTC datetime or None. What cannot
    be read raises a ValueError that says what was expected. `now` is the clock's unless given; only
    texts such as "in 20 minutes" use it.
    """
    return triggers_parse.parse(when, timezone, now=now or SystemClock().now())


def preview(
    when: When | Trigger,
    timezone: str | None = None,
    *,
    after: datetime | None = None,
    count: int = 5,
) -> list[datetime]:
    """The next instants (aware, UTC) strictly after an instant; after now unless given."""
    start = after or SystemClock().now()
    return triggers_preview.slots(_trigger(when, timezone, start), after=start, count=count)


def explain(when: When | Trigger, timezone: str | None = None) -> str:
    """What it means, in English that `parse` understands."""
    return english.explain(_trigger(when, timezone, SystemClock().now()))


def _trigger(when: When | Trigger, timezone: str | None, now: datetime) -> Trigger:
    if isinstance(when, Trigger):
        return when
    return triggers_parse.parse(when, timezone, now=now)
