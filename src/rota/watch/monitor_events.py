"""What is said of monitors: schedules that wait for pings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rota.events import Event

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorOverdue(Event):
    """A ping did not come in time, of a monitor that was well until then."""

    schedule_id: UUID
    tenant_id: UUID
    key: str
    slot_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorFailed(Event):
    """A ping said that the work has failed."""

    schedule_id: UUID
    tenant_id: UUID
    key: str
    slot_at: datetime
    note: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorRecovered(Event):
    """The first good ping after one that was missed or told of a failure."""

    schedule_id: UUID
    tenant_id: UUID
    key: str
    slot_at: datetime
