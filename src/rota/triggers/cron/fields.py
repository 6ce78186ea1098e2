"""One field of a cron expression: text to a bit mask.

Bit n stands for the value n, so "the next value from k on" is a shift and a lowest-bit trick. What
most expressions are made of (a star, one number, one name) is looked up in a table made once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from rota.errors import InvalidCron

_NUMBER = re.compile(r"[0-9]{1,4}")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


@dataclass(frozen=True, slots=True)
class Field:
    """A field's name, its range, and the words that stand for its values."""

    name: str
    low: int
    high: int
    values: int
    names: dict[str, int] = field(default_factory=dict[str, int])
    #: Texts whose mask needs no parsing.
    simple: dict[str, int] = field(default_factory=dict[str, int], repr=False)

    def parse(self, text: str) -> int:
        """The mask of a list of values, ranges and steps."""
        mask = 0
        for item in self.items(text):
            mask |= self.item(item)
        return mask

    def items(self, text: str) -> list[str]:
        """The items of a list, none of them empty."""
        items = text.split(",")
        if "" in items:
            raise self.error("expected a value on both sides of every comma", text)
        return items

    def item(self, text: str) -> int:
        """The mask of one item: `*`, `a`, `a-b`, each with an optional `/n`."""
        known = self.simple.get(text)
        if known is not None:
            return known
        base, slash, step_text = text.partition("/")
        step = self._step(step_text, text) if slash else 1
        first, last = self._range(base, text, to_maximum=bool(slash))
        mask = 0
        for value in range(first, last + 1, step):
            mask |= 1 << value
        return mask

    def value(self, text: str, item: str) -> int:
        """One value: a number in range, or a name. The item is what stands around it."""
        if _NUMBER.fullmatch(text):
            number = int(text)
            if not self.low <= number <= self.high:
                raise self.error(f"expected {self.low} to {self.high}", text)
            return number
        named = self.names.get(text)
        if named is None:
            raise self.error(self._expectation(text), text or item)
        return named

    def error(self, expected: str, got: str) -> InvalidCron:
        """What was expected in this field, and what was there."""
        shown = got if len(got) <= 40 else f"{got[:37]}..."
        return InvalidCron(
            f'Invalid cron expression: {self.name} field: {expected}, got "{shown}"',
            field=self.name,
        )

    def _range(self, base: str, item: str, *, to_maximum: bool) -> tuple[int, int]:
        if base == "*":
            return self.low, self.high
        first_text, dash, last_text = base.partition("-")
        first = self.value(first_text, item)
        if not dash:
            return first, (self.high if to_maximum else first)
        last = self._range_end(first_text, last_text, item)
        if first > last:
            raise self.error("expected a range that goes up", base)
        return first, last

    def _range_end(self, first_text: str, last_text: str, item: str) -> int:
        last = self.value(last_text, item)
        if self.names and last_text == "SUN":
            if first_text == "SUN":
                raise self.error("expected SUN for Sundays or * for every day", "SUN-SUN")
            # FRI-SUN runs to the end of the week; as 0 it would be a reversed range.
            return 7
        return last

    def _step(self, text: str, item: str) -> int:
        if not _NUMBER.fullmatch(text):
            raise self.error("expected a whole number after /", item)
        step = int(text)
        if step == 0:
            raise self.error("expected a step of at least 1", item)
        if step > self.values:
            # */90 in the minutes quietly means "hourly" elsewhere.
            raise self.error(f"expected a step no wider than the field ({self.values})", item)
        return step

    def _expectation(self, text: str) -> str:
        if text[:3] in self.names and text.isalpha():
            return f"expected a name of three letters ({text[:3]})"
        if self.names:
            return f"expected {self.low} to {self.high} or {next(iter(self.names))} …"
        return f"expected a number from {self.low} to {self.high}"


def _field(name: str, low: int, high: int, names: tuple[str, ...] = (), first: int = 0) -> Field:
    by_name = {word: first + index for index, word in enumerate(names)}
    values = 7 if name == "day of week" else high - low + 1
    made = Field(name, low, high, values, by_name)
    # Filled in afterwards, by the parser itself, so that the two cannot disagree.
    made.simple.update({text: made.parse(text) for text in _simple_texts(made)})
    if name == "day of week":
        made.simple.update({text: one_sunday(mask) for text, mask in made.simple.items()})
    return made


def _simple_texts(of: Field) -> list[str]:
    """What most fields consist of: a star, a step over it, one value, and in short fields a range.

    SUN is left out of the ranges: as an end it is 7, as a beginning 0.
    """
    numbers = range(of.low, of.high + 1)
    texts = ["*", *(f"*/{step}" for step in range(1, min(of.values, 60) + 1))]
    texts += [*map(str, numbers), *of.names]
    if of.values <= 31:
        texts += [f"{first}-{last}" for first in numbers for last in numbers if first <= last]
    words = [word for word in of.names if word != "SUN"]
    texts += [f"{first}-{last}" for index, first in enumerate(words) for last in words[index:]]
    return texts


def one_sunday(mask: int) -> int:
    """The mask of weekdays with both Sundays as one."""
    return mask & 0x7F | mask >> 7


SECONDS = _field("seconds", 0, 59)
MINUTES = _field("minutes", 0, 59)
HOURS = _field("hours", 0, 23)
DAY_OF_MONTH = _field("day of month", 1, 31)
MONTH = _field("month", 1, 12, _MONTHS, first=1)
DAY_OF_WEEK = _field("day of week", 0, 7, _DAYS)
YEAR = _field("year", 1970, 2199)
