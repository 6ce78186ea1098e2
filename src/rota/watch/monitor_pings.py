"""Pings: somebody says that the work of a monitor is done, or has failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from rota import ids
from rota.errors import CallerError
from rota.queue import record as firings
from rota.schedules import list as listing
from rota.schedules.errors import NoSuchSchedule
from rota.schedules.monitor import Expected, expected_after, slot_of
from rota.watch import monitors_sql as sql
from rota.watch.monitor_events import MonitorFailed, MonitorRecovered
from rota.watch.monitors import missed_by, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.events import Event
    from rota.schedules.schedule import Schedule
    from rota.watch.monitors import Missed

Said = Literal["ok", "failed"]
_FAILED: Final = "a ping said that it failed"


class NotAMonitor(CallerError):
    """The schedule calls something, and waits for nobody."""

    def __init__(self) -> None:
        super().__init__(
            "expected a schedule with a monitor, got one that calls a target: "
            "only a monitor waits for pings"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping:
    """What came of a ping."""

    schedule_id: UUID
    at: datetime
    said: Said
    slot: datetime | None
    """The slot that it counts for; None when the monitor expects nothing."""
    counted: bool
    """False when the slot had its outcome already, or the monitor is paused."""
    state: Literal["waiting", "up", "down"]
    expected_at: datetime | None
    """What is expected next."""
    events: tuple[Event, ...] = ()
    """What there is to publish, once it is committed."""


async def owner(tx: Tx, schedule_id: UUID) -> UUID | None:
    """The tenant of a monitor; None when there is none such."""
    return await tx.fetch_value(sql.OWNER, schedule_id)


async def ping(
    tx: Tx, tenant_id: UUID, schedule_id: UUID, *, said: Said = "ok", note: str | None = None
) -> Ping:
    """Take a ping: it counts for the slot whose window it is in, if that has no outcome yet."""
    row = await tx.fetch_row(sql.LOCK, schedule_id, tenant_id)
    # After the lock: what an edit that we waited for has made of it.
    standing = await listing.find(tx, tenant_id, schedule_id)
    if standing is None:
        raise NoSuchSchedule
    if row is None or standing.schedule.definition.monitor is None:
        raise NotAMonitor
    missed = None
    if row["overdue"]:
        # Nobody has looked since the deadline, and nobody will: this ping is of a later window.
        missed = missed_by(standing.schedule, row["expected_at"], row["state"], row["now"])
        await record(tx, [missed])
    done = _taken(standing.schedule, row, said, note, missed)
    following = _following(standing.schedule, done) if done.counted else None
    if done.counted and done.slot is not None:
        await _record(tx, standing.schedule, done, note)
    elif said == "failed" and done.slot is not None and row["state"] != "down":
        await _note_failure(tx, standing.schedule, done.slot, done.at, note)
    await tx.execute(
        sql.PINGED,
        schedule_id,
        done.at,
        done.state,
        following and following.slot,
        done.counted,
        following and following.deadline,
    )
    return done


def _taken(
    schedule: Schedule, row: Row, said: Said, note: str | None, missed: Missed | None
) -> Ping:
    """Pure: what the ping means."""
    monitor = schedule.definition.monitor
    assert monitor is not None
    at, was = row["now"], row["state"] if missed is None else "down"
    news: list[Event] = [missed.event] if missed is not None and missed.is_news else []
    slot = None if row["parked"] else slot_of(schedule.slots, monitor.grace, at)
    # What lies before the slot that is awaited has its outcome, or nobody waited for it yet.
    counted = slot is not None and slot >= row["expected_at"]
    state: Literal["up", "down"] = "up" if said == "ok" else "down"
    following = _next(schedule, slot) if counted and slot is not None else None
    awaited = following.slot if following else None
    return Ping(
        schedule_id=schedule.id,
        at=at,
        said=said,
        slot=slot,
        counted=counted,
        state=state,
        expected_at=awaited if counted else (None if row["parked"] else row["expected_at"]),
        events=(*news, *_events(schedule, said, was, slot or at, note)),
    )


def _following(schedule: Schedule, done: Ping) -> Expected | None:
    return None if done.slot is None else _next(schedule, done.slot)


def _next(schedule: Schedule, slot: datetime) -> Expected | None:
    monitor = schedule.definition.monitor
    assert monitor is not None
    return expected_after(schedule.slots, monitor.grace, slot)


def _events(
    schedule: Schedule, said: Said, was: str, slot: datetime, note: str | None
) -> Iterator[Event]:
    about: dict[str, Any] = {
        "schedule_id": schedule.id,
        "tenant_id": schedule.tenant_id,
        "key": schedule.key,
        "slot_at": slot,
    }
    if said == "failed":
        yield MonitorFailed(**about, note=note)
    elif was == "down":
        yield MonitorRecovered(**about)


async def _note_failure(
    tx: Tx, schedule: Schedule, slot: datetime, at: datetime, note: str | None
) -> None:
    await tx.execute(
        sql.NOTE_FAILURE,
        schedule.tenant_id,
        schedule.id,
        ids.firing_id(schedule.id, slot),
        slot,
        note or _FAILED,
        at,
    )


async def _record(tx: Tx, schedule: Schedule, done: Ping, note: str | None) -> None:
    assert done.slot is not None
    # History reaches no further than some days ahead: an early ping is recorded when it came.
    at = min(done.slot, done.at)
    failed = done.said == "failed"
    outcome = firings.Ping(
        id=ids.firing_id(schedule.id, done.slot),
        schedule_id=schedule.id,
        tenant_id=schedule.tenant_id,
        version=schedule.version,
        scheduled_for=at,
        at=done.at,
        status="dead" if failed else "succeeded",
        reason=(note or _FAILED) if failed else "ping",
        note=note,
    )
    await firings.record_ping(tx, outcome)
