"""Events as log lines."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import rota
from rota.db.server_clock import ClockStepped
from rota.events import Bus, Event
from rota.firing.events import CaughtUp, FallingBehind, FenceRefused
from rota.leases import LeaseLost
from rota.leases import LeaseTaken as ShardTaken
from rota.runtime.database import DatabaseAway
from rota.telemetry import log
from rota.telemetry.leases import ranges

if TYPE_CHECKING:
    import pytest


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseTaken(Event):
    shard: int
    name: str
    at: datetime
    lag: timedelta
    node: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FiringStarted(Event):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class PassFailed(Event):
    error: Exception


TAKEN = LeaseTaken(
    shard=3, name="a b\nc", at=datetime(2026, 1, 1, tzinfo=UTC), lag=timedelta(milliseconds=1500)
)


def test_an_event_is_one_line_of_names_and_values_that_no_text_can_break() -> None:
    assert log.describe(TAKEN) == (
        r'lease_taken shard=3 name="a b\nc" at=2026-01-01T00:00:00+00:00 lag=1.5s node=None'
    )


def test_what_happens_for_every_firing_is_for_those_who_ask() -> None:
    assert log.level_of(FiringStarted()) == logging.DEBUG
    assert log.level_of(TAKEN) == logging.INFO
    assert log.level_of(PassFailed(error=ValueError("x"))) == logging.ERROR


def test_lines_go_to_stderr_until_it_is_ended(capsys: pytest.CaptureFixture[str]) -> None:
    bus = Bus()
    stop = log.start(bus)
    bus.publish(TAKEN)
    bus.publish(FiringStarted())
    bus.publish(PassFailed(error=ValueError("broken")))
    stop()
    bus.publish(TAKEN)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("lease_taken") == 1
    assert "firing_started" not in shown.err
    assert "ValueError: broken" in shown.err


def test_alarms_are_warnings_though_nothing_of_ours_has_failed() -> None:
    behind = FallingBehind(lag=timedelta(minutes=1))
    stepped = ClockStepped(by=timedelta(hours=-1), seen_by="worker")
    away = DatabaseAway(reason="no answer")
    for event in (behind, stepped, away, FenceRefused(shards=(1,))):
        assert log.level_of(event) == logging.WARNING, event
    assert log.level_of(CaughtUp()) == logging.INFO


def test_every_alarm_is_the_name_of_an_event() -> None:
    """They are named, not imported: a new name of one would make it a whisper."""
    for module in pkgutil.walk_packages(rota.__path__, "rota."):
        if module.name.endswith(("events", "loop", "database", "server_clock")):
            importlib.import_module(module.name)
    assert {kind.__name__ for kind in _kinds(Event)} >= log.ALARMS


def _kinds(kind: type[Event]) -> set[type[Event]]:
    below = kind.__subclasses__()
    return {*below, *(each for one in below for each in _kinds(one))}


async def test_losing_a_lease_is_a_warning_and_giving_up_a_share_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    bus, node = Bus(), uuid4()
    stop = log.start(bus)
    bus.publish(LeaseLost(node=node, shard=1, fence=1, reason="expired"))
    bus.publish(LeaseLost(node=node, shard=2, fence=1, reason="share"))
    stop()
    expired, share = capsys.readouterr().err.splitlines()
    assert "WARNING" in expired
    assert "INFO" in share


async def test_the_leases_of_one_moment_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    bus, node = Bus(), uuid4()
    stop = log.start(bus)
    for shard in (0, 1, 2, 7):
        bus.publish(ShardTaken(node=node, shard=shard, fence=1, previous=None))
    stop()
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert f"leases_taken node={node} previous=None count=4 shards=0-2,7" in shown


def test_ranges_are_short() -> None:
    assert ranges([3, 1, 2, 9, 7, 6]) == "1-3,6-7,9"
