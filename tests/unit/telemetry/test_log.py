"""Events as log lines."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from rota.events import Bus, Event
from rota.leases import LeaseTaken as ShardTaken
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
