"""Read one zone of the IANA database: a TZif file (RFC 9636) into a list of offset changes.

The standard library reads the same files but keeps the changes to itself, and a scheduler needs
them: to know where a gap begins, to say so in a preview, and to compute with integers.
"""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from rota.triggers.civil import DAY, FIRST_DAYS, FIRST_YEAR, LAST_YEAR, LENGTHS

#: (instant, seconds east of UTC from then on)
Change = tuple[int, int]

_HEADER = struct.Struct(">4sc15x6L")
_TIME = r"[+-]?\d{1,3}(?::\d{2}){0,2}"
_NAME = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)"
_RULE = rf"(M\d{{1,2}}\.\d\.\d|J\d{{1,3}}|\d{{1,3}})(?:/({_TIME}))?"
_FOOTER = re.compile(rf"{_NAME}({_TIME})(?:{_NAME}({_TIME})?,{_RULE},{_RULE})?")


def read(data: bytes) -> tuple[int, list[Change]]:
    """The offset before the first change, and every change until the calendar's end."""
    first, changes, footer = _read_body(data)
    if footer:
        changes = changes + [
            change for change in _from_rule(footer) if not changes or change[0] > changes[-1][0]
        ]
    return first, _without_repeats(first, changes)


def _read_body(data: bytes) -> tuple[int, list[Change], str]:
    """The 64-bit block: offset at the start, listed changes, and the rule for the time after."""
    magic, _, *counts = _HEADER.unpack_from(data)
    if magic != b"TZif":
        raise ValueError("expected a TZif file")
    isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt = counts
    skipped = timecnt * 5 + typecnt * 6 + charcnt + leapcnt * 8 + isstdcnt + isutcnt
    at = _HEADER.size + skipped
    _, _, isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt = _HEADER.unpack_from(data, at)
    at += _HEADER.size
    times = struct.unpack_from(f">{timecnt}q", data, at)
    at += timecnt * 8
    kinds = data[at : at + timecnt]
    at += timecnt
    offsets = [struct.unpack_from(">l", data, at + 6 * kind)[0] for kind in range(typecnt)]
    at += typecnt * 6 + charcnt + leapcnt * 12 + isstdcnt + isutcnt
    footer = data[at:].strip(b"\n").decode("ascii")
    return (
        offsets[0],
        [(time, offsets[kind]) for time, kind in zip(times, kinds, strict=True)],
        footer,
    )


def _without_repeats(first: int, changes: list[Change]) -> list[Change]:
    """Only the changes that move the clock: a new abbreviation alone moves nothing."""
    kept: list[Change] = []
    current = first
    for at, offset in changes:
        if offset != current:
            kept.append((at, offset))
            current = offset
    return kept


class _Yearly(NamedTuple):
    """The same change every year: a day by rule, and seconds after its midnight."""

    rule: str
    second: int


def _from_rule(footer: str) -> list[Change]:
    """The changes of a POSIX TZ rule, for every year of the calendar."""
    match = _FOOTER.fullmatch(footer)
    if match is None:
        raise ValueError(f"expected a POSIX TZ rule, got {footer!r}")
    standard_text, summer_text, to_rule, to_time, back_rule, back_time = match.groups()
    standard = -_seconds(standard_text)
    if to_rule is None:
        return [((FIRST_DAYS[0] - 1) * DAY, standard)]
    summer = -_seconds(summer_text) if summer_text else standard + 3600
    forward = _Yearly(to_rule, _seconds(to_time) if to_time else 7200)
    back = _Yearly(back_rule, _seconds(back_time) if back_time else 7200)
    changes: list[Change] = []
    for year in range(LAST_YEAR - FIRST_YEAR + 1):
        changes.append((_day(forward.rule, year) * DAY + forward.second - standard, summer))
        changes.append((_day(back.rule, year) * DAY + back.second - summer, standard))
    return sorted(changes)


def _seconds(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    hours, minutes, seconds = [*text.lstrip("+-").split(":"), "0", "0"][:3]
    return sign * (int(hours) * 3600 + int(minutes) * 60 + int(seconds))


def _day(rule: str, year: int) -> int:
    """The day a yearly rule names, in the year of that index."""
    january = year * 12
    if rule.startswith("M"):
        month, week, weekday = (int(part) for part in rule[1:].split("."))
        return _weekday_of(january + month - 1, week, weekday)
    number = int(rule.lstrip("J"))
    first = FIRST_DAYS[january]
    if not rule.startswith("J"):
        return first + number
    # Jn counts from 1 and leaves 29 February out.
    leap = LENGTHS[january + 1] == 29
    return first + number - 1 + (leap and number >= 60)


def _weekday_of(month: int, week: int, weekday: int) -> int:
    """The n-th such weekday of a month; the fifth means the last."""
    first = FIRST_DAYS[month]
    day = (weekday - (first + 4)) % 7 + (week - 1) * 7
    return first + (day if day < LENGTHS[month] else day - 7)
