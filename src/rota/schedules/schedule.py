"""A schedule: a definition that was accepted, with what the engine keeps beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rota.schedules.definition import Definition
    from rota.triggers.trigger import Trigger

Status = Literal["active", "paused", "completed"]
"""`active` has a timer; `paused` waits for its owner; `completed` has no slot left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The contract as it stands at one version."""

    id: UUID
    tenant_id: UUID
    key: str
    name: str
    status: Status
    version: int
    """One more after every change of its definition."""
    shard: int
    anchor_at: datetime
    """What its intervals count from; fixed when it was made or its trigger was edited."""
    definition: Definition
    created_at: datetime
    updated_at: datetime

    @property
    def trigger(self) -> Trigger:
        """The instants it names."""
        return self.definition.trigger(self.anchor_at)


def shard_of(schedule_id: UUID, shards: int) -> int:
    """The shard whose lease's holder fires it: fixed for its life.

    From the last bytes, which are random: the first are the time it was made, and schedules made
    together must not all be one node's work.
    """
    return int.from_bytes(schedule_id.bytes[-4:], "big") % shards
