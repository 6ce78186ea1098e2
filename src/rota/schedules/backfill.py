"""Fires the slots of a range that has passed, on request.

Each is a firing of its own next to whatever became of its slot at the time, marked as backfill and
as catch-up so that its target may tell. They run one after another in the order of their slots,
whatever the overlap policy, like the catch-ups of an outage.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

from rota import ids, timers
from rota.errors import InvalidInput
from rota.queue import overlap
from rota.queue.enqueue import NewFiring, enter
from rota.schedules import audit, prepared
from rota.schedules.update import hold
from rota.triggers.english import explain
from rota.triggers.never import is_timed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant
    from rota.time_slicer import Steps, TimeSlicer
    from rota.triggers.trigger import Trigger

MAX_SLOTS: Final = 1_000
"""Of one call: what is more is better asked for in parts, and seen to work in between."""

_TICK = timedelta(microseconds=1)
_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
"""Ids cannot tell of an earlier one, and before the year 1 there is no telling at all."""


@dataclass(frozen=True, slots=True)
class Filled:
    """The firings that were made, in the order of their slots."""

    firings: list[tuple[UUID, datetime]]
    blocked: bool
    """Whether even the first waits for another firing to end."""


async def backfill(
    tx: Tx,
    tenant: Tenant,
    schedule_id: UUID,
    *,
    since: datetime,
    until: datetime,
    slicer: TimeSlicer,
) -> Filled:
    """Fire every slot from `since` up to, and without, `until`."""
    schedule, now = await hold(tx, tenant.id, schedule_id)
    slots = await slicer.run(
        tenant.id, slots_between(schedule.trigger, since=since, until=until, now=now)
    )
    # A firing pass that looked before these were there must not advance the timer on what it saw.
    await timers.bump(tx, [schedule_id])
    live = (await overlap.lock_live(tx, [schedule_id])).of(schedule_id)
    made = [(ids.manual_firing_id(now), slot) for slot in slots]
    allows = schedule.definition.overlap_policy == "allow"
    blocked = live.count > 0 or (live.is_held and not allows)
    if made:
        await _enter(tx, schedule, made, blocked=blocked, now=now)
        if not allows:
            await prepared.give_back(tx, [(schedule, live)])
        told = {"from": since, "to": until, "count": len(made)}
        await audit.record(tx, "backfilled", [schedule_id], at=now, changes=told)
    return Filled(made, blocked)


async def _enter(
    tx: Tx,
    schedule: Schedule,
    made: Sequence[tuple[UUID, datetime]],
    *,
    blocked: bool,
    now: datetime,
) -> None:
    """Each behind the one before, and the first behind what is live."""
    definition = schedule.definition
    await enter(
        tx,
        [
            NewFiring(
                id=id_,
                schedule_id=schedule.id,
                tenant_id=schedule.tenant_id,
                version=schedule.version,
                scheduled_for=slot,
                at=now,
                state="blocked" if blocked or number > 0 else "waiting",
                priority=definition.priority,
                lane=definition.lane,
                host=definition.host,
                triggered_by="backfill",
                catch_up=True,
            )
            for number, (id_, slot) in enumerate(made)
        ],
    )


def slots_between(
    trigger: Trigger, *, since: datetime, until: datetime, now: datetime
) -> Steps[list[datetime]]:
    """The slots of a range that has passed; InvalidInput when it has not, or holds too many."""
    if since < _FIRST:
        raise InvalidInput(
            f"Invalid from: expected an instant from {_FIRST.year} on, got an earlier one",
            field="from",
        )
    if until <= since:
        raise InvalidInput("Invalid to: expected an instant after from, got none", field="to")
    if until > now:
        raise InvalidInput(
            "Invalid to: expected an instant that has passed; what lies ahead fires by itself",
            field="to",
        )
    if not is_timed(trigger):
        raise InvalidInput(
            f"Invalid from: the schedule has no slots to fire: it fires {explain(trigger)}",
            field="from",
        )
    found: list[datetime] = []
    for slot in islice(_slots(trigger, since, until), MAX_SLOTS + 1):
        found.append(slot)
        yield
    if len(found) > MAX_SLOTS:
        raise InvalidInput(
            f"Invalid to: expected at most {MAX_SLOTS:,} slots, got more: "
            f"the first {MAX_SLOTS:,} end at {found[-2].isoformat()}",
            field="to",
        )
    return found


def _slots(trigger: Trigger, since: datetime, until: datetime) -> Iterator[datetime]:
    slot = trigger.next_after(since - _TICK)
    while slot is not None and slot < until:
        yield slot
        slot = trigger.next_after(slot)
