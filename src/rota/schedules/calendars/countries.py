"""The public holidays of countries: the one place that knows the `holidays` package.

Its data changes with its version, so what it says is written out once and stored, and every node of
a fleet fires by the same dates; `VERSION` is the data's.
"""

from __future__ import annotations

import difflib
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import holidays
from holidays.registry import COUNTRIES
from holidays.version import __version__

from rota.targets.errors import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

VERSION: Final[str] = __version__

_LANGUAGE = "en_US"


def country(given: str) -> str | None:
    """The two letters of a country, by them or by its name in English; None for none that is."""
    return _by_word().get(_plain(given))


def subdivision(country: str, given: str) -> str | None:
    """The code of a part of the country, by it or by its name; None for none that is."""
    return _parts(country).get(_plain(given))


def unknown_country(given: str) -> str:
    """What to say of a country that is not known."""
    near = _near(_plain(given), _by_word())
    meant = f" Did you mean {', '.join(dict.fromkeys(near))}?" if near else ""
    return (
        f"expected one of {len(_codes())} countries, by its two letters such as ES, "
        f"got {show(given)}.{meant}"
    )


def unknown_subdivision(country: str, given: str) -> str:
    """What to say of a part that the country does not have."""
    parts = _parts(country)
    if not parts:
        return f"expected none, as {country} has no holidays by subdivision, got {show(given)}"
    near = _near(_plain(given), parts) or sorted(set(parts.values()))[:12]
    return f"expected a subdivision of {country}, got {show(given)}; there are {', '.join(near)}"


def dates(country: str, subdivision: str | None, years: Iterable[int]) -> Mapping[date, str]:
    """The public holidays of these years, with their names."""
    with warnings.catch_warnings():
        # Of data that the package itself will call otherwise some day.
        warnings.simplefilter("ignore")
        found: Any = holidays.country_holidays(
            country, subdiv=subdivision, years=list(years), language=_LANGUAGE, expand=False
        )
    return {day: str(name)[:100] for day, name in found.items()}


@cache
def _codes() -> dict[str, list[str]]:
    listed = holidays.list_supported_countries(include_aliases=False)
    return {code: list(parts) for code, parts in listed.items()}


@cache
def _by_word() -> dict[str, str]:
    """Every way to write a country: two letters, three letters, and its English name."""
    words = {_plain(code): code for code in _codes()}
    for name, code, *others in COUNTRIES.values():
        if code in _codes():
            words |= {_plain(each): code for each in (_spaced(name), *others)}
    return words


@cache
def _parts(country: str) -> dict[str, str]:
    """Every way to write a part of the country: its code, and the names it goes by."""
    kind: Any = getattr(holidays, country)
    words = {_plain(code): code for code in _codes()[country]}
    named: Mapping[str, str] = getattr(kind, "subdivisions_aliases", {})
    return words | {_plain(name): code for name, code in named.items()}


def _near(wanted: str, words: Mapping[str, str]) -> list[str]:
    found = difflib.get_close_matches(wanted, list(words), n=3, cutoff=0.7)
    return list(dict.fromkeys(words[each] for each in found))


def _spaced(name: str) -> str:
    """UnitedStates: united states."""
    return "".join(f" {c}" if c.isupper() else c for c in name).strip()


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").split())
