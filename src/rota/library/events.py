"""What there is to tell of declarations."""

from __future__ import annotations

from dataclasses import dataclass

from rota.events import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesDeclared(Event):
    """What the code says is what the database has."""

    app: str
    created: int
    changed: int
    deleted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationWaits(Event):
    """Processes with a newer declaration of the app are alive: ours waits for their end."""

    app: str
    schedules: str
    """The keys that are not as our code has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesLeft(Event):
    """The code no longer has them, and they go on: `prune=True` would delete them."""

    app: str
    keys: str
