"""Repeating firings that have ended, one or thousands: each replay is a new firing of its schedule
as it is now, with the payload that was given for the one it repeats.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal, LiteralString

from rota import ids, timers
from rota.queue import replay
from rota.queue.replay import Origin, Replay
from rota.schedules import live_sql, sql
from rota.schedules.errors import CannotReplay
from rota.schedules.running import OVERLAP

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Tx
    from rota.schedules.schedule import Schedule
    from rota.tenants.tenant import Tenant

MAX_MANY = 10_000

_TICK = timedelta(microseconds=1)

Entry = Literal["waiting", "blocked", "skipped"]

_LOCK: LiteralString = """
    SELECT id, tenant_id, key, name, status, version, shard, anchor_at,
           definition::text AS definition, created_at, updated_at
      FROM schedules
     WHERE tenant_id = $1 AND id = ANY ($2::uuid[])
     ORDER BY id
       FOR NO KEY UPDATE
"""

_LOCK_LIVE: LiteralString = """
    SELECT schedule_id, CASE WHEN saga IS NULL THEN state ELSE 'running' END AS state
      FROM queue
     WHERE schedule_id = ANY ($1::uuid[])
     ORDER BY state = 'blocked', id
       FOR UPDATE
"""


async def replay_one(tx: Tx, tenant: Tenant, origin: Origin) -> Replay:
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


async def replay_many(tx: Tx, tenant: Tenant, origins: Sequence[Origin]) -> list[Replay]:
    """Repeat these, in their order; those of a deleted schedule are left out.

    Several of one schedule run one after another unless it allows overlap, and behind what is live:
    skipped, they would be replays that nobody ever sees run.
    """
    return await _replay(tx, tenant, origins, patient=True)


async def _replay(
    tx: Tx, tenant: Tenant, origins: Sequence[Origin], *, patient: bool
) -> list[Replay]:
    wanted = sorted({each.schedule_id for each in origins})
    # In the order of firing: the timers, the schedules, what is live. A firing pass that looked
    # before must not advance a timer on what it saw.
    await timers.touch_all(tx, wanted)
    found = [sql.of_row(row) for row in await tx.fetch(_LOCK, tenant.id, wanted)]
    # What a monitor was told cannot be told again: it sends nothing.
    schedules = {each.id: each for each in found if each.definition.monitor is None}
    entries = await _entries(tx, list(schedules.values()), patient=patient)
    now = await sql.now(tx)
    replays: list[Replay] = []
    for origin in origins:
        schedule = schedules.get(origin.schedule_id)
        if schedule is None:
            continue
        # A microsecond apart, so that they run in their order and no two have the same slot.
        at = now + len(replays) * _TICK
        replays.append(_made(schedule, origin, entries[schedule.id], at))
        if entries[schedule.id] == "waiting" and schedule.definition.overlap_policy != "allow":
            entries[schedule.id] = "blocked"
    if replays:
        await replay.enter(tx, replays)
    return replays


async def _entries(tx: Tx, schedules: Sequence[Schedule], *, patient: bool) -> dict[UUID, Entry]:
    """How the first replay of each enters, with what is live ended where the policy says so."""
    live: dict[UUID, set[str]] = {}
    for row in await tx.fetch(_LOCK_LIVE, [each.id for each in schedules]):
        live.setdefault(row["schedule_id"], set()).add(row["state"])
    return {each.id: await _entry(tx, each, live.get(each.id), patient) for each in schedules}


async def _entry(tx: Tx, schedule: Schedule, live: set[str] | None, patient: bool) -> Entry:
    policy = schedule.definition.overlap_policy
    if policy == "allow" or not live:
        return "waiting"
    if policy == "skip" and not patient:
        return "skipped"
    if policy == "cancel_previous":
        taken = await live_sql.take(tx, schedule.id)
        await live_sql.record(tx, schedule, taken, status="cancelled", reason=OVERLAP)
        await live_sql.cancel(tx, schedule.id, OVERLAP)
        return "blocked" if "running" in live else "waiting"
    return "blocked"


def _made(schedule: Schedule, origin: Origin, entry: Entry, at: datetime) -> Replay:
    definition = schedule.definition
    return Replay(
        id=ids.manual_firing_id(at),
        replay_of=origin.id,
        schedule_id=schedule.id,
        tenant_id=schedule.tenant_id,
        version=schedule.version,
        scheduled_for=at,
        status=entry,
        reason=OVERLAP if entry == "skipped" else None,
        priority=definition.priority,
        lane=definition.lane,
        host=definition.host,
        payload=origin.payload,
        # What a program enqueued stays that: no secrets are filled into it (S8).
        triggered_by="enqueue" if origin.triggered_by == "enqueue" else "api",
    )
