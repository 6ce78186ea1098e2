"""Reading what follows the `?`: every parameter is known, and given once."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from rota.api.problems import bad_field, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from litestar import Request

MAX_LIMIT = 1_000
_MAX_TEXT = 1_000

_WORDS = {"true": True, "1": True, "false": False, "0": False}


class Query:
    """The parameters of one request; those not in `known` are refused, not ignored.

    Ignored, a misspelt filter would answer with everything.
    """

    def __init__(self, request: Request[Any, Any, Any], *known: str) -> None:
        self._values: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in known:
                raise bad_field(name[:60], _unknown(name, known))
            if name in self._values:
                raise bad_field(name, "expected it once, got it more than once")
            self._values[name] = str(value)

    def text(self, name: str) -> str | None:
        """The parameter as it was given; None when it was not, or is empty.

        An empty text is as good as none: a search that nobody filled in finds everything.
        """
        value = self._values.get(name) or None
        if value is not None and (len(value) > _MAX_TEXT or "\0" in value):
            raise bad_field(name, f"expected a short text, got {shown(value)}")
        return value

    def _filled(self, name: str) -> str | None:
        """The same of what has no empty value; None when it was not given."""
        return None if name not in self._values else self.required(name)

    def required(self, name: str) -> str:
        """A parameter that must be there."""
        value = self.text(name)
        if value is None:
            raise bad_field(name, "expected a value, got none")
        return value

    def flag(self, name: str) -> bool | None:
        """true or false; None when not given."""
        value = self._filled(name)
        if value is None:
            return None
        if value.lower() not in _WORDS:
            raise bad_field(name, f"expected true or false, got {shown(value)}")
        return _WORDS[value.lower()]

    def number(self, name: str, *, default: int, low: int, high: int) -> int:
        """A whole number within bounds, both included."""
        value = self._filled(name)
        if value is None:
            return default
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            raise bad_field(name, f"expected a whole number, got {shown(value)}")
        if not low <= int(value) <= high:
            raise bad_field(name, f"expected a number from {low} to {high}, got {value}")
        return int(value)

    def limit(self, default: int = 100) -> int:
        """How many items a page has."""
        return self.number("limit", default=default, low=1, high=MAX_LIMIT)

    def choice(self, name: str, choices: Sequence[str]) -> str | None:
        """One of some words; None when not given."""
        value = self._filled(name)
        if value is not None and value not in choices:
            raise bad_field(name, f"expected one of {', '.join(choices)}, got {shown(value)}")
        return value


def _unknown(name: str, known: tuple[str, ...]) -> str:
    # Comparing takes as long as the name is.
    near = difflib.get_close_matches(name[:60], known, n=1)
    if near:
        return f"there is no such parameter; did you mean {near[0]}?"
    return f"there is no such parameter; expected some of {', '.join(known) or 'none'}"
