"""Repeats firings that have ended, one or thousands: each replay is a new firing of its schedule
as it is now, with the payload that was given for the one it repeats.
"""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rota import ids, timers
from rota.queue import overlap
from rota.queue.enqueue import NewFiring, enter
from rota.queue.overlap import Admission, Entry
from rota.schedules import audit, prepared
from rota.schedules import schedule as rows
from rota.schedules.errors import CannotReplay
from rota.schedules.run_now import asked_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.queue.overlap import State
    from rota.queue.replay import Origin
    from rota.schedules.run_now import TriggeredBy
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

MAX_MANY = 10_000

_TICK = timedelta(microseconds=1)


async def replay_one(tx: Tx, tenant: Tenant, origin: Origin) -> NewFiring:
    """Repeat one firing. The overlap policy counts it like any run that is asked for."""
    if origin.slot_count > 1:
        raise CannotReplay(
            f"expected one firing, got {origin.slot_count} slots that were not fired; "
            "a backfill of that time fires them"
        )
    entered = await _replay(tx, tenant, [origin], patient=False)
    if not entered:
        raise CannotReplay(
            "the firing's schedule has been deleted, or is a monitor: there is nothing to send; "
            "make the schedule again and trigger it"
        )
    return entered[0]


async def replay_many(tx: Tx, tenant: Tenant, origins: Sequence[Origin]) -> list[NewFiring]:
    """Repeat these, in their order.

    Several of one schedule run one after another unless it allows overlap, and behind what is live:
    a replay that is skipped would be no replay. Those of a deleted schedule are left out, and so
    are those for which the schedule's queue has no room: they can be replayed later.
    """
    entering = await _replay(tx, tenant, origins, patient=True)
    return [each for each in entering if each.state != "skipped"]


async def _replay(
    tx: Tx, tenant: Tenant, origins: Sequence[Origin], *, patient: bool
) -> list[NewFiring]:
    wanted = sorted({each.schedule_id for each in origins})
    # In the order of `db.locks`: the timers, the schedules, what is live. A firing pass that looked
    # before must not advance a timer on what it saw.
    await timers.bump(tx, wanted)
    found = await rows.lock_many(tx, wanted, tenant_id=tenant.id)
    # A monitor sends nothing, so there is nothing to repeat.
    schedules = {each.id: each for each in found if each.definition.monitor is None}
    admissions = await _admit(tx, list(schedules.values()), patient=patient)
    now = await rows.now(tx)
    entering: list[NewFiring] = []
    for origin in origins:
        schedule = schedules.get(origin.schedule_id)
        if schedule is not None:
            state, reason = admissions[schedule.id].next()
            # A microsecond apart, so that they run in their order and no two have the same slot.
            at = now + len(entering) * _TICK
            asked = asked_by(tx)
            entering.append(_entering(schedule, origin, state, reason, at=at, asked=asked))
    # A skipped one is recorded where somebody asked for it by name, and is no replay of many.
    made = [each for each in entering if not patient or each.state != "skipped"]
    await enter(tx, made)
    await _audit(tx, made, now)
    return entering


async def _audit(tx: Tx, made: Sequence[NewFiring], now: datetime) -> None:
    """One row for each schedule: thousands may be replayed at once."""
    counts = Counter(each.schedule_id for each in made)
    first = {each.schedule_id: each for each in reversed(made)}
    changes: list[dict[str, Any]] = [
        {
            "firing_id": ids.to_text(ids.Kind.FIRING, first[id_].id),
            "replay_of": ids.to_text(ids.Kind.FIRING, first[id_].replay_of or first[id_].id),
            "count": count,
        }
        for id_, count in counts.items()
    ]
    if changes:
        await audit.record(tx, "replayed", counts, at=now, changes=changes)


async def _admit(tx: Tx, schedules: Sequence[Schedule], *, patient: bool) -> dict[UUID, Admission]:
    """How replays of each enter, with what is live ended where the policy says so."""
    bound = [each.id for each in schedules if each.definition.overlap_policy != "allow"]
    snapshot = await overlap.lock_live(tx, bound)
    admissions = {
        each.id: Admission(each.definition.overlap_policy, snapshot.of(each.id), patient=patient)
        for each in schedules
    }
    await overlap.make_room(tx, snapshot, admissions)
    entered = [each for each in schedules if admissions[each.id].first is not Entry.SKIPPED]
    await prepared.give_back(tx, [(each, snapshot.of(each.id)) for each in entered])
    return admissions


def _entering(
    schedule: Schedule,
    origin: Origin,
    state: State,
    reason: str | None,
    *,
    at: datetime,
    asked: TriggeredBy,
) -> NewFiring:
    definition = schedule.definition
    return NewFiring(
        id=ids.manual_firing_id(at),
        replay_of=origin.id,
        schedule_id=schedule.id,
        tenant_id=schedule.tenant_id,
        version=schedule.version,
        scheduled_for=at,
        at=at,
        state=state,
        reason=reason,
        priority=definition.priority,
        lane=definition.lane,
        host=definition.host,
        payload=origin.payload,
        # What a program enqueued stays that: no secrets are filled into it.
        triggered_by="enqueue" if origin.triggered_by == "enqueue" else asked,
    )
