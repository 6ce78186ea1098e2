"""Instants as people read them. Pure. A time never stands without its zone.

`next_run` reads "in 4 min · 09:00 New York · 14:00 UTC"; the viewer's own zone is added in the
browser, which alone knows it.
"""

from datetime import datetime, timedelta

from rota.triggers.preview import local_time
from rota.triggers.zones import zone

_UNITS = (
    (timedelta(days=365), "y"),
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "min"),
    (timedelta(seconds=1), "s"),
)


def relative(instant: datetime, now: datetime) -> str:
    """How far away: "in 4 min", "3 h ago", "now"."""
    gap = instant - now
    length = compact(abs(gap))
    if length == "0 s":
        return "now"
    return f"in {length}" if gap > timedelta() else f"{length} ago"


def compact(length: timedelta) -> str:
    """A length of time by its largest unit, or its two largest where one alone says little."""
    for at, (unit, word) in enumerate(_UNITS):
        if length < unit:
            continue
        count = length // unit
        rest = length - count * unit
        if count < 3 and at + 1 < len(_UNITS) and rest >= _UNITS[at + 1][0]:
            return f"{count} {word} {rest // _UNITS[at + 1][0]} {_UNITS[at + 1][1]}"
        return f"{count} {word}"
    return "0 s"


def duration(milliseconds: float | None) -> str:
    """How long something took: "12 ms", "1.25 s", "3 min"."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 60_000:
        return f"{milliseconds / 1_000:.2f} s"
    return compact(timedelta(milliseconds=milliseconds))


def place(timezone: str) -> str:
    """What people call a zone: New York, UTC, +05:30."""
    return timezone.rpartition("/")[2].replace("_", " ")


def clock(instant: datetime, timezone: str, now: datetime) -> str:
    """The wall clock of a zone: "09:00 New York", with the date unless it is today's there."""
    local, today = at(instant, timezone), at(now, timezone)
    time = f"{local:%H:%M}" if local.second == 0 else f"{local:%H:%M:%S}"
    if local.date() == today.date():
        return f"{time} {place(timezone)}"
    year = "" if local.year == today.year else f" {local:%Y}"
    return f"{local:%a} {local.day} {local:%b}{year} {time} {place(timezone)}"


def next_run(instant: datetime, timezone: str, now: datetime) -> str:
    """How far away, on the schedule's wall clock, and in UTC."""
    words = [relative(instant, now), clock(instant, timezone, now)]
    if place(timezone) != "UTC":
        words.append(clock(instant, "UTC", now))
    return " · ".join(words)


def at(instant: datetime, timezone: str) -> datetime:
    """The instant on a zone's wall clock."""
    return local_time(instant, zone(timezone))
