"""Time zones: which are accepted, and what their wall clocks read.

The database is the `tzdata` package's, never the machine's own, so that every node of a fleet and
every test agree on it; its version is `VERSION`.

A `Zone` is a list of *stretches* of constant offset. At the border between two the wall clock
jumps forward over a *gap* of times that are never read, or back over an *overlap* of times read
twice. `reached` makes both easy to see: the latest time the wall clock had read before a stretch
began. A stretch that begins later than that follows a gap; one that begins earlier, an overlap.
"""

from __future__ import annotations

import difflib
import importlib.resources
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache, lru_cache

import tzdata

from rota.errors import InvalidTimezone
from rota.triggers import tzif

VERSION: str = tzdata.IANA_VERSION

#: A gap this long is a zone that moved across the date line: that local day did not exist.
DATE_LINE_GAP = 3 * 3600

_FOREVER = 1 << 62
_OFFSET = re.compile(r"([+-])([01]\d):([0-5]\d)")
_MAX_OFFSET = 14 * 3600
# CET, EST, GMT0, PST8PDT: tzdata lists some abbreviations, but each means several things.
_ABBREVIATION = re.compile(r"(GMT|UCT|[A-Z]{1,2}[SDE]T)([+-]?\d+([A-Z]{3})?)?")
_AREA = re.compile(r"[A-Za-z]{3,}/[A-Za-z]")
# Place holders of the database, no place's time.
_NOT_ZONES = frozenset({"Factory", "localtime", "posixrules"})


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone's wall clock, from the beginning to the end of the calendar."""

    name: str
    starts: tuple[int, ...] = field(repr=False)
    offsets: tuple[int, ...] = field(repr=False)
    reached: tuple[int, ...] = field(repr=False)

    def stretch_at(self, second: int) -> int:
        """The index of the stretch in which the instant lies."""
        return bisect_right(self.starts, second) - 1

    def offset_at(self, second: int) -> int:
        """Seconds east of UTC at the instant."""
        return self.offsets[bisect_right(self.starts, second) - 1]

    def local_start(self, stretch: int) -> int:
        """What the wall clock reads as the stretch begins."""
        return self.starts[stretch] + self.offsets[stretch]

    def local_end(self, stretch: int) -> int:
        """What the wall clock would read as the stretch ends, did it not jump."""
        following = stretch + 1
        if following == len(self.starts):
            return _FOREVER
        return self.starts[following] + self.offsets[stretch]

    def next_local_start(self, stretch: int) -> int:
        """What the wall clock reads as the stretch after this one begins."""
        following = stretch + 1
        return _FOREVER if following == len(self.starts) else self.local_start(following)

    def first_reading(self, local: int) -> int:
        """The stretch in which the wall clock first reads this time, or first passes it by."""
        return bisect_right(self.reached, local) - 1

    def first_instant(self, local: int) -> int:
        """When the wall clock first reads this time; for one in a gap, the gap's end."""
        stretch = self.first_reading(local)
        return max(local - self.offsets[stretch], self.starts[stretch])

    def gap_before(self, stretch: int) -> int:
        """The length of the gap that ends as this stretch begins; 0 where there is none."""
        return max(0, self.local_start(stretch) - self.reached[stretch])


@lru_cache(maxsize=1024)
def zone(name: str) -> Zone:
    """The zone of that name: UTC, Z, ±HH:MM or an IANA name."""
    if name in {"UTC", "Z"}:
        return _fixed("UTC", 0)
    if match := _OFFSET.fullmatch(name):
        return _fixed(name, _offset(name, match))
    if name not in names():
        raise InvalidTimezone(_refusal(name), field="timezone")
    return from_file(name, _file(name))


@cache
def names() -> frozenset[str]:
    """Every IANA name that is accepted."""
    listed = (importlib.resources.files(tzdata) / "zones").read_text("ascii").split()
    return frozenset(name for name in listed if _is_place(name))


def looks_like_zone(text: str) -> bool:
    """The text is a zone's name, or an abbreviation or near miss that should be refused as one."""
    return (
        text in names()
        or _OFFSET.fullmatch(text) is not None
        or _ABBREVIATION.fullmatch(text) is not None
        or _AREA.match(text) is not None
    )


def _is_place(name: str) -> bool:
    return name == "UTC" or not (name in _NOT_ZONES or _ABBREVIATION.fullmatch(name))


def package_files() -> dict[str, bytes]:
    """The file of every name that is accepted, as the package has it."""
    return {name: _file(name) for name in sorted(names())}


def from_file(name: str, data: bytes) -> Zone:
    """The zone that a file of any version of the database describes."""
    first, changes = tzif.read(data)
    starts = [-_FOREVER]
    offsets = [first]
    reached = [-_FOREVER]
    for at, offset in changes:
        reached.append(max(reached[-1], at + offsets[-1]))
        starts.append(at)
        offsets.append(offset)
    return Zone(name, tuple(starts), tuple(offsets), tuple(reached))


def _file(name: str) -> bytes:
    # The name was found in the package's own list, so it cannot lead out of the package.
    return importlib.resources.files(tzdata).joinpath("zoneinfo", *name.split("/")).read_bytes()


def _fixed(name: str, offset: int) -> Zone:
    return Zone(name, (-_FOREVER,), (offset,), (-_FOREVER,))


def _offset(name: str, match: re.Match[str]) -> int:
    sign, hours, minutes = match.groups()
    offset = int(hours) * 3600 + int(minutes) * 60
    if offset > _MAX_OFFSET:
        raise InvalidTimezone(
            f"Invalid timezone: {name}. Expected an offset from -14:00 to +14:00", field="timezone"
        )
    return -offset if sign == "-" else offset


def _refusal(name: str) -> str:
    shown = name if len(name) <= 64 else f"{name[:61]}..."
    message = f"Invalid timezone: {shown}. Use IANA format (e.g., America/New_York)"
    near = _nearest(name)
    return f"{message}. Did you mean {near}?" if near else message


def _nearest(name: str) -> str | None:
    """The accepted name that was probably meant; nothing for an abbreviation, which has several."""
    if not 4 < len(name) <= 64 or _ABBREVIATION.fullmatch(name.upper()):
        return None
    wanted = name.lower().replace(" ", "_")
    by_lower, by_place = _spellings()
    if wanted in by_lower or wanted in by_place:
        return by_lower.get(wanted) or by_place[wanted]
    # Only names of the same beginning are compared: comparing with all takes milliseconds.
    candidates = [known for known in by_lower if known[:3] == wanted[:3]]
    close = difflib.get_close_matches(wanted, candidates, n=1, cutoff=0.8)
    return by_lower[close[0]] if close else None


@cache
def _spellings() -> tuple[dict[str, str], dict[str, str]]:
    """Every name by its lower case, and by the lower case of its last part alone."""
    known = sorted(names())
    return (
        {name.lower(): name for name in known},
        {name.rsplit("/", 1)[-1].lower(): name for name in known},
    )
