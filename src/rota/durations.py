"""Lengths of time in text: "5m", "1h30m", "90 seconds", "PT5M".

Months and years are refused: they have no fixed length.
"""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from fractions import Fraction
from functools import lru_cache

_MICROSECONDS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
}
_SHORT = {"week": "w", "day": "d", "hour": "h", "minute": "m", "second": "s", "millisecond": "ms"}
_WORDS = {word: unit for unit, short in _SHORT.items() for word in (unit, f"{unit}s", short)} | {
    "sec": "second",
    "secs": "second",
    "min": "minute",
    "mins": "minute",
    "hr": "hour",
    "hrs": "hour",
}
_ORDER = tuple(_MICROSECONDS)

MAX_LENGTH = 96
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
_TERM = re.compile(rf"{_NUMBER} ?([a-z]+)(?:(?: ?(?:,|,? and) ?| ?)(?=[0-9]))?")
_ISO = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(?:T(?=\d)(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)
_ISO_UNITS = ("week", "day", "hour", "minute", "second")


class InvalidDuration(ValueError):
    """Not a length of time."""


def parse(text: str) -> timedelta:
    """The length of time that the text names."""
    tidy = " ".join(text.split()).lower()
    if len(tidy) <= MAX_LENGTH and tidy.isascii():
        terms = _iso_terms(tidy) or _terms(tidy)
        if terms:
            return _total(terms, text)
    raise InvalidDuration(_refusal(text))


@lru_cache(maxsize=1024)
def compact(length: timedelta) -> str:
    """The shortest text that names this length: 1h30m."""
    return "".join(f"{count}{_SHORT[unit]}" for count, unit in _split(length)) or "0s"


def words(length: timedelta) -> str:
    """The length in words: 1 hour and 30 minutes."""
    terms = [f"{count} {unit}{'' if count == 1 else 's'}" for count, unit in _split(length)]
    if len(terms) < 2:
        return "".join(terms) or "0 seconds"
    return f"{', '.join(terms[:-1])} and {terms[-1]}"


def _terms(text: str) -> list[tuple[str, str]]:
    """(number, unit) of "1h30m" or "1 hour and 30 minutes", from the largest down; [] if not."""
    terms: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TERM.match(text, at)
        unit = match and _WORDS.get(match[2])
        if not match or not unit:
            return []
        terms.append((match[1], unit))
        at = match.end()
    ranks = [_ORDER.index(unit) for _, unit in terms]
    rises = all(before < after for before, after in itertools.pairwise(ranks))
    return terms if rises else []


def _iso_terms(text: str) -> list[tuple[str, str]]:
    match = _ISO.fullmatch(text.upper())
    if not match:
        return []
    return [
        (number, unit) for number, unit in zip(match.groups(), _ISO_UNITS, strict=True) if number
    ]


def _total(terms: list[tuple[str, str]], text: str) -> timedelta:
    total = sum(Fraction(number) * _MICROSECONDS[unit] for number, unit in terms)
    if Fraction(total).denominator != 1:
        raise InvalidDuration(f'expected whole microseconds, got "{text}"')
    try:
        return timedelta(microseconds=int(total))
    except OverflowError:
        raise InvalidDuration(f'expected a length under a million years, got "{text}"') from None


def _split(length: timedelta) -> list[tuple[int, str]]:
    """Whole counts of days and smaller; weeks are left as days, as people say "14 days"."""
    rest = length // timedelta(microseconds=1)
    counts: list[tuple[int, str]] = []
    for unit in _ORDER[1:]:
        count, rest = divmod(rest, _MICROSECONDS[unit])
        if count:
            counts.append((count, unit))
    return counts


def _refusal(text: str) -> str:
    shown = text if len(text) <= 40 else f"{text[:37]}..."
    hint = (
        "; months and years have no fixed length" if re.search("month|year", text.lower()) else ""
    )
    return f'expected a length of time such as "5m", "1h30m" or "PT5M", got "{shown}"{hint}'
