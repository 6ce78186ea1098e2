"""Claim and enqueue: passes of the scheduler over due timers, beside their statements alone."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING

from bench.core.stand import Member, Stand, member
from bench.core.wire import say_again
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.firing import Scheduler, Settings

if TYPE_CHECKING:
    from datetime import datetime

    from bench.frame.measure import Session

DUE = 5_000
UNIT = "firings per second"
BARE = "bare"
TITLE = "Claim and enqueue"

#: Every pass looks from the beginning: nobody announces what a benchmark writes into the table.
SETTINGS = Settings(sweep_interval=timedelta())

_CLOCK = SystemClock()
_AGO = timedelta(seconds=10)
_NOTE = (
    f"{DUE:,} timers, due at ten different seconds just past, are read, planned and fired into "
    "the queue; every firing advances its timer in the same transaction. The definitions are known "
    "from the warm-up."
)


async def rows(session: Session, few: Stand, many: Stand) -> list[Row]:
    """At both sizes beside the bare statements, then one size beside the other."""
    ours: dict[int, list[float]] = defaultdict(list)
    bare: dict[int, list[float]] = defaultdict(list)
    async with member(few.db) as few_member, member(many.db) as many_member:
        entered = [
            _Entered(few, few_member),
            _Entered(many, many_member),
        ]
        for number in range(session.rounds + 1):
            session.at_round(TITLE, number)
            for each in entered:
                ours[each.stand.timers].append(await each.fire())
                bare[each.stand.timers].append(await each.fire_bare())
    found = [_beside_bare(each, ours[each.timers], bare[each.timers]) for each in (few, many)]
    found.append(
        Row(
            "A million timers beside ten thousand",
            UNIT,
            Figure(f"{many.timers:,} stored", tuple(ours[many.timers][1:])),
            (Figure(f"{few.timers:,} stored", tuple(ours[few.timers][1:])),),
            # At most 1.2 times slower.
            Goal(round(1 / 1.2, 3), f"{few.timers:,} stored"),
            "The figures of the two tables above, from the same rounds.",
        )
    )
    for row in found:
        session.tell(row)
    return found


def _beside_bare(stand: Stand, ours: list[float], bare: list[float]) -> Row:
    return Row(
        f"{TITLE}, {stand.timers:,} timers stored",
        UNIT,
        Figure("Rota", tuple(ours[1:])),
        (Figure(BARE, tuple(bare[1:])),),
        Goal(0.85, BARE),
        _NOTE,
    )


class _Entered:
    """A stand with a scheduler that holds all its shards."""

    def __init__(self, stand: Stand, holder: Member) -> None:
        self.stand = stand
        self._elector = holder.elector
        self._scheduler = Scheduler(stand.db, holder.elector, settings=SETTINGS)
        self._first: datetime | None = None

    async def fire(self) -> float:
        """Firings per second of the scheduler; what it says to the server is kept."""
        stand = self.stand
        self._first = await stand.now() - _AGO
        await stand.arm(DUE, self._first)
        await self._elector.run_once()
        stand.tape.start()
        start = _CLOCK.monotonic()
        fired = await drain(self._scheduler)
        seconds = _CLOCK.monotonic() - start
        assert fired == DUE
        return fired / seconds

    async def fire_bare(self) -> float:
        """The same of the bare statements."""
        stand = self.stand
        said = stand.tape.stop()
        assert self._first is not None
        await stand.arm(DUE, self._first)
        start = _CLOCK.monotonic()
        await say_again(stand.bare, said)
        seconds = _CLOCK.monotonic() - start
        assert await stand.queued() == DUE
        return DUE / seconds


async def drain(scheduler: Scheduler) -> int:
    """Pass until there is nothing more to do at once; how many were fired."""
    fired = 0
    while True:
        done = await scheduler.run_once()
        fired += done.counts.fired
        if not done.more:
            return fired
