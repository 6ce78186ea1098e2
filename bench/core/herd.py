"""Fifty thousand timers due at one second, as the top of an hour brings them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from bench.core.firing import SETTINGS, drain
from bench.core.stand import SAMPLE, Stand, member, renewing
from bench.frame.results import Figure, Goal, Row
from rota.clock import SystemClock
from rota.firing import Scheduler

if TYPE_CHECKING:
    from bench.frame.measure import Session

TITLE = f"Herd of {SAMPLE:,}"
WITHIN_SECONDS = 2.0
MOST_RUNS = 5

_CLOCK = SystemClock()
_AGO = timedelta(seconds=1)


async def rows(session: Session, stand: Stand) -> list[Row]:
    """With the definitions known, and by a scheduler that has just been started."""
    known: list[float] = []
    unknown: list[float] = []
    runs = min(session.rounds, MOST_RUNS)
    async with member(stand.db) as holder, renewing(holder):
        for number in range(1, runs + 1):
            session.at(TITLE, f"run {number} of {runs}")
            scheduler = Scheduler(stand.db, holder.elector, settings=SETTINGS)
            unknown.append(await _enqueue(stand, scheduler))
            known.append(await _enqueue(stand, scheduler))
    found = [
        Row(
            f"{TITLE} due at one second",
            "seconds",
            Figure("Rota", tuple(known)),
            goal=Goal(WITHIN_SECONDS),
            note=(
                f"Until all are in the queue, of {stand.timers:,} timers stored; one scheduler, "
                "which has fired these schedules before."
            ),
            better="less",
        ),
        Row(
            f"{TITLE} due at one second, just started",
            "seconds",
            Figure("Rota", tuple(unknown)),
            note="The same, but every definition has to be read first.",
            better="less",
        ),
    ]
    for row in found:
        session.tell(row)
    return found


async def _enqueue(stand: Stand, scheduler: Scheduler) -> float:
    await stand.arm(SAMPLE, await stand.now() - _AGO, steps=1)
    start = _CLOCK.monotonic()
    fired = await drain(scheduler)
    seconds = _CLOCK.monotonic() - start
    assert fired == SAMPLE == await stand.queued()
    return seconds
