"""Moving the timers of a node's shards to the zone rules that the node has, before they fire.

The scheduler asks here before it fires a shard for the first time. What other rules may have moved
is held back until it was looked at; everything else fires in the meantime.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota import ids
from rota.events import Event
from rota.leases import FenceLost, hold
from rota.schedules import tzdata
from rota.service import Service
from rota.watch import alerts
from rota.watch.alerts import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.events import Bus
    from rota.leases import Elector, Lease
    from rota.schedules.tzdata import Moved, Package, Update
    from rota.triggers.trigger import Trigger

_MOST_ALERTS: Final = 500
"""Of a tenant: what is beyond them is counted in one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimersMoved(Event):
    """The timers of some shards follow the rules of this node's tzdata now."""

    version: str
    shards: int
    moved: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TzdataOutdated(Event):
    """This node fires shards whose timers follow newer rules than it has."""

    version: str
    newer: str
    shards: int


class TzdataUpdater:
    """`admit` and `holds_back` are the scheduler's questions; `run` moves what there is to move."""

    def __init__(self, db: Database, elector: Elector, *, bus: Bus, clock: Clock) -> None:
        self._db = db
        self._elector = elector
        self._bus = bus
        self._clock = clock
        self._seen: dict[int, int] = {}
        """By shard, the fence with which it was looked at."""
        self._updates: list[Update] = []
        self._waiting = asyncio.Event()

    async def admit(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """Those whose shards were looked at; the others are looked at now."""
        fresh = [each for each in leases if self._seen.get(each.shard) != each.fence]
        if not fresh:
            return leases
        package = await asyncio.to_thread(tzdata.installed)
        shards = [each.shard for each in fresh]
        self._forget(shards)
        standing = await self._db.run(
            lambda tx: tzdata.standing(tx, shards, package), repeatable=True
        )
        outdated = [each for each in fresh if each.shard in standing.newer]
        if outdated:
            try:
                async with self._db.transaction() as tx:
                    await tzdata.note_older(await hold(tx, outdated), package)
            except FenceLost as lost:
                self._elector.lose(lost.shards)
                return [each for each in leases if each not in fresh]
            newest = max(standing.newer.values())
            self._bus.publish(
                TzdataOutdated(version=package.version, newer=newest, shards=len(outdated))
            )
        self._seen |= {each.shard: each.fence for each in fresh}
        self._updates += standing.to_move
        if self._updates:
            self._waiting.set()
        return leases

    def holds_back(self, shard: int, trigger: Trigger, slot: datetime) -> bool:
        """Whether the timer may still have to be moved."""
        return any(
            shard in update.after and update.may_move(trigger, slot) for update in self._updates
        )

    def service(self) -> Service:
        """Moves what there is to move, whenever there is something."""
        return Service(
            "tzdata", self.run_once, wait=self._waiting.wait, bus=self._bus, clock=self._clock
        )

    async def run_once(self) -> int:
        """Move all that there is to move; the number of timers that were."""
        self._waiting.clear()
        count = 0
        package = await asyncio.to_thread(tzdata.installed)
        while self._updates:
            count += await self._move_some(self._updates[0], package)
        return count

    async def _move_some(self, update: Update, package: Package) -> int:
        held = [each for each in self._elector.held() if self._seen.get(each.shard) == each.fence]
        leases = [each for each in held if each.shard in update.after]
        gone = [shard for shard in update.after if shard not in {each.shard for each in leases}]
        if gone:
            # Others have them by now; should they come back they are looked at again.
            self._forget(gone)
            return 0
        try:
            async with self._db.transaction() as tx:
                fenced = await hold(tx, leases)
                moved, left = await tzdata.move_some(fenced, update, package)
                news = await _tell(tx, moved, package.version)
        except FenceLost as lost:
            self._elector.lose(lost.shards)
            self._forget(lost.shards)
            return 0
        except BaseException:
            # It may be committed all the same: only the database knows how far it is.
            self._forget(list(update.after))
            raise
        if update in self._updates:
            at = self._updates.index(update)
            self._updates[at : at + 1] = [] if left is None else [left]
        else:
            self._forget(list(update.after))
        for each in news:
            self._bus.publish(each)
        if moved:
            self._bus.publish(
                TimersMoved(version=package.version, shards=len(leases), moved=len(moved))
            )
        return len(moved)

    def _forget(self, shards: Sequence[int]) -> None:
        for shard in shards:
            self._seen.pop(shard, None)
        left = (each.without(shards) for each in self._updates)
        self._updates = [each for each in left if each.after]


async def _tell(tx: Tx, moved: Sequence[Moved], version: str) -> Sequence[Event]:
    """An alert for each schedule; of a tenant with very many, one more for the rest."""
    if not moved:
        return []
    known = Counter[UUID | None](each.tenant_id for each in await alerts.are_open(tx, "moved"))
    troubles: list[Trouble] = []
    rest: dict[UUID, list[Moved]] = {}
    for each in moved:
        known[each.tenant_id] += 1
        if known[each.tenant_id] <= _MOST_ALERTS:
            troubles.append(_trouble(each, version))
        else:
            rest.setdefault(each.tenant_id, []).append(each)
    for tenant_id, some in rest.items():
        names = ", ".join(each.name for each in some[:5])
        trouble = Trouble(
            subject=f"tzdata {version}",
            detail=f"tzdata {version} moved the next slots of further schedules, such as {names}",
            tenant_id=tenant_id,
            count=len(some),
        )
        troubles.append(trouble)
    return await alerts.open_(tx, "moved", troubles)


def _trouble(moved: Moved, version: str) -> Trouble:
    return Trouble(
        subject=ids.to_text(ids.Kind.SCHEDULE, moved.schedule_id),
        detail=f"tzdata {version} has other rules for {moved.timezone}: the next slot was "
        f"{_instant(moved.was)} and is {_instant(moved.slot)} now",
        tenant_id=moved.tenant_id,
        schedule_id=moved.schedule_id,
    )


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
