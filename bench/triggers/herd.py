"""Fifty thousand schedules due at one instant, as the top of an hour brings them.

The definitions are read once, before; then every schedule is asked for its next instant. As from a
database, every row brings a datetime object of its own, though all are equal.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import cycle, islice, product
from typing import TYPE_CHECKING, TypeVar

import cronexpr
from croniter import croniter
from cronsim import CronSim

from bench.frame.measure import Contestant, Work
from bench.frame.results import Goal
from rota.triggers.cron import Cron

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.frame.measure import Session
    from bench.frame.results import Row

_T = TypeVar("_T")

SCHEDULES = 50_000
MINUTES = ("0", "*", "*/5", "*/10", "*/15", "*/30", "0,30", "0-30/6")
HOURS = ("9", "*", "9-17", "*/3", "8-18")
DAYS = ("* * *", "* * MON-FRI", "* * MON", "1 * *", "* * 1,3,5")
#: Two hundred distinct ones, most of them due on a Monday at 09:00.
TEXTS = tuple(" ".join(fields) for fields in product(MINUTES, HOURS, DAYS))
#: Each turn has a Monday of its own: an instant that was never asked about before.
MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)

_NOTE = (
    f"{SCHEDULES:,} schedules with {len(TEXTS)} distinct expressions in UTC, asked for what "
    "follows one instant: a new one every turn, given as equal but distinct datetime objects, and "
    "once as one object. Rota's and croniter's expressions were read beforehand. A CronSim is an "
    "iterator that is built with its start, so building it is part of each call; `kept` sets the "
    "attribute `dt` of ones built beforehand instead, which its documentation does not offer. Most "
    "of the ratio comes from Rota keeping its latest answer; `behind lru_cache` is cronsim with a "
    "cache put in front of it."
)


def rows(session: Session) -> list[Row]:
    """The herd."""
    check()
    row = session.race(
        f"Herd of {SCHEDULES:,}",
        Contestant("Rota", lambda turn: _rota(_distinct(turn))),
        Contestant("Rota, instant as one object", lambda turn: _rota([_instant(turn)] * SCHEDULES)),
        Contestant("cronsim", lambda turn: _cronsim(_distinct(turn))),
        Contestant("cronsim, kept", lambda turn: _cronsim_kept(_distinct(turn))),
        Contestant("cronsim, behind lru_cache", lambda turn: _cronsim_cached(_distinct(turn))),
        Contestant("croniter, kept", lambda turn: _croniter(_distinct(turn))),
        Contestant("cronexpr (C)", lambda turn: _cronexpr(_distinct(turn))),
        goal=Goal(50, "cronsim"),
        note=_NOTE,
    )
    return [row]


def check() -> None:
    """All contestants find the same instants."""
    assert len(set(TEXTS)) == 200
    for text in TEXTS:
        expected = Cron.parse(text).next_after(MONDAY)
        kept = CronSim(text, MONDAY - timedelta(days=1))
        kept.dt = MONDAY
        iterator = croniter(text, MONDAY - timedelta(days=1))
        assert expected == next(CronSim(text, MONDAY)), text
        assert expected == next(kept), text
        assert expected == iterator.get_next(datetime, start_time=MONDAY), text
        assert expected == cronexpr.next_fire(text, MONDAY), text


def _instant(turn: int) -> datetime:
    return MONDAY + timedelta(weeks=turn + 1)


def _distinct(turn: int) -> list[datetime]:
    return [_instant(turn) for _ in range(SCHEDULES)]


def _herd(definition: Callable[[str], _T]) -> list[_T]:
    """The definition of each schedule: one object for each text."""
    return list(islice(cycle([definition(text) for text in TEXTS]), SCHEDULES))


def _rota(instants: list[datetime]) -> Work:
    herd = _herd(Cron.parse)

    def work() -> int:
        for trigger, instant in zip(herd, instants, strict=True):
            trigger.next_after(instant)
        return SCHEDULES

    return work


def _cronsim(instants: list[datetime]) -> Work:
    herd = _herd(str)

    def work() -> int:
        for text, instant in zip(herd, instants, strict=True):
            next(CronSim(text, instant))
        return SCHEDULES

    return work


def _cronsim_kept(instants: list[datetime]) -> Work:
    herd = _herd(lambda text: CronSim(text, MONDAY))

    def work() -> int:
        for sim, instant in zip(herd, instants, strict=True):
            sim.dt = instant
            next(sim)
        return SCHEDULES

    return work


def _cronsim_cached(instants: list[datetime]) -> Work:
    herd = _herd(str)

    @lru_cache(maxsize=65_536)
    def next_after(text: str, instant: datetime) -> datetime:
        return next(CronSim(text, instant))

    def work() -> int:
        for text, instant in zip(herd, instants, strict=True):
            next_after(text, instant)
        return SCHEDULES

    return work


def _croniter(instants: list[datetime]) -> Work:
    herd = _herd(lambda text: croniter(text, MONDAY))

    def work() -> int:
        for iterator, instant in zip(herd, instants, strict=True):
            iterator.get_next(datetime, start_time=instant)
        return SCHEDULES

    return work


def _cronexpr(instants: list[datetime]) -> Work:
    herd = _herd(str)

    def work() -> int:
        for text, instant in zip(herd, instants, strict=True):
            cronexpr.next_fire(text, instant)
        return SCHEDULES

    return work
