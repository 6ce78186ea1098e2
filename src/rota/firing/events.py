"""The events of the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event

if TYPE_CHECKING:
    from datetime import timedelta
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class PassDone(Event):
    """A pass that found something to do."""

    fired: int
    caught_up: int
    skipped: int
    missed: int
    cancelled: int
    completed: int
    refused: int
    """Timers that were no longer as they had been read; the next pass reads them again."""
    lag: timedelta
    """How far behind the oldest timer was."""
    clock_offset: timedelta
    """How far the database's clock is ahead of this machine's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FenceRefused(Event):
    """A write was refused because another node holds these shards by now."""

    shards: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFailed(Event):
    """One timer cannot be fired, because of its schedule; the others are."""

    schedule_id: UUID
    version: int
    error: Exception


@dataclass(frozen=True, slots=True, kw_only=True)
class FallingBehind(Event):
    """The backlog has passed the threshold: live slots are served first. Raises an alert."""

    lag: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp(Event):
    """The backlog is gone."""
