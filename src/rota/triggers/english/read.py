"""A text in English to a trigger: deterministic, offline, and told what "now" is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rota import durations
from rota.errors import InvalidText, InvalidTimezone
from rota.triggers.at import ISO, At, parse_instant
from rota.triggers.english import refusals, words
from rota.triggers.english.meaning import trigger_of
from rota.triggers.english.phrases import PHRASES
from rota.triggers.english.said import Said
from rota.triggers.interval import Interval
from rota.triggers.limits import Limited
from rota.triggers.zones import Zone, looks_like_zone, zone

if TYPE_CHECKING:
    from datetime import datetime

    from rota.triggers.trigger import Trigger

_BRACKETED_ZONE = re.compile(r"(.*\S)\s*\(([^()]+)\)")
_TRAILING_ZONE = re.compile(r"(.*\S)\s+(\S+)")
_LIMIT = re.compile(
    rf",? (starting|until|counted from) (?:on |at )?({ISO.pattern})(?=,| starting| until| at most|$)",
    re.ASCII | re.IGNORECASE,
)
_ONCE = re.compile(r"(?:once )?(?:(?:at|on) )?(.*)", re.IGNORECASE)
_SLASH_DATE = re.compile(r"\b(\d{1,2})/(\d{1,2})(?:/\d{2,4})?\b")


def read(text: str, *, timezone: str | None = None, now: datetime | None = None) -> Trigger:
    """The trigger a text describes; `now` is needed only by texts such as "in 20 minutes"."""
    if len(text) > words.MAX_LENGTH:
        raise InvalidText(f"Expected at most {words.MAX_LENGTH} characters, got {len(text)}")
    tidy, in_zone = _split_zone(" ".join(text.split()), timezone)
    said = Said(text=tidy)
    tidy, anchor = _split_limits(tidy, said, in_zone)
    if anchor is None:
        trigger = (
            _one_instant(tidy, in_zone)
            or _interval(tidy, in_zone)
            or _sentence(tidy, said, in_zone, now)
        )
    else:
        interval = _interval(tidy, in_zone)
        if interval is None:
            raise refusals.unknown(text, "counted from")
        trigger = interval.anchored(anchor)
    if said.start_at is said.end_at is said.max_firings is None:
        return trigger
    return Limited(trigger, said.start_at, said.end_at, said.max_firings)


def _split_zone(text: str, timezone: str | None) -> tuple[str, Zone]:
    """The text without its zone, and the zone: the text's own, else the one given, else UTC."""
    match = _BRACKETED_ZONE.fullmatch(text)
    if match is None:
        match = _TRAILING_ZONE.fullmatch(text)
        if match is None or not looks_like_zone(match[2]) or ISO.fullmatch(match[0]):
            return text, zone(timezone or "UTC")
    said = zone(match[2])
    if timezone is not None and zone(timezone).name != said.name:
        raise InvalidTimezone(
            f"Invalid timezone: expected one, got {timezone} beside {said.name} in the text",
            field="timezone",
        )
    return re.sub(r"[, ]+in$", "", match[1]), said


def _split_limits(text: str, said: Said, in_zone: Zone) -> tuple[str, datetime | None]:
    """Takes "starting …" and "until …" out of the text; returns what an interval counts from."""
    anchor = None
    for match in _LIMIT.finditer(text):
        instant = parse_instant(match[2], in_zone)
        if match[1].lower() == "starting":
            said.start_at = instant
        elif match[1].lower() == "until":
            said.end_at = instant if ":" in match[2] else _end_of_day(match[2], in_zone)
        else:
            anchor = instant
    rest = _LIMIT.sub("", text)
    if match := re.search(r",? at most (\d{1,9}) times?$", rest):
        said.max_firings = int(match[1])
        rest = rest[: match.start()]
    return rest, anchor


def _end_of_day(date: str, in_zone: Zone) -> datetime:
    """The last second of a day: "until friday" includes friday."""
    return parse_instant(f"{date} 23:59:59", in_zone)


def _one_instant(text: str, in_zone: Zone) -> At | None:
    match = _ONCE.fullmatch(text)
    if match is None or not ISO.fullmatch(match[1]):
        return None
    return At(parse_instant(match[1], in_zone), in_zone.name)


def _interval(text: str, in_zone: Zone) -> Interval | None:
    """Every 5 minutes, with nothing else said."""
    length = text.lower().removeprefix("every ")
    if length == text.lower():
        return None
    try:
        durations.parse(length)
    except durations.InvalidDuration:
        return None
    return Interval.parse(length, in_zone.name)


def _sentence(text: str, said: Said, in_zone: Zone, now: datetime | None) -> Trigger:
    if found := _SLASH_DATE.search(text):
        raise refusals.slash_date(text, found)
    cursor = words.Cursor(words.tokens(text))
    if cursor.done:
        raise refusals.unknown(text, text)
    while not cursor.done:
        if any(phrase(cursor, said) for phrase in PHRASES):
            continue
        comma = cursor.take(",")
        said.joined |= (joint := cursor.take("and", "or"))
        if cursor.done or not (comma or joint):
            raise refusals.unknown(text, cursor.rest() or text)
    return trigger_of(said, in_zone, now)
