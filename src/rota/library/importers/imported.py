"""What became of what was brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rota.schedules import fields as schedule_fields
from rota.schedules.errors import InvalidSchedule
from rota.workers.tasks.values import Unfit, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


class NotTaken(ValueError):
    """Why something cannot be taken over."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that cannot be taken, and why."""

    name: str
    """What it is called where it comes from; `line 7` of a crontab."""
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(slots=True)
class Imported:
    """Schedules as the API and `rota apply` take them, and what there is to say about them."""

    schedules: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: list[Refused] = field(default_factory=list[Refused])
    notes: list[Refused] = field(default_factory=list[Refused])
    """What was taken, and will be different from before."""

    def take(self, name: str, given: Mapping[str, Any], now: datetime) -> None:
        """A schedule, if it holds; refused with all that is wrong with it otherwise."""
        made = {each: value for each, value in given.items() if value is not None}
        try:
            schedule_fields.read(made, now=now)
        except InvalidSchedule as error:
            wrong = "; ".join(each.message for each in error.problems)
            self.refused.append(Refused(name, wrong))
        else:
            self.schedules.append(made)

    def refuse(self, name: str, reason: object) -> None:
        self.refused.append(Refused(name, str(reason)))

    def note(self, name: str, said: Sequence[str]) -> None:
        self.notes += [Refused(name, each) for each in said]


def arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The payload that calls a Rota task with these; `NotTaken` when JSON cannot carry them."""
    given = {"args": list(args), "kwargs": dict(kwargs)}
    for name, value in (*enumerate(args, 1), *kwargs.items()):
        require_json(f"argument {name}", value)
    return {name: value for name, value in given.items() if value} or None


def require_json(what: str, value: Any) -> None:
    """Refuse what is not the same after it was JSON: a set, a datetime, an object."""
    try:
        encode(value)
    except Unfit as error:
        raise NotTaken(f"its {what} {error}") from None
    if not _is_plain(value):
        kind = type(value).__name__
        raise NotTaken(f"its {what} is of {kind}, which JSON would make something else of")


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        return all(isinstance(k, str) and _is_plain(v) for k, v in value.items())  # pyright: ignore[reportUnknownVariableType]
    return value is None or type(value) in {str, int, float, bool}  # pyright: ignore[reportUnknownArgumentType]
