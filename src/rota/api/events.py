"""What people and targets have asked of firings, once it is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked(Event):
    """Somebody wants a firing ended."""

    firing_id: UUID
    tenant_id: UUID
    reason: str
    ended: bool
    """False when a worker has it, and is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringsReplayed(Event):
    """Somebody wants firings repeated."""

    tenant_id: UUID
    count: int
    first: UUID | None
    """The first of the new ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkReported(Event):
    """Whoever does a firing's work has said what became of it."""

    firing_id: UUID
    tenant_id: UUID
    attempt: int
    status: str
    """succeeded, retrying, dead or cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringsPulled(Event):
    """A worker outside has claimed work."""

    tenant_id: UUID
    queue: str
    count: int
    worker: str | None
    """What it calls itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesPaused(Event):
    """Somebody has paused schedules together: all of a tenant's, or those of a tag."""

    tenant_id: UUID
    tag: str | None
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulesResumed(Event):
    """Somebody has resumed those that were paused together."""

    tenant_id: UUID
    tag: str | None
    count: int
