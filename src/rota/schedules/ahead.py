"""What a tenant's active schedules are made of, for looking ahead: all of few, a sample of many.

A sample is drawn by a hash of the ids: it has no leaning, it costs one walk along an index, and it
is the same one a minute later, so that a forecast does not flicker.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString

from rota import timers
from rota.schedules import definition as definitions
from rota.schedules.calendars import days
from rota.triggers.limits import Limited

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.triggers.trigger import Trigger

_ALL: Final = 2**31
"""One more than the highest hash."""

_COUNT: LiteralString = """
    SELECT count(*) FROM schedules WHERE tenant_id = $1 AND status = 'active'
"""

# By the hash's order: the first so many of them are a sample, too.
_SAMPLE: LiteralString = """
    SELECT s.id, s.name, s.anchor_at, s.definition::text AS definition,
           c.days::text AS days, coalesce(t.fired, 0) AS fired
      FROM schedules s
      LEFT JOIN timers t ON t.schedule_id = s.id
      LEFT JOIN calendars c ON c.tenant_id = s.tenant_id AND c.name = s.calendar
     WHERE s.tenant_id = $1 AND s.status = 'active' AND uuid_hash(s.id) & 2147483647 < $2::bigint
     ORDER BY uuid_hash(s.id) & 2147483647, s.id
     LIMIT $3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When a schedule will be due."""

    id: UUID
    name: str
    trigger: Trigger
    window: timedelta = timedelta()
    """How late after its slot it may be due."""
    left: int | None = None
    """How many firings it may still have; None for any number."""

    @property
    def offset(self) -> timedelta:
        """How late after its slot it is due, always."""
        return timers.offset(self.id, self.window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A schedule as it was read; understanding thousands of them is work for a thread."""

    id: UUID
    name: str
    anchor_at: datetime
    definition: str
    days: str | None
    fired: int

    def plan(self) -> Plan:
        definition = definitions.decode(self.definition)
        calendar = None if self.days is None else days.decode(self.days)
        trigger = definition.trigger(self.anchor_at, calendar)
        most = trigger.max_firings if isinstance(trigger, Limited) else None
        return Plan(
            id=self.id,
            name=self.name,
            trigger=trigger,
            window=definition.spread_window,
            left=None if most is None else max(most - self.fired, 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Some of a tenant's active schedules, or all of them."""

    now: datetime
    active: int
    """How many there are."""
    stored: list[Stored]


async def sample(tx: Tx, tenant_id: UUID, *, most: int) -> Sample:
    """All of the tenant's active schedules, or about so many of them when there are more."""
    now: datetime = await tx.fetch_value("SELECT clock_timestamp()")
    active: int = await tx.fetch_value(_COUNT, tenant_id)
    below = _ALL if active <= most else round(_ALL * most / active)
    rows = await tx.fetch(_SAMPLE, tenant_id, below, most)
    return Sample(now=now, active=max(active, len(rows)), stored=[_stored(row) for row in rows])


def _stored(row: Row) -> Stored:
    return Stored(
        id=row["id"],
        name=row["name"],
        anchor_at=row["anchor_at"],
        definition=row["definition"],
        days=row["days"],
        fired=row["fired"],
    )
