"""A text in English to a trigger: deterministic, offline, and told what "now" is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING

from rota import durations
from rota.errors import InvalidInput, InvalidText, InvalidTimezone
from rota.triggers.at import ISO, At, parse_instant
from rota.triggers.civil import floor_second
from rota.triggers.english import refusals, words
from rota.triggers.english.meaning import trigger_of
from rota.triggers.english.phrases import PHRASES
from rota.triggers.english.refusals import Ambiguity
from rota.triggers.english.said import Said
from rota.triggers.english.spellings import plain
from rota.triggers.interval import MAX_PERIOD, Interval
from rota.triggers.limits import Limited
from rota.triggers.recurrence import Recurrence
from rota.triggers.zones import Zone, looks_like_zone, zone

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from rota.triggers.trigger import Trigger

# The longest cron expression, in words, is well within this.
MAX_LENGTH = 2_048
MAX_WORDS = 400
# Nothing that makes sense has more phrases than there are kinds of them, each with a joint.
_MOST_PHRASES = 24
#: Texts longer than this are refused without choices: nobody would read them.
_MOST_WITH_CHOICES = 256

_BRACKETED_ZONE = re.compile(r"(.*\S) ?\(([^()]+)\)")
_TRAILING_ZONE = re.compile(r"(.*\S) (\S+)")
# Known as zones in whatever case. All but the first two are then refused: each means several.
_ANY_CASE = frozenset(
    (
        *("UTC", "Z", "GMT", "ET", "CT", "MT", "PT"),
        *("EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "HST"),
        *("BST", "IST", "WET", "CET", "CEST", "EET", "EEST", "MSK"),
        *("JST", "AWST", "ACST", "AEST", "AEDT", "NZST", "NZDT"),
    )
)
_LIMIT = re.compile(
    r",? (starting|beginning|until|counted from)(?: from)? (?:on |at )?"
    rf"({ISO.pattern})(?=,| starting| beginning| until| at most|$)",
    re.ASCII | re.IGNORECASE,
)
_MOST_TIMES = re.compile(r",? (?:at most|up to) (\d{1,9}) times?$", re.IGNORECASE)
_RULE = re.compile(r"(?:by the rule )?((?:RRULE|DTSTART|FREQ).*)", re.IGNORECASE)
_ONCE = re.compile(r"(?:once )?(?:(?:at|on) )?(.*)", re.IGNORECASE)
_DELAY = re.compile(r"in (.*)|(.*) from now")
_CALENDAR_DELAY = re.compile(r"in (an?|\d{1,3}) (month|year)s?")
_SLASH_DATE = re.compile(r"\b(\d{1,2})/(\d{1,2})(?:/(\d{2,4}))?\b")


@dataclass(frozen=True, slots=True)
class _Limits:
    """What "starting …", "until …" and "at most …" say, and those words themselves."""

    words: str = ""
    start_at: datetime | None = None
    end_at: datetime | None = None
    max_firings: int | None = None
    anchor: datetime | None = None
    """What an interval counts from."""


def read(text: str, *, timezone: str | None = None, now: datetime | None = None) -> Trigger:
    """The trigger a text describes; `now` is needed only by texts such as "in 20 minutes"."""
    if len(text) > MAX_LENGTH:
        raise InvalidText(f"Expected at most {MAX_LENGTH} characters, got {len(text)}")
    tidy = " ".join(text.split())
    if tidy.count(" ") >= MAX_WORDS:
        raise InvalidText(f"Expected at most {MAX_WORDS} words, got {tidy.count(' ') + 1}")
    unzoned, in_zone = _split_zone(tidy, timezone)
    rest, limits = _split_limits(unzoned, in_zone)
    try:
        trigger = _trigger(rest, in_zone, now)
    except Ambiguity as found:
        choices = _choices(found, in_zone, now) if len(text) <= _MOST_WITH_CHOICES else []
        bracket = f" ({in_zone.name})" if unzoned != tidy else ""
        spelled = (_within_limits(choice, limits) + bracket for choice in choices)
        raise refusals.ambiguous(unzoned, found.why, tuple(spelled)) from None
    return _limited(trigger, limits)


def _split_zone(text: str, timezone: str | None) -> tuple[str, Zone]:
    """The text without its zone, and the zone: the text's own, else the one given, else UTC."""
    match = _BRACKETED_ZONE.fullmatch(text)
    if match is None:
        match = _TRAILING_ZONE.fullmatch(text)
        if match is None or not _is_zone(match[2]) or ISO.fullmatch(match[0]):
            return text, zone(timezone or "UTC")
    name = match[2].upper() if match[2].upper() in _ANY_CASE else match[2]
    said = zone(name)
    if timezone is not None and zone(timezone).name != said.name:
        raise InvalidTimezone(
            f"Invalid timezone: expected one, got {timezone} beside {said.name} in the text",
            field="timezone",
        )
    return re.sub(r"[, ]*(?:[, ]in)?$", "", match[1]), said


def _is_zone(word: str) -> bool:
    if word.lower() in {"past", "last"}:  # They look like PST in capitals.
        return False
    return word.upper() in _ANY_CASE or looks_like_zone(word)


def _split_limits(text: str, in_zone: Zone) -> tuple[str, _Limits]:
    """Takes "starting …", "until …" and "at most …" out of the text."""
    found: dict[str, datetime] = {}
    for match in _LIMIT.finditer(text):
        name = match[1].lower().replace("beginning", "starting")
        if name in found:
            raise InvalidText(f'Expected "{name}" once, got it twice in "{refusals.shown(text)}"')
        found[name] = parse_instant(match[2], in_zone)
        if name == "until" and ":" not in match[2]:
            # The last second of a day: "until friday" includes friday.
            found[name] = parse_instant(f"{match[2]} 23:59:59", in_zone)
    said = "".join(match[0] for match in _LIMIT.finditer(text))
    rest = _LIMIT.sub("", text)
    times = _MOST_TIMES.search(rest)
    if times:
        said += times[0]
        rest = rest[: times.start()]
    return rest, _Limits(
        said,
        found.get("starting"),
        found.get("until"),
        int(times[1]) if times else None,
        found.get("counted from"),
    )


def _limited(trigger: Trigger, limits: _Limits) -> Trigger:
    if limits.anchor is not None:
        if not isinstance(trigger, Interval):
            raise InvalidText('Expected "counted from" with an interval, such as "every 5 minutes"')
        trigger = trigger.anchored(limits.anchor)
    if limits.start_at is limits.end_at is limits.max_firings is None:
        return trigger
    return Limited(trigger, limits.start_at, limits.end_at, limits.max_firings)


def _trigger(text: str, in_zone: Zone, now: datetime | None) -> Trigger:
    """What is left of the text: one of four forms, or a sentence."""
    tidy = plain(text)
    return (
        _rule(text, in_zone)
        or _one_instant(text, in_zone)
        or _interval(tidy, in_zone)
        or _delay(tidy, in_zone, now)
        or _sentence(tidy, in_zone, now, typed=text)
    )


def _rule(text: str, in_zone: Zone) -> Recurrence | None:
    match = _RULE.fullmatch(text)
    return Recurrence.parse(match[1], in_zone.name) if match else None


def _one_instant(text: str, in_zone: Zone) -> At | None:
    match = _ONCE.fullmatch(text)
    if match is None or not ISO.fullmatch(match[1]):
        return None
    return At.parse(match[1], in_zone.name)


def _interval(text: str, in_zone: Zone) -> Interval | None:
    """Every 5 minutes, with nothing else said."""
    length = text.removeprefix("every ").removeprefix("each ")
    if length == text or _length(length) is None:
        return None
    return Interval.parse(length, in_zone.name)


def _delay(text: str, in_zone: Zone, now: datetime | None) -> At | None:
    """In 20 minutes, 20 minutes from now."""
    if match := _CALENDAR_DELAY.fullmatch(text):
        raise refusals.calendar_delay(match)
    match = _DELAY.fullmatch(text)
    length = _length(match[1] or match[2]) if match else None
    if length is None:
        return None
    if now is None:
        raise InvalidText(f'"{text}" counts from now, and no present instant was given')
    if not length:
        raise InvalidText(f'Expected a time to come, got "{text}"')
    if length > MAX_PERIOD:
        raise InvalidText(f'Expected a time within 100 years, got "{text}"')
    floor_second(now)
    instant = now.astimezone(UTC).replace(microsecond=0) + length
    floor_second(instant)  # Refuses what is outside the calendar.
    return At(instant, in_zone.name)


def _length(text: str) -> timedelta | None:
    try:
        return durations.parse(text)
    except durations.InvalidDuration:
        return None


def _sentence(text: str, in_zone: Zone, now: datetime | None, *, typed: str) -> Trigger:
    if found := _SLASH_DATE.search(text):
        raise refusals.slash_date(text, found)
    if odd := words.odd_letters(text):
        raise refusals.unknown(typed, odd)
    cursor = words.Cursor(words.tokens(text))
    parts_of_day = cursor.parts_of_day()
    said = Said(text, part_of_day=parts_of_day.pop() if len(parts_of_day) == 1 else None)
    if cursor.done:
        raise refusals.unknown(typed, typed)
    for _ in range(_MOST_PHRASES):
        if cursor.done:
            return trigger_of(said, in_zone, now)
        if any(phrase(cursor, said) for phrase in PHRASES):
            continue
        comma = cursor.take(",")
        said.joined |= (joint := cursor.take("and", "or"))
        if cursor.done or not (comma or joint):
            raise refusals.unknown(typed, cursor.rest() or typed)
    raise InvalidText(f'Expected one schedule, got "{refusals.shown(typed)}"')


def _choices(found: Ambiguity, in_zone: Zone, now: datetime | None) -> list[str]:
    """Those candidates that are understood; for one that is ambiguous itself, its own."""
    choices: list[str] = []
    for candidate in found.candidates:
        try:
            _trigger(candidate, in_zone, now)
        except Ambiguity as inner:
            choices += [text for text in inner.candidates if _is_understood(text, in_zone, now)]
        except InvalidInput:
            continue
        else:
            choices.append(candidate)
    return list(dict.fromkeys(choices))


def _is_understood(text: str, in_zone: Zone, now: datetime | None) -> bool:
    try:
        _trigger(text, in_zone, now)
    except (Ambiguity, InvalidInput):
        return False
    return True


def _within_limits(choice: str, limits: _Limits) -> str:
    if not limits.words:
        return choice
    by_rule = "by the rule " if _RULE.fullmatch(choice) else ""
    return f"{by_rule}{choice}{limits.words}"
