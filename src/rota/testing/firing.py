"""The kit's rows: a schedule with its timer, and a firing while it is live."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import msgspec

from rota.firing.plan import Due
from rota.queue.claim import Claim
from rota.queue.overlap import MOST_LIVE
from rota.schedules import fields
from rota.schedules.schedule import Schedule, anchor
from rota.schedules.schedule_cache import ScheduleSnapshot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rota.queue.states import State
    from rota.testing.settling import Settled

TENANT: Final = UUID(int=1)


@dataclass(slots=True, eq=False, kw_only=True)
class Firing:
    """One that has not ended."""

    id: UUID
    entry: Entry
    scheduled_for: datetime
    available_at: datetime
    state: State
    order: int
    """Among those of one instant and priority, the earlier goes first."""
    priority: int
    triggered_by: str
    payload: str | None = None
    """JSON in place of the schedule's."""
    catch_up: bool = False
    unique_key: str | None = None
    attempt: int = 0
    began_at: datetime | None = None
    saga: str | None = None
    over: bool = False
    pending: Settled | None = None
    """Of one that is under way: what will become of it when its time has passed."""

    def is_reached(self, now: datetime) -> bool:
        """Whether its instant has come, or it has begun."""
        return self.attempt > 0 or self.state != "waiting" or self.available_at <= now

    def claim(self, now: datetime) -> Claim:
        """As a worker would hold it."""
        definition = self.entry.schedule.definition
        return Claim(
            id=self.id,
            schedule_id=self.entry.schedule.id,
            tenant_id=TENANT,
            version=1,
            scheduled_for=self.scheduled_for,
            available_at=self.available_at,
            claimed_until=now + definition.timeout,
            began_at=self.began_at or now,
            attempt=self.attempt,
            priority=self.priority,
            catch_up=self.catch_up,
            triggered_by=self.triggered_by,
            lane=definition.lane,
            fence=None,
            payload=self.payload,
            saga=self.saga,
        )


@dataclass(slots=True, eq=False, kw_only=True)
class Entry:
    """A schedule, its timer, and what is live of it."""

    schedule: Schedule
    snapshot: ScheduleSnapshot
    slot: datetime | None
    """The next one; None when there is none, or it is paused."""
    fired: int = 0
    live: list[Firing] = field(default_factory=list[Firing])

    @property
    def key(self) -> str:
        return self.schedule.key

    @property
    def spread(self) -> timedelta:
        return self.snapshot.jitter

    def count_live(self, now: datetime) -> int:
        """How many firings it has that have reached their instant."""
        return sum(each.is_reached(now) for each in self.live)

    def due(self) -> Due:
        """Its timer, as the engine would read it."""
        assert self.slot is not None
        return Due(
            schedule_id=self.schedule.id,
            shard=0,
            scheduled_for=self.slot,
            due_at=self.slot + self.spread,
            version=1,
            fired=self.fired,
            revision=0,
            live=min(len(self.live), MOST_LIVE),
        )

    def row(self) -> Mapping[str, Any]:
        """As `queue.dependents` reads it."""
        definition = self.schedule.definition
        payload = definition.payload
        return {
            "status": self.schedule.status,
            "policy": definition.overlap_policy,
            "has_body": definition.body is not None,
            "upstream_key": definition.after.key if definition.after else None,
            "payload": None if payload is None else msgspec.json.encode(payload).decode(),
        }

    def pause(self) -> None:
        self.slot = None
        self.schedule = replace(self.schedule, status="paused")


def entry_of(given: Mapping[str, Any], now: datetime) -> Entry:
    """A schedule of the API's fields, made at this instant; `InvalidSchedule` for what is none."""
    anchor_at = anchor(now)
    parsed = fields.read(given, now=anchor_at, require_future=False)
    definition = parsed.definition
    # Of the key, so that what is spread by the id is spread alike in every run of a test.
    id_ = UUID(bytes=blake2b(definition.key.encode(), digest_size=16).digest())
    schedule = Schedule(
        id=id_,
        tenant_id=TENANT,
        key=definition.key,
        name=definition.name,
        status="active" if definition.enabled else "paused",
        version=1,
        shard=0,
        anchor_at=anchor_at,
        definition=definition,
        created_at=now,
        updated_at=now,
    )
    slot = parsed.next_slot if definition.enabled else None
    return Entry(schedule=schedule, snapshot=ScheduleSnapshot.of(schedule), slot=slot)
