"""From an API's object to a calendar's rules, and back. Pure, but for the holidays' own data."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Final, cast

from rota.schedules.calendars import countries, spans
from rota.schedules.calendars.calendar import Rules
from rota.schedules.errors import InvalidSchedule, Problem
from rota.schedules.names import MAX_UNKNOWN
from rota.schedules.values import Values

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME: Final = 100
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
WEEKDAYS: Final = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)

_MAX_DESCRIPTION = 1_000
_FIELDS = frozenset(Rules.__struct_fields__)
_READ_ONLY = frozenset(
    ("name", "version", "schedules", "holidays_version", "until_year", "created_at", "updated_at")
)
_SHORT = 3


class InvalidCalendar(InvalidSchedule):
    """All that is wrong with a calendar."""


def is_name(name: str) -> bool:
    """Whether a calendar can be called so."""
    return len(name) <= MAX_NAME and NAME.fullmatch(name) is not None


def check_name(name: str) -> None:
    """Refuse a name that is none; `InvalidCalendar`."""
    if not is_name(name):
        wrong = (
            f"Invalid name: expected 1 to {MAX_NAME} letters, digits, '.', '_' and '-' that begin "
            f'with a letter or digit, got "{name[:40]}"'
        )
        raise InvalidCalendar((Problem("name", wrong),))


def read(given: Mapping[str, object]) -> Rules:
    """The rules that the fields describe; `InvalidCalendar` with all that is wrong."""
    values = Values(given)
    for name in sorted(set(given) - _FIELDS)[:MAX_UNKNOWN]:
        values.problems.append(_unknown(name))
    description = values.text("description", most=_MAX_DESCRIPTION, default="", lines=True)
    country, subdivision = _place(values)
    dates = spans.read(values, "dates")
    weekdays = _weekdays(values)
    kept = spans.read(values, "except_dates")
    if not values.problems and country is None and not dates and not weekdays:
        values.problem("country", "expected a country, dates or weekdays to leave out, got none")
    if values.problems:
        raise InvalidCalendar(tuple(values.problems))
    return Rules(
        description=description,
        country=country,
        subdivision=subdivision,
        dates=dates,
        weekdays=weekdays,
        except_dates=kept,
    )


def write(rules: Rules) -> dict[str, Any]:
    """The fields that `read` makes these rules of, every one of them."""
    return {
        "description": rules.description,
        "country": rules.country,
        "subdivision": rules.subdivision,
        "dates": list(rules.dates),
        "weekdays": list(rules.weekdays),
        "except_dates": list(rules.except_dates),
    }


def _place(values: Values) -> tuple[str | None, str | None]:
    given = values.text("country", most=100, default=None)
    part = values.text("subdivision", most=100, default=None)
    if given is None:
        if part is not None:
            values.problem("subdivision", "expected it only beside country")
        return None, None
    country = countries.country(given)
    if country is None:
        values.problem("country", countries.unknown_country(given))
        return None, None
    subdivision = None if part is None else countries.subdivision(country, part)
    if part is not None and subdivision is None:
        values.problem("subdivision", countries.unknown_subdivision(country, part))
    return country, subdivision


def _weekdays(values: Values) -> tuple[str, ...]:
    given = values.raw("weekdays")
    if given is None:
        return ()
    listed = cast("list[object]", given) if isinstance(given, list | tuple) else [None]
    read = [_weekday(each) for each in listed]
    if None in read:
        values.problem("weekdays", 'expected a list of days, such as ["saturday", "sunday"]')
        return ()
    if len(set(read)) == len(WEEKDAYS):
        values.problem("weekdays", "expected at most six days, got all: nothing would ever fire")
        return ()
    return tuple(day for day in WEEKDAYS if day in read)


def _weekday(given: object) -> str | None:
    if not isinstance(given, str) or len(given.strip()) < _SHORT:
        return None
    plain = given.strip().lower()
    found = [day for day in WEEKDAYS if plain in {day, day[:_SHORT]}]
    return found[0] if found else None


def _unknown(name: str) -> Problem:
    shown = name[:60]
    if name in _READ_ONLY:
        return Problem(shown, f"Invalid {shown}: it is set by Rota; leave it out")
    near = difflib.get_close_matches(shown, sorted(_FIELDS), n=1, cutoff=0.6)
    return Problem(
        shown, f'Unknown field "{shown}"' + (f": did you mean {near[0]}?" if near else "")
    )
