"""Which HTTP status codes are meant: lists of codes (404) and of classes of them ("5xx"). Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rota.schedules.values import Values

Codes = tuple[int | str, ...]
"""Codes from 200 to 599 as numbers, classes as "2xx" to "5xx"; each once."""

SUCCESS: Final[Codes] = ("2xx",)
RETRY: Final[Codes] = ("5xx", 408, 425, 429)
"""What may pass: a fault of the target's own, and refusals that say "later"."""

MOST: Final = 100

_CODE = re.compile(r"[2-5][0-9]{2}", re.ASCII)
_CLASS = re.compile(r"[2-5]xx", re.ASCII | re.IGNORECASE)


def closeness(codes: Codes, code: int) -> int:
    """How exactly a list names a code: 2 by itself, 1 by its class, 0 not at all."""
    if code in codes:
        return 2
    return 1 if f"{code // 100}xx" in codes else 0


def read(values: Values, success: str, retry: str) -> tuple[Codes, Codes]:
    """The lists of what succeeds and of what is tried again; what stands in both is a problem.

    A code beside its class is no contradiction: the code is an exception to the class. Where only
    one of the lists was given, the usual other one gives way to it.
    """
    good = _read(values, success, SUCCESS, low=1)
    again = _read(values, retry, RETRY, low=0)
    if not values.given(retry):
        again = _without(again, good)
    elif not values.given(success):
        good = _without(good, again)
    both = [str(each) for each in good if each in again]
    if both:
        values.problem(retry, f"expected none that {success} has as well, got {', '.join(both)}")
    return good, again


def _read(values: Values, name: str, usual: Codes, *, low: int) -> Codes:
    given = values.raw(name)
    if given is None:
        return usual
    listed = cast("list[object]", given) if isinstance(given, list | tuple) else None
    read = None if listed is None else [_one(each) for each in listed]
    if read is None or None in read or not low <= len(read) <= MOST:
        some = "at least one of" if low else "any of"
        values.refuse(name, f'a list with {some} the codes 200 to 599 and "2xx" to "5xx"')
        return usual
    return tuple(dict.fromkeys(cast("list[int | str]", read)))


def _one(given: object) -> int | str | None:
    if isinstance(given, int) and not isinstance(given, bool):
        return given if 200 <= given <= 599 else None
    if isinstance(given, str) and _CODE.fullmatch(given):
        return int(given)
    return given.lower() if isinstance(given, str) and _CLASS.fullmatch(given) else None


def _without(codes: Codes, taken: Iterable[int | str]) -> Codes:
    left = set(codes) - set(taken)
    return tuple(each for each in codes if each in left)
