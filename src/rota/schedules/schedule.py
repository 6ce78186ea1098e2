"""A schedule: a definition that was accepted, with what the engine keeps beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.schedules.calendars.calendar import Known
    from rota.schedules.definition import Definition
    from rota.triggers.trigger import Trigger

Status = Literal["active", "paused", "completed"]
"""`active` has a timer, or fires without one (`triggers.never`); `paused` waits for its owner;
`completed` has no slot left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The contract as it stands at one version."""

    id: UUID
    tenant_id: UUID
    key: str
    name: str
    status: Status
    version: int
    """One more after every change of its definition, or of its calendar's days."""
    shard: int
    anchor_at: datetime
    """What its intervals count from; fixed when it was made or its trigger was edited."""
    definition: Definition
    created_at: datetime
    updated_at: datetime
    calendar: Known | None = None
    """The one that its definition names, with its days."""
    whole: Definition | None = None
    """In a worker's hands, of one that has steps: all of it, where `definition` is one step's."""

    @property
    def trigger(self) -> Trigger:
        """The instants it names."""
        return self.definition.trigger(self.anchor_at, self.calendar and self.calendar.days)

    @property
    def slots(self) -> Trigger:
        """The instants that people ask about: of a monitor, those for which it expects pings."""
        days = self.calendar and self.calendar.days
        return self.definition.expected(self.anchor_at, days) or self.trigger


def shard_of(schedule_id: UUID, shards: int) -> int:
    """The shard whose lease's holder fires it: fixed for its life.

    From the last bytes, which are random: the first are the time it was made, and schedules made
    together must not all be one node's work.
    """
    return (schedule_id.int & 0xFFFFFFFF) % shards
