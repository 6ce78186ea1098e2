"""What is wrong with files, all of it at once, each with its place."""

from __future__ import annotations

from dataclasses import dataclass

from rota.errors import CallerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where in the files something stands."""

    file: str
    line: int | None = None
    part: str = ""
    """`defaults`, or which entry: `schedules[3] (nightly)`."""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.part}" if self.part else where


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong."""

    place: Place
    field: str | None
    message: str

    def __str__(self) -> str:
        # Most messages of the field reader name their field; some begin with another word.
        named = self.field is None or self.field in self.message
        return f"{self.place}: {self.message}" if named else self._with_field()

    def _with_field(self) -> str:
        return f"{self.place}: {self.field}: {self.message}"


class InvalidDeclaration(CallerError):
    """The files cannot be taken as they are; nothing was changed."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        count = len(problems)
        lines = "\n".join(f"  {each}" for each in problems)
        heading = f"{count} problem{'s' * (count > 1)}, so nothing was changed"
        super().__init__(f"{heading}:\n{lines}")
        self.problems = problems
