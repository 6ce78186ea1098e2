"""The clock on the wall of every zone, read through zoneinfo from the tzdata package's files.

Nothing here is shared with the evaluator: the standard library reads the same files in its own
way. A `Clock` answers two questions: what does the wall read at this instant, and at which
instants did the clock change?
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from importlib.resources import files
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

WEEK = 7 * 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Change(NamedTuple):
    """The first second of a new offset; offsets are seconds east of UTC."""

    at: int
    before: int
    after: int

    @property
    def leap(self) -> int:
        """Seconds the wall clock jumps: positive leaves a gap, negative an overlap."""
        return self.after - self.before


class Stretch(NamedTuple):
    """Instants `start` up to `end` (not included) that share one offset."""

    start: int
    end: int
    offset: int


def epoch(instant: datetime) -> int:
    """Whole seconds since 1970, rounded down."""
    return (instant - EPOCH) // timedelta(seconds=1)


def utc(seconds: int) -> datetime:
    return EPOCH + timedelta(seconds=seconds)


@dataclass(frozen=True)
class Clock:
    """One zone's wall clock. Zones with the same file share the same Clock."""

    zone: tzinfo
    # Instants at which the file itself lists a change; later ones follow from its last line.
    listed: tuple[int, ...] = ()
    _years: dict[int, list[Change]] = field(
        default_factory=dict[int, list[Change]], compare=False, repr=False
    )

    def offset(self, at: int) -> int:
        offset = datetime.fromtimestamp(at, self.zone).utcoffset()
        assert offset is not None
        return offset // timedelta(seconds=1)

    def wall(self, at: int) -> datetime:
        """What the wall reads: a naive datetime."""
        return datetime.fromtimestamp(at, self.zone).replace(tzinfo=None, fold=0)

    def changes(self, start: int, end: int) -> list[Change]:
        """Every change of offset with start <= at < end."""
        years = range(utc(start).year, utc(end).year + 1)
        return [c for year in years for c in self._in_year(year) if start <= c.at < end]

    def stretches(self, start: int, end: int) -> list[Stretch]:
        """[start, end) cut wherever the offset changes."""
        changes = self.changes(start + 1, end)
        edges = [start, *(change.at for change in changes), end]
        offsets = [self.offset(start), *(change.after for change in changes)]
        return [
            Stretch(left, right, offset)
            for (left, right), offset in zip(pairwise(edges), offsets, strict=True)
        ]

    def _in_year(self, year: int) -> list[Change]:
        if year not in self._years:
            self._years[year] = self._find(
                epoch(datetime(year, 1, 1, tzinfo=UTC)), epoch(datetime(year + 1, 1, 1, tzinfo=UTC))
            )
        return self._years[year]

    def _find(self, start: int, end: int) -> list[Change]:
        """Look every week and around everything the file lists, then close in."""
        listed = self.listed[bisect_left(self.listed, start) : bisect_right(self.listed, end)]
        looks = {*range(start - 1, end, WEEK), end - 1, *listed, *(at - 1 for at in listed)}
        points = sorted(at for at in looks if start - 1 <= at < end)
        found: list[Change] = []
        for left, right in pairwise(points):
            if self.offset(left) != self.offset(right):
                at = self._close_in(left, right)
                found.append(Change(at, self.offset(at - 1), self.offset(at)))
        return found

    def _close_in(self, left: int, right: int) -> int:
        before = self.offset(left)
        while right - left > 1:
            middle = (left + right) // 2
            if self.offset(middle) == before:
                left = middle
            else:
                right = middle
        return right


def tzdata_names() -> list[str]:
    """Every name the tzdata package lists, abbreviations included."""
    return sorted(files("tzdata").joinpath("zones").read_text().split())


@cache
def clock(name: str) -> Clock:
    """The clock for an IANA name, UTC, Z or a fixed offset such as +05:30."""
    if name in {"UTC", "Z"}:
        return Clock(UTC)
    if name[0] in "+-":
        sign = -1 if name[0] == "-" else 1
        hours, minutes = int(name[1:3]), int(name[4:6])
        return Clock(timezone(sign * timedelta(hours=hours, minutes=minutes)))
    return _clock_of(_file(name))


def digest(name: str) -> str:
    """The same for all names whose files are byte for byte the same."""
    return hashlib.sha256(_file(name)).hexdigest()


@cache
def _clock_of(data: bytes) -> Clock:
    return Clock(ZoneInfo.from_file(BytesIO(data)), listed=_listed_changes(data))


def _file(name: str) -> bytes:
    return files("tzdata.zoneinfo").joinpath(*name.split("/")).read_bytes()


def _listed_changes(data: bytes) -> tuple[int, ...]:
    """The 64-bit transition times of a TZif file (RFC 9636): the second of its two blocks."""
    isut, isstd, leaps, times, types, chars = struct.unpack(">6l", data[20:44])
    second = 44 + times * 5 + types * 6 + chars + leaps * 8 + isstd + isut
    count = struct.unpack(">6l", data[second + 20 : second + 44])[3]
    return struct.unpack(f">{count}q", data[second + 44 : second + 44 + 8 * count])
