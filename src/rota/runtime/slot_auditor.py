"""The slow pass that holds expected slots against outcomes, and arms what has no timer.

It trusts no loop: it reads what is recorded. One node at a time does it, a bounded part of the
schedules in each pass, and goes on where the last pass of any node stopped. Every slot is looked at
once: a round over all schedules looks at the time from the round before to its own beginning.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, LiteralString
from uuid import UUID

import msgspec

from rota import ids
from rota.db import locks
from rota.events import Event
from rota.history import slot_audit
from rota.schedules import schedule as schedules
from rota.schedules import update
from rota.time_slicer import run_at_once
from rota.watch import alerts
from rota.watch.alerts import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.history.slot_audit import Audited

INTERVAL: Final = timedelta(minutes=1)

_BUDGET: Final = 2.0
"""Seconds that a pass may take before it leaves the rest to the next."""
_MOST_OUTCOMES: Final = 4_000
"""Of one schedule in one round."""
_FIRST_LOOK: Final = timedelta(hours=1)
"""How far back the first round of an installation looks."""
_NAMED: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotsUnexplained(Event):
    """Slots of a schedule have passed without a firing and without any record."""

    schedule_id: UUID
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleRearmed(Event):
    """An active schedule had no timer; it was armed for this slot, or is completed without one."""

    schedule_id: UUID
    slot: datetime | None


class _Progress(msgspec.Struct, frozen=True, kw_only=True):
    """As stored in settings."""

    since: datetime
    until: datetime
    """The range of time of this round."""
    after: UUID


_TRY_LOCK: LiteralString = "SELECT pg_try_advisory_xact_lock(" + locks.SLOTS + ")"
_READ: LiteralString = "SELECT value::text FROM settings WHERE name = 'slot_audit'"
_WRITE: LiteralString = """
    INSERT INTO settings (name, value) VALUES ('slot_audit', $1::jsonb)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""


class SlotAuditor:
    """`run_once` is all of the work."""

    def __init__(
        self,
        db: Database,
        *,
        bus: Bus,
        clock: Clock,
        keep: timedelta,
        slack: timedelta = slot_audit.SLACK,
    ) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._keep = keep
        self._slack = slack

    async def run_once(self) -> int:
        """Look at the next schedules; how many they were. 0 also when another node is at it."""
        ends_at = self._clock.monotonic() + _BUDGET
        count, more = 0, True
        while more and self._clock.monotonic() < ends_at:
            looked_at, more, news = await self._db.run(self._page)
            count += looked_at
            for each in news:
                self._bus.publish(each)
        return count

    async def _page(self, tx: Tx) -> tuple[int, bool, Sequence[Event]]:
        if not await tx.fetch_value(_TRY_LOCK):
            return 0, False, ()
        progress = await self._progress(tx)
        ids_ = await slot_audit.page(tx, tenant_id=None, after=progress.after)
        found = await slot_audit.audited(
            tx,
            ids_,
            since=progress.since,
            until=progress.until,
            slack=self._slack,
            keep=self._keep,
            most=_MOST_OUTCOMES,
        )
        # In a thread: thousands of slots would keep everything else in the process waiting.
        audited = await asyncio.to_thread(lambda: [run_at_once(each) for each in found])
        news = [*await _rearm(tx, audited), *await _tell(tx, audited)]
        more = len(ids_) == slot_audit.PAGE
        # Past every id at the end of a round: the next pass begins another.
        after = ids_[-1] if more else UUID(int=(1 << 128) - 1)
        await self._write(tx, _Progress(since=progress.since, until=progress.until, after=after))
        return len(ids_), more, news

    async def _progress(self, tx: Tx) -> _Progress:
        """The round that is under way; another one when it is at its end."""
        stored: str | None = await tx.fetch_value(_READ)
        known = None if stored is None else msgspec.json.decode(stored, type=_Progress)
        if known is not None and known.after.int < (1 << 128) - 1:
            return known
        until = await schedules.now(tx) - self._slack
        since = until - _FIRST_LOOK if known is None else known.until
        return _Progress(since=since, until=max(since, until), after=slot_audit.START)

    async def _write(self, tx: Tx, progress: _Progress) -> None:
        await tx.execute(_WRITE, msgspec.json.encode(progress).decode())


async def _rearm(tx: Tx, audited: Sequence[Audited]) -> list[Event]:
    news: list[Event] = []
    troubles: list[Trouble] = []
    unarmed = [each for each in audited if each.has_no_timer]
    await update.lock_several(tx, [each.schedule_id for each in unarmed])
    for each in unarmed:
        slot = await update.rearm(tx, each.tenant_id, each.schedule_id)
        if slot is None:
            continue
        news.append(ScheduleRearmed(schedule_id=each.schedule_id, slot=slot))
        detail = f"nothing was armed for it; it is armed for {_instant(slot)} now"
        troubles.append(_trouble(each, detail, 1))
    return [*news, *await alerts.open_(tx, "unarmed", troubles)]


async def _tell(tx: Tx, audited: Sequence[Audited]) -> list[Event]:
    wrong = [each for each in audited if each.unexplained]
    troubles = [_trouble(each, _detail(each), each.unexplained) for each in wrong]
    opened = await alerts.open_(tx, "unexplained", troubles)
    said = [
        SlotsUnexplained(schedule_id=each.schedule_id, count=each.unexplained) for each in wrong
    ]
    return [*said, *opened]


def _trouble(audited: Audited, detail: str, count: int) -> Trouble:
    return Trouble(
        subject=ids.to_text(ids.Kind.SCHEDULE, audited.schedule_id),
        detail=detail,
        tenant_id=audited.tenant_id,
        schedule_id=audited.schedule_id,
        count=count,
    )


def _detail(audited: Audited) -> str:
    runs = [
        _instant(run.first)
        if run.count == 1
        else f"{run.count} from {_instant(run.first)} to {_instant(run.last)}"
        for run in audited.runs[:_NAMED]
    ]
    rest = " and others" if len(audited.runs) > _NAMED else ""
    return (
        f"there is no firing and no record of {audited.unexplained} slots: {', '.join(runs)}{rest}"
    )


def _instant(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
