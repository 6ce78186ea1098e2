"""Instant after instant from what was read once: each answer is the next question."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import cronexpr
from croniter import croniter
from cronsim import CronSim

from bench.frame.measure import Contestant, Work
from bench.triggers.mix import AT, EXPRESSIONS, NEW_YORK, tzinfo_of
from rota.triggers.cron import Cron
from rota.triggers.zones import zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.frame.measure import Session
    from bench.frame.results import Row

_CALLS = 1_000
# The 29th of February comes every fourth year, and cronexpr gives up before 2104.
_CALLS_IN_ROW = {"0 0 29 2 *": 10}
_COUNT = _CALLS * len(EXPRESSIONS)


def rows(session: Session) -> list[Row]:
    """Chains in UTC and in New York."""
    return [_row(session, timezone) for timezone in ("UTC", NEW_YORK)]


def _row(session: Session, timezone: str) -> Row:
    differing = check(timezone)
    note = (
        f"{_CALLS:,} calls for each of the ten expressions, each from the last one's answer, so "
        "that no answer is ever asked for twice; reading the text is not timed (but for cronexpr, "
        "which reads it with every call). The 29th of February is asked for in chains of ten."
    )
    if differing:
        note += (
            f" {differing} of croniter's {_COUNT:,} answers differ: around clock changes it skips "
            "or repeats what Debian's cron does not."
        )
    return session.race(
        f"Next only, {timezone}",
        _rota(timezone),
        _cronsim(timezone),
        _croniter(timezone),
        *([_cronexpr()] if timezone == "UTC" else []),
        note=note,
    )


def check(timezone: str) -> int:
    """Our chains are cronsim's (and cronexpr's in UTC); how many of croniter's answers differ."""
    differing = 0
    for text in EXPRESSIONS:
        trigger, local = Cron(text, zone(timezone)), AT.astimezone(tzinfo_of(timezone))
        sim, iterator, instant = CronSim(text, local), croniter(text, local), AT
        for _ in range(_CALLS_IN_ROW.get(text, _CALLS)):
            before, instant = instant, _after(trigger, instant)
            assert instant == next(sim).astimezone(UTC), (text, timezone, before)
            assert timezone != "UTC" or instant == cronexpr.next_fire(text, before), (text, before)
            differing += iterator.get_next(datetime).astimezone(UTC) != instant
    return differing


def _after(trigger: Cron, instant: datetime) -> datetime:
    found = trigger.next_after(instant)
    assert found is not None
    return found


def _chains() -> list[tuple[str, int]]:
    """A text and a number of calls for each chain; every chain gets an object of its own."""
    return [
        (text, length)
        for text in EXPRESSIONS
        for length in [_CALLS_IN_ROW.get(text, _CALLS)]
        for _ in range(_CALLS // length)
    ]


def _rota(timezone: str) -> Contestant:
    def prepare(_: int) -> Work:
        ready = [(Cron(text, zone(timezone)), length) for text, length in _chains()]

        def work() -> int:
            for trigger, length in ready:
                instant = AT
                for _ in range(length):
                    instant = trigger.next_after(instant)
                    assert instant is not None
            return _COUNT

        return work

    return Contestant("Rota", prepare)


def _cronsim(timezone: str) -> Contestant:
    local = AT.astimezone(tzinfo_of(timezone))

    def prepare(_: int) -> Work:
        return _advance([(CronSim(text, local), length) for text, length in _chains()])

    return Contestant("cronsim", prepare)


def _advance(ready: Sequence[tuple[CronSim, int]]) -> Work:
    def work() -> int:
        for sim, length in ready:
            for _ in range(length):
                next(sim)
        return _COUNT

    return work


def _croniter(timezone: str) -> Contestant:
    local = AT.astimezone(tzinfo_of(timezone))

    def prepare(_: int) -> Work:
        ready = [(croniter(text, local), length) for text, length in _chains()]

        def work() -> int:
            for iterator, length in ready:
                for _ in range(length):
                    iterator.get_next(datetime)
            return _COUNT

        return work

    return Contestant("croniter", prepare)


def _cronexpr() -> Contestant:
    def work() -> int:
        for text, length in _chains():
            instant = AT
            for _ in range(length):
                instant = cronexpr.next_fire(text, instant)
        return _COUNT

    return Contestant("cronexpr (C)", lambda _: work)
