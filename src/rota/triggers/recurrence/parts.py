"""The parts of one RRULE, read as strictly as RFC 5545 (3.3.10) states them.

Stricter in three places, each because the alternative is a surprise: no part beginning with X-, no
leap second (BYSECOND=60), and in a month at most a fifth weekday (BYDAY=6MO never comes).
"""

from __future__ import annotations

import re
from datetime import MAXYEAR
from math import gcd
from typing import NamedTuple

from rota.triggers.civil import DAY
from rota.triggers.recurrence.moments import Moment
from rota.triggers.recurrence.rule import (
    WEEKDAYS,
    Frequency,
    NthWeekday,
    Rule,
    Until,
    refusal,
)

MAX_COUNT = 10_000
#: A hundred years of each period.
MAX_INTERVALS = {
    Frequency.YEARLY: 100,
    Frequency.MONTHLY: 1_200,
    Frequency.WEEKLY: 5_200,
    Frequency.DAILY: 36_500,
    Frequency.HOURLY: 876_000,
    Frequency.MINUTELY: 52_560_000,
    Frequency.SECONDLY: 3_153_600_000,
}
# A step of so many seconds wanders through the day; how many days until it is back where it began.
_LONGEST_CYCLE = 1_000

_NUMBER = re.compile(r"[0-9]{1,10}")
_SIGNED = re.compile(r"[+-]?[0-9]{1,3}")
_BY_DAY = re.compile(r"([+-]?[0-9]{1,2})?(MO|TU|WE|TH|FR|SA|SU)")


class _Range(NamedTuple):
    """The numbers a list may hold."""

    low: int
    high: int
    signed: bool = False

    @property
    def text(self) -> str:
        shown = f"numbers from {self.low} to {self.high}"
        return f"{shown} or from -{self.high} to -{self.low}" if self.signed else shown

    def read(self, part: str, value: str) -> tuple[int, ...]:
        found: set[int] = set()
        for item in value.split(","):
            pattern = _SIGNED if self.signed else _NUMBER
            if not pattern.fullmatch(item):
                raise refusal(part, self.text, item)
            number = int(item)
            if not self.low <= (abs(number) if self.signed else number) <= self.high:
                raise refusal(part, self.text, item)
            found.add(number)
        return tuple(sorted(found))


_LISTS = {
    "BYMONTH": _Range(1, 12),
    "BYWEEKNO": _Range(1, 53, signed=True),
    "BYYEARDAY": _Range(1, 366, signed=True),
    "BYMONTHDAY": _Range(1, 31, signed=True),
    "BYHOUR": _Range(0, 23),
    "BYMINUTE": _Range(0, 59),
    "BYSECOND": _Range(0, 59),
    "BYSETPOS": _Range(1, 366, signed=True),
}
_NAMES = ("FREQ", "INTERVAL", "COUNT", "UNTIL", *_LISTS, "BYDAY", "WKST")


def parse(text: str) -> Rule:
    """The rule in a text such as "FREQ=DAILY;BYHOUR=9"."""
    values = _split(text.upper())
    frequency = _frequency(values)
    lists = {
        name: bounds.read(name, values[name]) if name in values else ()
        for name, bounds in _LISTS.items()
    }
    rule = Rule(
        frequency=frequency,
        interval=_number(values, "INTERVAL", MAX_INTERVALS[frequency]) or 1,
        count=_number(values, "COUNT", MAX_COUNT),
        until=_until(values),
        by_month=lists["BYMONTH"],
        by_week_no=lists["BYWEEKNO"],
        by_year_day=lists["BYYEARDAY"],
        by_month_day=lists["BYMONTHDAY"],
        by_day=_by_day(values),
        by_hour=lists["BYHOUR"],
        by_minute=lists["BYMINUTE"],
        by_second=lists["BYSECOND"],
        by_set_pos=lists["BYSETPOS"],
        week_start=_week_start(values),
    )
    _check_together(rule, values)
    return rule


def _split(text: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in text.split(";"):
        name, separator, value = part.partition("=")
        if not (name and separator and value):
            raise refusal("RRULE", "parts such as FREQ=DAILY, with ; between them", part)
        if name not in _NAMES:
            raise refusal(name[:16], f"one of {', '.join(_NAMES)}", name)
        if name in values:
            raise refusal(name, "it once", part)
        values[name] = value
    return values


def _frequency(values: dict[str, str]) -> Frequency:
    got = values.get("FREQ", "")
    if got not in Frequency.__members__:
        raise refusal("FREQ", f"one of {', '.join(Frequency.__members__)}", got)
    return Frequency[got]


def _number(values: dict[str, str], part: str, highest: int) -> int | None:
    value = values.get(part)
    if value is None:
        return None
    if not _NUMBER.fullmatch(value) or not 1 <= int(value) <= highest:
        raise refusal(part, f"a number from 1 to {highest:,}", value)
    return int(value)


def _until(values: dict[str, str]) -> Until | None:
    value = values.get("UNTIL")
    if value is None:
        return None
    # Some programs write the year 9999 for "for ever".
    moment = Moment.parse("UNTIL", value, last_year=MAXYEAR)
    # A date alone includes all of that day.
    return Until(moment.second + (DAY - 1 if moment.is_date else 0), moment.is_utc)


def _by_day(values: dict[str, str]) -> tuple[NthWeekday, ...]:
    value = values.get("BYDAY")
    if value is None:
        return ()
    found: set[NthWeekday] = set()
    for item in value.split(","):
        match = _BY_DAY.fullmatch(item)
        nth = int(match[1] or 0) if match else 0
        if match is None or (match[1] and not 1 <= abs(nth) <= 53):
            raise refusal("BYDAY", "weekdays such as MO, 1MO or -1FR (53 at most)", item)
        found.add(NthWeekday(WEEKDAYS.index(match[2]), nth))
    return tuple(sorted(found))


def _week_start(values: dict[str, str]) -> int:
    value = values.get("WKST", "MO")
    if value not in WEEKDAYS:
        raise refusal("WKST", f"one of {', '.join(WEEKDAYS)}", value)
    return WEEKDAYS.index(value)


def _check_together(rule: Rule, values: dict[str, str]) -> None:
    """Parts that are right by themselves and wrong beside each other."""
    often = rule.frequency
    if rule.count and rule.until:
        raise refusal("COUNT", "either COUNT or UNTIL", "both")
    if rule.by_week_no and often is not Frequency.YEARLY:
        raise refusal("BYWEEKNO", "it with FREQ=YEARLY only", f"FREQ={often.name}")
    if rule.by_year_day and Frequency.YEARLY < often < Frequency.HOURLY:
        raise refusal("BYYEARDAY", "it without FREQ=DAILY, WEEKLY or MONTHLY", f"FREQ={often.name}")
    if rule.by_month_day and often is Frequency.WEEKLY:
        raise refusal("BYMONTHDAY", "it without FREQ=WEEKLY", f"FREQ={often.name}")
    _check_nth_weekdays(rule)
    if rule.by_set_pos and not any(name.startswith("BY") for name in values.keys() - {"BYSETPOS"}):
        raise refusal("BYSETPOS", "another BY… part to choose from", values["BYSETPOS"])
    _check_cycle(rule)


def _check_nth_weekdays(rule: Rule) -> None:
    numbered = [day for day in rule.by_day if day.nth]
    if not numbered:
        return
    often = rule.frequency
    if often > Frequency.MONTHLY:
        raise refusal("BYDAY", f"plain weekdays with FREQ={often.name}", str(numbered[0]))
    if rule.by_week_no:
        raise refusal("BYDAY", "plain weekdays beside BYWEEKNO", str(numbered[0]))
    if often is Frequency.MONTHLY or rule.by_month:
        for day in numbered:
            if abs(day.nth) > 5:
                raise refusal("BYDAY", "at most a fifth weekday in a month", str(day))


def _check_cycle(rule: Rule) -> None:
    # Second after second would have to be tried for years until step and filter meet.
    cycle = rule.interval // gcd(rule.interval, DAY)
    filtered = rule.by_hour or rule.by_minute or rule.by_second
    if rule.frequency is Frequency.SECONDLY and filtered and cycle > _LONGEST_CYCLE:
        raise refusal(
            "INTERVAL",
            "seconds that come back to the same time of day within "
            f"{_LONGEST_CYCLE:,} days, beside BYHOUR, BYMINUTE or BYSECOND",
            str(rule.interval),
        )
