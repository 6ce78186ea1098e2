"""What there is to say about hosts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event
from rota.workers.events import FiringEvent

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.queue.circuits import Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitOpened(Event):
    """A host has failed a tenant too often in a row, or its probe has: it is left alone for a
    while, by this tenant or, as its `reach` says, by all."""

    host: str
    failures: int
    until: datetime
    tenant_id: UUID
    reach: Reach


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitClosed(Event):
    """A host that was left alone answers its tenant again."""

    host: str
    failures: int
    """In a row, before it did."""
    tenant_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringPostponed(FiringEvent):
    """The claim was given back for later, and that is recorded. It used no attempt."""

    host: str
    until: datetime
    reason: str
    """circuit, rate or concurrency."""
