"""Dates as people write them in a calendar: one day, or a first and a last one. Pure."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rota.schedules.values import Values

MAX_DATES: Final = 5_000
"""Of one list, with the dates within its ranges."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_DAY = timedelta(days=1)


def read(values: Values, name: str) -> tuple[str, ...]:
    """A list of dates and ranges, each as it is stored; () with a problem noted."""
    given = values.raw(name)
    if given is None:
        return ()
    if not isinstance(given, list | tuple):
        values.problem(name, 'expected a list of dates, such as ["2026-12-24"]')
        return ()
    spans: list[str] = []
    count = 0
    for each in cast("list[object]", given):
        span = _span(each)
        if span is None:
            _refuse(values, name, each)
            return ()
        count += (span[1] - span[0]).days + 1
        spans.append(_written(*span))
    if count > MAX_DATES:
        values.problem(name, f"expected at most {MAX_DATES:,} dates, got {count:,}")
        return ()
    return tuple(dict.fromkeys(spans))


def dates(spans: Iterable[str]) -> Iterator[date]:
    """Every date of spans that were read."""
    return chain.from_iterable(_dates(each) for each in spans)


def _dates(span: str) -> Iterator[date]:
    first, _, last = span.partition("/")
    day, end = date.fromisoformat(first), date.fromisoformat(last or first)
    while day <= end:
        yield day
        day += _DAY


def _span(given: object) -> tuple[date, date] | None:
    """The first and the last day; None for what is neither a date nor a range."""
    if isinstance(given, date):
        given = given.isoformat()
    if not isinstance(given, str) or len(given) > 21:
        return None
    first, slash, last = given.strip().partition("/")
    if not (_DATE.fullmatch(first) and (not slash or _DATE.fullmatch(last))):
        return None
    try:
        span = date.fromisoformat(first), date.fromisoformat(last or first)
    except ValueError:
        return None
    # Within what a calendar of days can be walked over, and forwards.
    return span if date(1970, 1, 1) <= span[0] <= span[1] <= date(2199, 12, 31) else None


def _written(first: date, last: date) -> str:
    one = first.isoformat()
    return one if first == last else f"{one}/{last.isoformat()}"


def _refuse(values: Values, name: str, got: object) -> None:
    shown = f'"{got[:40]}"' if isinstance(got, str) else "something else"
    values.problem(
        name,
        "expected each to be a date such as 2026-12-24, or a range such as "
        f"2026-12-24/2026-12-31, from 1970 to 2199, got {shown}",
    )
