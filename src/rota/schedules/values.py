"""Reading single fields of an API's object: the value, or a problem noted and the default. Pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import msgspec

from rota import durations
from rota.errors import InvalidInput
from rota.targets import placeholders
from rota.targets.errors import Problem, show
from rota.triggers.at import parse_instant
from rota.triggers.civil import floor_second

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rota.triggers.zones import Zone

T = TypeVar("T")

MAX_PAYLOAD_BYTES = 256 * 1024
MAX_TAGS = 20

_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]")
_CONTROL_BUT_LINES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
# The escape itself, not a backslash that is followed by u0000: PostgreSQL's jsonb has no NUL.
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Values:
    """The fields that were given (null is not given), and the problems found so far."""

    def __init__(self, fields: Mapping[str, object]) -> None:
        self._fields = fields
        self.problems: list[Problem] = []

    def given(self, name: str) -> bool:
        return self._fields.get(name) is not None

    def raw(self, name: str) -> object:
        return self._fields.get(name)

    def refuse(self, name: str, expected: str) -> None:
        """Note that the field is not as expected; its value is shown."""
        self.problem(name, f"expected {expected}, got {_shown(self.raw(name))}")

    def problem(self, name: str, wrong: str) -> None:
        """Note what is wrong with the field."""
        self.problems.append(Problem(name, f"Invalid {name}: {wrong}"))

    def exactly_one(self, among: tuple[str, ...], what: str) -> bool:
        """Whether one of the fields was given, and no other of them."""
        given = [name for name in among if self.given(name)]
        if len(given) == 1:
            return True
        got = " and ".join(given) or "none"
        message = f"Expected exactly one of {', '.join(among)} to say {what}, got {got}"
        self.problems.append(Problem(given[-1] if given else among[0], message))
        return False

    def text(self, name: str, *, most: int, default: T, lines: bool = False) -> str | T:
        """Text that is not blank, without characters that do not show."""
        value = self.raw(name)
        if value is None:
            return default
        if not isinstance(value, str):
            self.refuse(name, "text")
        elif len(value) > most:
            self.problem(name, f"expected at most {most} characters, got {len(value)}")
        elif (_CONTROL_BUT_LINES if lines else _CONTROL).search(value):
            self.refuse(name, "text without control characters")
        elif not value.strip() and not lines:
            self.refuse(name, "text that is not blank")
        else:
            return value if lines else value.strip()
        return default

    def choice(self, name: str, among: Any, default: T) -> T:
        """One of the words of a Literal. A name that is not known is never replaced by another."""
        value = self.raw(name)
        if value is None:
            return default
        words = cast("tuple[str, ...]", get_args(among))
        if value in words:
            return cast("T", value)
        self.refuse(name, f"one of {', '.join(words)}")
        return default

    def flag(self, name: str, *, default: bool) -> bool:
        value = self.raw(name)
        if value is None or isinstance(value, bool):
            return default if value is None else value
        self.refuse(name, "true or false")
        return default

    def integer(self, name: str, *, low: int, high: int, default: T) -> int | T:
        """A whole number within bounds, both included."""
        value = self.raw(name)
        if value is None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        self.refuse(name, f"a whole number from {low} to {high}")
        return default

    def duration(
        self, name: str, *, low: timedelta, high: timedelta, default: timedelta
    ) -> timedelta:
        """A length of time: "5m", ISO 8601, or seconds."""
        value = self.raw(name)
        if value is None:
            return default
        length = _length(value)
        if length is not None and low <= length <= high:
            return length
        span = f"{durations.compact(low)} to {durations.compact(high)}"
        self.refuse(name, f'a length of time from {span}, such as "5m", "PT5M" or 300 seconds')
        return default

    def seconds(self, name: str, *, low: float, high: float, default: float) -> int | float:
        """The same, where seconds are what is kept."""
        length = self.duration(
            name,
            low=timedelta(seconds=low),
            high=timedelta(seconds=high),
            default=timedelta(seconds=default),
        )
        total = length.total_seconds()
        return int(total) if total.is_integer() else total

    def instant(self, name: str, in_zone: Zone) -> datetime | None:
        """A point in time; without an offset, on the wall clock of the zone."""
        value = self.raw(name)
        if value is None:
            return None
        try:
            if isinstance(value, str):
                return parse_instant(value, in_zone)
            if isinstance(value, datetime) and value.tzinfo is not None:
                floor_second(value)  # Refuses what is outside the calendar.
                return value.astimezone(UTC)
        except InvalidInput as error:
            self.problem(name, error.message.removeprefix("Invalid instant: "))
            return None
        self.refuse(name, 'an instant such as "2027-01-01T09:00:00Z"')
        return None

    def tags(self, name: str) -> tuple[str, ...]:
        """A list of short texts, each once, in the order given."""
        value = self.raw(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.refuse(name, "a list of texts")
            return ()
        listed = list(cast("list[object]", value))
        good = [each for each in listed if _is_tag(each)]
        if len(good) < len(listed) or len(set(good)) > MAX_TAGS:
            self.refuse(name, f"at most {MAX_TAGS} texts of 1 to 100 characters")
            return ()
        return tuple(dict.fromkeys(cast("list[str]", good)))

    def headers(self, name: str) -> dict[str, str]:
        """An object of texts; what they may hold is the target's affair."""
        value = self.raw(name)
        if value is None:
            return {}
        if isinstance(value, dict):
            pairs = cast("dict[object, object]", value)
            if all(isinstance(k, str) and isinstance(v, str) for k, v in pairs.items()):
                return cast("dict[str, str]", pairs)
        self.problem(name, 'expected an object of texts, such as {"X-Team": "ops"}')
        return {}

    def json(self, name: str) -> Any:
        """Any JSON that the database can hold."""
        value = self.raw(name)
        wrong = wrong_with_json(value) or wrong_with_placeholders(value)
        if wrong:
            self.problem(name, wrong)
            return None
        return value


def wrong_with_json(value: object) -> str | None:
    """Why a value cannot be a payload; None when it can."""
    if value is None:
        return None
    try:
        encoded = msgspec.json.encode(value)
    except RecursionError:
        return "expected JSON of reasonable depth, got values nested too deeply"
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError) as error:
        return f"expected JSON, got something else: {error}"
    if len(encoded) > MAX_PAYLOAD_BYTES:
        return f"expected at most {MAX_PAYLOAD_BYTES // 1024} kB of JSON, got {len(encoded)} bytes"
    if b"u0000" in encoded and _NUL.search(encoded):
        return "expected JSON without the character NUL (\\u0000)"
    return None


def wrong_with_placeholders(value: object) -> str | None:
    """What is wrong with the `${secrets.NAME}` in JSON that is sent; None when nothing is."""
    return placeholders.wrong_with(msgspec.json.encode(value).decode())


def same_json(one: object, other: object) -> bool:
    """Whether two values are the same JSON: 1 is 1.0, and not true as it is to Python."""
    if isinstance(one, dict) and isinstance(other, dict):
        first, second = cast("dict[str, object]", one), cast("dict[str, object]", other)
        return first.keys() == second.keys() and all(same_json(first[k], second[k]) for k in first)
    if isinstance(one, list) and isinstance(other, list):
        here, there = cast("list[object]", one), cast("list[object]", other)
        return len(here) == len(there) and all(map(same_json, here, there))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _length(value: object) -> timedelta | None:
    try:
        if isinstance(value, str):
            return durations.parse(value)
        if isinstance(value, timedelta):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return timedelta(seconds=value)
    except (durations.InvalidDuration, OverflowError):
        return None
    return None


def _is_tag(value: object) -> bool:
    return (
        isinstance(value, str)
        and 0 < len(value) <= 100
        and not value.isspace()
        and not _CONTROL.search(value)
    )


def _shown(value: object) -> str:
    """What was got, as the caller wrote it."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > 10**40:
        return "a very large number"
    return show(value)
