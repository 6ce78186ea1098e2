"""Many ways of saying one thing, brought to the one that the grammar knows.

Only what has a single meaning is rewritten: "half an hour" is 30 minutes, wherever it stands.
"""

from __future__ import annotations

import re

#: What is longer was not typed but explained, and is in the grammar's own words already.
_MOST_TYPED = 512

_ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_TEENS = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS = (
    {word: value for value, word in enumerate((*_ONES, *_TEENS), 1)}
    | {word: 10 * value for value, word in enumerate(_TENS, 2)}
    | {"couple": 2}
)
_NUMBER_WORD = re.compile(
    rf"\b(?:({'|'.join(_TENS)})[- ]({'|'.join(_ONES)})|(?:a )?(couple) of|({'|'.join(_NUMBERS)}))\b"
)
_SHORT_UNITS = {"sec": "second", "min": "minute", "hr": "hour", "wk": "week", "yr": "year"}
_SHORT_UNIT = re.compile(rf"(?<![a-z])({'|'.join(_SHORT_UNITS)})(s?)\b\.?")

_THE_HOUR = r"(?:the|every|each) hour\b"
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r" o.?clock\b", ""),
        (r"\b([ap])\.m\b\.?", r"\1m"),
        (r"(\d) (am|pm)\b", r"\1\2"),
        (r"\b(\d{1,2})\.(\d\d)(am|pm)\b", r"\1:\2\3"),
        (r"&|(?<=[a-z])/(?=[a-z])", " and "),
        (r"@", " at "),
        (r"\bweek[- ](day|end)(s?)\b", r"week\1\2"),
        (r"\bmid(day|night)s\b", r"mid\1"),
        # The minutes of an hour.
        (r"\bon the half[- ]hour\b", "at minute 30"),
        (r"\bon the hour\b", "at minute 0"),
        (rf"\bhalf past(?= {_THE_HOUR}|$)", "30 past"),
        (rf"\b(?:a )?quarter past(?= {_THE_HOUR}|$)", "15 past"),
        (rf"\b(?:a )?quarter to(?= {_THE_HOUR}|$)", "45 past"),
        (
            rf"\b(\d+(?:(?:,| and|, and) \d+){{0,11}})(?: minutes?)? (?:past|after) {_THE_HOUR}",
            r"minutes \1 of every hour",
        ),
        (r"\bat (\d+)(?: minutes?)? past$", r"at minute \1"),
        (r"(?<!\S):(\d\d)(?!\S)", r"minute \1"),
        # Lengths of time.
        (r"\b(?:an? )?hour and a half\b", "90 minutes"),
        (r"\bhalf[- ]hourly\b", "every 30 minutes"),
        (r"\bhalf[- ](?:an? )?hour\b", "30 minutes"),
        (r"\b(?:a )?quarter[- ](?:of an )?hour\b", "15 minutes"),
        (r"\bin an? (?=(?:second|minute|hour|day|week)\b)", "in 1 "),
        (r"^an? (?=(?:second|minute|hour|day|week) from now$)", "1 "),
        # How often.
        (r"\bonce (?:every|each) ", "every "),
        (r"\bonce (?:an?|per) (?=(?:hour|day|week|month|quarter|year)\b)", "every "),
        (r"\bonce (?=(?:hour|dai|week|month|quarter|year)ly\b)", ""),
        # From one to another; the hyphens of dates and offsets have no letter before them.
        (r"\b(bi|semi)-(?=[a-z])", r"\1"),
        (r"(?<=[a-z])(?:[-–—]| [-–—] )(?=[a-z0-9])", " to "),  # noqa: RUF001 - dashes that people type
        (r"(?<=:\d\d) ?[-–—] ?(?=\d{1,2}:\d\d)", " to "),  # noqa: RUF001
        (r" +", " "),
    )
)


def plain(text: str) -> str:
    """The text in lower case and in the grammar's own words."""
    if len(text) > _MOST_TYPED:
        return text.lower()
    tidy = _NUMBER_WORD.sub(_digits, text.lower().rstrip(" ."))
    tidy = _SHORT_UNIT.sub(lambda match: _SHORT_UNITS[match[1]] + match[2], tidy)
    for pattern, replacement in _REWRITES:
        tidy = pattern.sub(replacement, tidy)
    return tidy.strip()


def _digits(match: re.Match[str]) -> str:
    tens, ones, couple, word = match.groups()
    if tens:
        return str(_NUMBERS[tens] + _NUMBERS[ones])
    return str(_NUMBERS[couple or word])
