"""The watchdog: looks at the tables, not at the scheduler's word, and knows what is late (MO8).

It shares nothing with the loops it watches, so that one that hangs, has lost its leases or thinks
that all is well is noticed all the same. Every node has one; in a pass one of them does the work.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import UUID

from rota.leases import standing
from rota.queue import capture_usage
from rota.watch import alerts, alerts_sql, facts, facts_sql, outbox, rules
from rota.watch.alerts import Trouble
from rota.watch.kinds import NOTICES, OF_OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable

    from rota.clock import Clock
    from rota.db import Database, Tx
    from rota.events import Bus, Event
    from rota.watch.alert import Alert
    from rota.watch.rules import Reading

INTERVAL: Final = timedelta(seconds=5)
"""How often to look."""

_SELDOM: Final = 60.0
"""Seconds between two looks at what changes slowly or costs more."""
_HOURLY: Final = 3_600.0
_ENDINGS: Final = 1_000
_MOST_OPEN: Final = 500
"""Alerts of a kind and a tenant: when more is wrong than this, one more says nothing new. Of each
tenant: what is wrong with one must not keep another from being told."""
_FIRST = UUID(int=0)


@dataclass(slots=True)
class _Times:
    """When what is done seldom was last done, by the monotonic clock."""

    seldom: float = float("-inf")
    hourly: float = float("-inf")


class Watchdog:
    """`run_once` is all of the work."""

    def __init__(self, db: Database, bus: Bus, clock: Clock) -> None:
        self._db = db
        self._bus = bus
        self._clock = clock
        self._flaps = facts.Flaps()
        self._times = _Times()
        self._after = _FIRST

    async def run_once(self) -> bool:
        """Whether it was this one that looked: another node may be at it."""
        news = await self._db.run(self._pass)
        for each in news or ():
            self._bus.publish(each)
        return news is not None

    async def _pass(self, tx: Tx) -> list[Event] | None:
        if not await tx.fetch_value(facts_sql.TRY_LOCK):
            return None
        news: list[Event] = []
        for kind, look in (
            ("overdue", facts.overdue),
            ("stalled", facts.stalled),
            ("circuit", facts.circuits),
            ("deep", facts.deep),
            ("capture", facts.captures),
        ):
            news += await _judge(tx, kind, look)
        news += await self._end(tx)
        now = self._clock.monotonic()
        if now - self._times.seldom >= _SELDOM:
            self._times.seldom = now
            news += await self._seldom(tx, now)
        return news

    async def _seldom(self, tx: Tx, now: float) -> list[Event]:
        news: list[Event] = []
        for kind, look in (("failing", facts.failing), ("slow", facts.slow)):
            news += await _judge(tx, kind, look)
        readings = await self._flaps.look(tx, now=now)
        news += await _carry_out(tx, "flapping", readings)
        news += await _end_of_nodes(tx)
        if now - self._times.hourly >= _HOURLY:
            self._times.hourly = now
            await alerts.forget(tx)
            await capture_usage.forget(tx)
            await outbox.forget(tx)
        return news

    async def _end(self, tx: Tx) -> list[Event]:
        """Troubles of schedules that succeed again, are gone, or were long without news."""
        rows = await tx.fetch(
            alerts_sql.ENDING, list(OF_OUTCOMES), rules.QUIET, self._after, _ENDINGS
        )
        self._after = rows[-1]["id"] if len(rows) == _ENDINGS else _FIRST
        over = [row["id"] for row in rows if row["gone"] or row["succeeded"] or row["quiet"]]
        return [*await alerts.close(tx, over)]


async def _judge(
    tx: Tx, kind: str, look: Callable[[Tx, Collection[Alert]], Awaitable[list[Reading]]]
) -> list[Event]:
    known = await alerts.are_open(tx, kind)
    return await _carry_out(tx, kind, await look(tx, known), known)


async def _carry_out(
    tx: Tx, kind: str, readings: Collection[Reading], known: Collection[Alert] | None = None
) -> list[Event]:
    if known is None:
        known = await alerts.are_open(tx, kind)
    by_about = {(each.tenant_id, each.subject): each.id for each in known}
    decision = rules.decide(kind, readings, by_about)
    opened = await alerts.open_(tx, kind, [_trouble(r) for r in with_room(decision.opened, known)])
    await alerts.touch(tx, kind, [_trouble(r) for r in decision.going_on])
    closed = await alerts.close(tx, [by_about[about] for about in decision.closed])
    return [*opened, *closed]


def with_room(opened: Iterable[Reading], known: Iterable[Alert]) -> list[Reading]:
    """Those that there is room for, by tenant: no tenant's trouble hides that of another."""
    count = Counter(each.tenant_id for each in known)
    kept: list[Reading] = []
    for each in opened:
        if count[each.tenant_id] < _MOST_OPEN:
            count[each.tenant_id] += 1
            kept.append(each)
    return kept


async def _end_of_nodes(tx: Tx) -> list[Event]:
    """What a node said about itself is over with the node; a double was long ago after an hour, and
    a notice is old news after a week."""
    alive = {str(each.id) for each in await standing.nodes(tx) if each.is_alive}
    now = await tx.fetch_value("SELECT clock_timestamp()")
    over = [
        each.id
        for each in await alerts.are_open(tx, "behind", "double", "away", "outdated")
        if each.subject not in alive
        or (each.kind == "double" and now - each.seen_at > rules.DOUBLE_QUIET)
    ]
    over += [
        each.id for each in await alerts.are_open(tx, *NOTICES) if now - each.seen_at > rules.QUIET
    ]
    return [*await alerts.close(tx, over)]


def _trouble(reading: Reading) -> Trouble:
    return Trouble(
        subject=reading.subject,
        detail=reading.detail,
        tenant_id=reading.tenant_id,
        schedule_id=reading.schedule_id,
    )
