"""The lines of a recurrence: one RRULE, perhaps a DTSTART, and dates to add or to leave out.

Lines may be separated by line breaks or by spaces; a lone rule needs no "RRULE:" before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rota.errors import InvalidRecurrence, InvalidTimezone
from rota.triggers.civil import DAY, day_number
from rota.triggers.recurrence import parts
from rota.triggers.recurrence.moments import Moment
from rota.triggers.recurrence.rule import Rule, refusal, show_time
from rota.triggers.zones import Zone, zone

MAX_LENGTH = 1_024
#: Where a rule without a DTSTART begins: a Monday and a first of January, at midnight.
DEFAULT_START = day_number(1990, 1, 1) * DAY

_PROPERTIES = ("DTSTART", "RRULE", "RDATE", "EXDATE")


@dataclass(frozen=True, slots=True)
class Definition:
    """All that a text says. `start` is a reading of the zone's wall clock."""

    rule: Rule
    zone: Zone
    start: int = DEFAULT_START
    has_own_start: bool = False
    added: tuple[int, ...] = ()
    """RDATE: instants at which it fires besides."""
    excluded: frozenset[int] = frozenset()
    """EXDATE with a time: instants at which it does not fire."""
    excluded_days: frozenset[int] = frozenset()
    """EXDATE with a date alone: local days on which it does not fire."""

    @property
    def text(self) -> str:
        """The same meaning in one line and one order; it can be parsed again."""
        lines = [f"DTSTART:{show_time(self.start)}"] if self.has_own_start else []
        lines.append(f"RRULE:{self.rule}")
        if self.added:
            lines.append(f"RDATE:{_instants(self.added)}")
        if self.excluded:
            lines.append(f"EXDATE:{_instants(sorted(self.excluded))}")
        if self.excluded_days:
            days = ",".join(show_time(day * DAY)[:8] for day in sorted(self.excluded_days))
            lines.append(f"EXDATE;VALUE=DATE:{days}")
        return " ".join(lines) if len(lines) > 1 else str(self.rule)


class _Line(NamedTuple):
    """One property: "EXDATE;TZID=Europe/Madrid:20250101T090000"."""

    name: str
    value: str
    zone: Zone | None = None
    value_type: str | None = None

    def moments(self) -> list[Moment]:
        found = [Moment.parse(self.name, text) for text in self.value.split(",")]
        for moment, text in zip(found, self.value.split(","), strict=True):
            if self.value_type and moment.is_date != (self.value_type == "DATE"):
                raise refusal(self.name, f"a value of type {self.value_type}", text)
            if self.zone and moment.is_utc:
                raise refusal(self.name, "a local time beside TZID, without Z", text)
        return found


def parse(text: str, timezone: str) -> Definition:
    """What the text says, its wall clock being the DTSTART's own or the given zone's."""
    _check_letters(text)
    lines = [_line(line) for line in text.split()]
    rules = [line.value for line in lines if line.name == "RRULE"]
    starts = [line for line in lines if line.name == "DTSTART"]
    if len(rules) != 1:
        raise refusal("RRULE", "one rule such as FREQ=DAILY;BYHOUR=9, without spaces", text)
    if len(starts) > 1:
        raise refusal("DTSTART", "at most one", f"{len(starts)}")
    rule = parts.parse(rules[0])
    clock = _clock(starts, timezone)
    if not starts and rule.count:
        raise refusal("COUNT", "a DTSTART to count from", f"COUNT={rule.count} alone")
    return Definition(
        rule,
        clock,
        start=_start(starts[0], clock) if starts else DEFAULT_START,
        has_own_start=bool(starts),
        added=tuple(sorted(set(_added(lines, clock)))),
        excluded=frozenset(
            _instant(moment, line.zone or clock)
            for line, moment in _each(lines, "EXDATE")
            if not moment.is_date
        ),
        excluded_days=frozenset(
            moment.second // DAY for _, moment in _each(lines, "EXDATE") if moment.is_date
        ),
    )


def _check_letters(text: str) -> None:
    if len(text) > MAX_LENGTH:
        raise InvalidRecurrence(
            f"Invalid recurrence rule: expected at most {MAX_LENGTH:,} characters, "
            f"got {len(text):,}"
        )
    for letter in text:
        if not letter.isascii():
            raise InvalidRecurrence(
                f"Invalid recurrence rule: expected ASCII characters only, got {letter!r}"
            )


def _line(text: str) -> _Line:
    # The last colon: a zone such as +05:30 has one of its own, a value never has.
    head, colon, value = text.rpartition(":")
    if not colon:
        return _Line("RRULE", value)
    name, *parameters = head.split(";")
    name = name.upper()
    if name == "EXRULE":
        raise refusal(name, "EXDATE instead (RFC 5545 withdrew EXRULE)", text)
    if name not in _PROPERTIES:
        raise refusal(name[:16], f"one of {', '.join(_PROPERTIES)}", name)
    if name == "RRULE" and parameters:
        raise refusal(name, "no parameters", parameters[0])
    return _Line(name, value, *_read_parameters(name, parameters))


def _read_parameters(name: str, parameters: list[str]) -> tuple[Zone | None, str | None]:
    found: dict[str, str] = {}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        key = key.upper()
        if key not in {"TZID", "VALUE"} or key in found or not value:
            raise refusal(name, "TZID=… and VALUE=…, each once", parameter)
        found[key] = value
    value_type = found["VALUE"].upper() if "VALUE" in found else None
    if value_type not in {None, "DATE", "DATE-TIME"}:
        raise refusal(name, "VALUE=DATE or VALUE=DATE-TIME", str(value_type))
    return _zone(name, found["TZID"]) if "TZID" in found else None, value_type


def _zone(part: str, text: str) -> Zone:
    try:
        return zone(text.strip('"'))
    except InvalidTimezone as problem:
        raise InvalidRecurrence(
            f"Invalid recurrence rule: {part}: {problem.message}", field=part
        ) from None


def _clock(starts: list[_Line], timezone: str) -> Zone:
    """DTSTART's zone where the caller named none; both where they agree."""
    given = zone(timezone)
    own = starts[0].zone if starts else None
    if own is None:
        return given
    if given.name not in {"UTC", own.name}:
        raise refusal("DTSTART", f"TZID={given.name}, as the timezone says", f"TZID={own.name}")
    return own


def _start(line: _Line, clock: Zone) -> int:
    moments = line.moments()
    if len(moments) != 1:
        raise refusal("DTSTART", "one time", line.value)
    second = moments[0].second
    # An instant, read on the wall clock on which the rule will count.
    return second + clock.offset_at(second) if moments[0].is_utc else second


def _added(lines: list[_Line], clock: Zone) -> list[int]:
    found: list[int] = []
    for line, moment in _each(lines, "RDATE"):
        if moment.is_date:
            raise refusal("RDATE", "a date and a time, such as 20250131T090000", line.value)
        found.append(_instant(moment, line.zone or clock))
    return found


def _each(lines: list[_Line], name: str) -> list[tuple[_Line, Moment]]:
    return [(line, moment) for line in lines if line.name == name for moment in line.moments()]


def _instant(moment: Moment, clock: Zone) -> int:
    return moment.second if moment.is_utc else clock.first_instant(moment.second)


def _instants(seconds: list[int] | tuple[int, ...]) -> str:
    return ",".join(f"{show_time(second)}Z" for second in seconds)
