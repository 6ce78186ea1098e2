"""A value that does not show itself."""

from __future__ import annotations

from typing import NoReturn


class Masked:
    """Holds a secret text. `repr`, `str` and format give "…"; only `reveal` gives the text.

    It compares by identity and cannot be pickled: neither a failing assertion, a traceback with
    locals nor a queue between processes may carry what is inside.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text. Call it where it is used up, and keep the result nowhere."""
        return self._text

    def __repr__(self) -> str:
        return "Masked(…)"

    def __str__(self) -> str:
        return "…"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a masked value is not pickled: it would be in the clear")
