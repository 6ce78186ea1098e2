"""The words of the grammar, the tokens of a text, and a cursor that reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from rota.errors import InvalidText

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

DAY_NAMES = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
#: The longest cron expression, in words, is well within this.
MAX_TOKENS = 640

UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
#: The parts of a day, with the hours at which they begin and end.
DAY_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 6)}

_WEEKDAYS = {
    spelling: number
    for number, name in enumerate(DAY_NAMES)
    for spelling in (name.lower(), name[:3].lower())
} | {"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
_MONTHS = {
    spelling: number
    for number, name in enumerate(MONTH_NAMES, 1)
    for spelling in (name.lower(), name[:3].lower())
} | {"sept": 9}

_TOKEN = re.compile(
    r"\d{4}-\d\d-\d\d(?:t\d\d:\d\d[\d:.]*)?"  # a date, with a time joined to it
    r"|\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?:am|pm)?"  # a time of day
    r"|\d+[a-z]+|\d+(?:/\d+)+|\d+|[a-z]+|,",
    re.ASCII,
)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?(am|pm)?", re.ASCII)
_ORDINAL = re.compile(r"(\d{1,2})(st|nd|rd|th)", re.ASCII)

Time = tuple[int, int, int]


def tokens(text: str) -> list[str]:
    """The words, numbers and times of a text that `spellings.plain` has been through."""
    found: list[str] = _TOKEN.findall(text)
    if len(found) > MAX_TOKENS:
        raise InvalidText(f"Expected at most {MAX_TOKENS} words, got {len(found)}")
    return found


def odd_letters(text: str) -> str:
    """The first thing in a text that is no token."""
    return next(iter(_TOKEN.sub(" ", text).split()), "")


class Cursor:
    """Reads tokens from the left; nothing is taken unless it fits."""

    def __init__(self, found: list[str]) -> None:
        self._tokens = found
        self.at = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self._tokens)

    def peek(self, ahead: int = 0) -> str:
        """A token to come; empty past the end."""
        index = self.at + ahead
        return self._tokens[index] if index < len(self._tokens) else ""

    def rest(self) -> str:
        return " ".join(self._tokens[self.at :])

    def replaced(self, changes: dict[int, str]) -> str:
        """The whole text, with other words for some tokens to come (0 is the next)."""
        found = list(self._tokens)
        for ahead, text in changes.items():
            found[self.at + ahead] = text
        return " ".join(found)

    def parts_of_day(self) -> set[str]:
        """The parts of the day that the text names, read or not."""
        return {part for token in self._tokens if (part := day_part(token))}

    def take(self, *words: str) -> bool:
        """Take the next token if it is one of the words."""
        if self.peek() not in words:
            return False
        self.at += 1
        return True

    def take_phrase(self, phrase: str) -> bool:
        """Take several tokens if they are just these."""
        words = phrase.split()
        if self._tokens[self.at : self.at + len(words)] != words:
            return False
        self.at += len(words)
        return True

    def take_as(self, reader: Callable[[str], T | None]) -> T | None:
        """Take the next token if the reader knows it."""
        value = reader(self.peek())
        if value is not None:
            self.at += 1
        return value

    def take_range(self, reader: Callable[[str], int | None]) -> tuple[int, int] | None:
        """One value, or two with "to" between them."""
        first = self.take_as(reader)
        if first is None:
            return None
        start = self.at
        if self.take("to", "through", "thru"):
            last = self.take_as(reader)
            if last is not None:
                return first, last
            self.at = start
        return first, first

    def take_list(self, item: Callable[[Cursor], T | None], *, most: int = MAX_TOKENS) -> list[T]:
        """Items with commas, "and" or "or" between them; a joint that no item follows is left."""
        found: list[T] = []
        before = self.at
        while (value := item(self)) is not None:
            found.append(value)
            before = self.at
            joined = self.take(",")
            joined = self.take("and", "or") or joined
            if not joined or len(found) == most:
                break
        self.at = before
        return found


def weekday(token: str) -> int | None:
    """Sunday is 0; "mondays" too."""
    known = _WEEKDAYS.get(token)
    return _WEEKDAYS.get(token.removesuffix("s")) if known is None else known


def month(token: str) -> int | None:
    return _MONTHS.get(token)


def unit(token: str) -> str | None:
    """A unit of time by its singular or plural."""
    name = token.removesuffix("s")
    return name if name in UNITS else None


def number(token: str) -> int | None:
    return int(token) if token.isdecimal() and len(token) <= 4 else None


def day_part(token: str) -> str | None:
    """Morning, afternoon, evening or night, by its singular, its plural, or "tonight"."""
    name = {"tonight": "night", "nightly": "night"}.get(token, token.removesuffix("s"))
    return name if name in DAY_PARTS else None


def is_within(hour: int, part: str) -> bool:
    """Whether the hour is in that part of the day."""
    begin, end = DAY_PARTS[part]
    return begin <= hour < end if begin < end else hour >= begin or hour < end


def hour_within(hour: int, part: str) -> int:
    """The hour that is meant by 1 to 12 in a part of the day: 8 in the evening is 20."""
    halves = (hour % 12, hour % 12 + 12) if hour <= 12 else (hour,)
    return next((half for half in halves if is_within(half, part)), hour)


def ordinal(token: str) -> int | None:
    """1st, 2nd, …; also first to fifth."""
    if token in ORDINALS:
        return ORDINALS.index(token) + 1
    match = _ORDINAL.fullmatch(token)
    if match is None or match[0] != ordinal_text(int(match[1])):
        return None
    return int(match[1])


def ordinal_text(value: int) -> str:
    """1st, 2nd, 3rd, 4th, …, 11th, …, 21st."""
    tens, ones = divmod(value, 10)
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(ones, "th")
    return f"{value}{'th' if tens % 10 == 1 else suffix}"


def clock(token: str) -> Time | None:
    """A time of day: 9am, 9:30pm, 17:30, 17:30:15, noon, midnight. Never a bare number."""
    if token in {"noon", "midday"}:
        return 12, 0, 0
    if token == "midnight":  # noqa: S105 - an hour, not a password
        return 0, 0, 0
    match = _CLOCK.fullmatch(token)
    if match is None or not (match[2] or match[4]):
        return None
    hour, minute, second = int(match[1]), int(match[2] or 0), int(match[3] or 0)
    if match[4]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match[4] == "pm" else 0)
    return (hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def clock_text(hour: int, minute: int, second: int = 0) -> str:
    return f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "")
