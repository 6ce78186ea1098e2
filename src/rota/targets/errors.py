"""What is wrong with a target."""

from __future__ import annotations

from typing import NamedTuple

from rota.errors import InvalidInput, RotaError


class Problem(NamedTuple):
    """One field, and a sentence that says what was expected and what was got."""

    field: str
    message: str


class InvalidTarget(InvalidInput):
    """Everything that is wrong with a target; `message` and `field` are the first problem's."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__(problems[0].message, field=problems[0].field)
        self.problems = problems


class TargetRefused(RotaError):
    """The operator's policy does not let this target be called; the text says why.

    `detail` is for the operator alone, where the text must not tell.
    """

    def __init__(self, text: str, *, detail: str | None = None) -> None:
        super().__init__(text)
        self.detail = detail


def show(value: object, *, most: int = 60) -> str:
    """A stranger's value in a sentence: quoted, and cut before it fills a log."""
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return printable if len(printable) <= most else f"{printable[:most]}… ({len(text)} characters)"
