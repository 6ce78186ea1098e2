"""A text to its next instant with nothing kept: what the first look at a schedule costs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import cronexpr
from croniter import croniter
from cronsim import CronSim

from bench.frame.measure import Contestant, Work
from bench.frame.results import Goal
from bench.triggers.mix import AT, EXPRESSIONS, NEW_YORK, tzinfo_of
from rota.triggers.cron import Cron
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from bench.frame.measure import Session
    from bench.frame.results import Row

_REPEAT = 10
_COUNT = _REPEAT * len(EXPRESSIONS)


def rows(session: Session) -> list[Row]:
    """The mix in UTC and in New York."""
    for timezone in ("UTC", NEW_YORK):
        check(timezone)
    return [
        session.race(
            f"Parse and next, {timezone}",
            _rota(timezone),
            _cronsim(timezone),
            _croniter(timezone),
            *([_cronexpr()] if timezone == "UTC" else []),
            goal=Goal(5, "cronsim"),
            note=(
                f"Ten expressions: `{'`, `'.join(EXPRESSIONS)}`; from {AT:%Y-%m-%d %H:%M:%S} UTC. "
                "Every call reads the text anew; Rota's are fresh objects, not shared ones."
            ),
        )
        for timezone in ("UTC", NEW_YORK)
    ]


def check(timezone: str) -> None:
    """All contestants find the same instants."""
    local = AT.astimezone(tzinfo_of(timezone))
    for text in EXPRESSIONS:
        expected = Cron(text, zone(timezone)).next_after(AT)
        assert expected == next(CronSim(text, local)).astimezone(UTC), (text, timezone)
        assert expected == croniter(text, local).get_next(datetime).astimezone(UTC), text
        assert timezone != "UTC" or expected == cronexpr.next_fire(text, AT), text


def _rota(timezone: str) -> Contestant:
    def work() -> int:
        for _ in range(_REPEAT):
            for text in EXPRESSIONS:
                Cron(text, zone(timezone)).next_after(AT)
        return _COUNT

    return _same_every_turn("Rota", work)


def _cronsim(timezone: str) -> Contestant:
    local = AT.astimezone(tzinfo_of(timezone))

    def work() -> int:
        for _ in range(_REPEAT):
            for text in EXPRESSIONS:
                next(CronSim(text, local))
        return _COUNT

    return _same_every_turn("cronsim", work)


def _croniter(timezone: str) -> Contestant:
    local = AT.astimezone(tzinfo_of(timezone))

    def work() -> int:
        for _ in range(_REPEAT):
            for text in EXPRESSIONS:
                croniter(text, local).get_next(datetime)
        return _COUNT

    return _same_every_turn("croniter", work)


def _cronexpr() -> Contestant:
    def work() -> int:
        for _ in range(_REPEAT):
            for text in EXPRESSIONS:
                cronexpr.next_fire(text, AT)
        return _COUNT

    return _same_every_turn("cronexpr (C)", work)


def _same_every_turn(name: str, work: Work) -> Contestant:
    return Contestant(name, lambda _: work)
