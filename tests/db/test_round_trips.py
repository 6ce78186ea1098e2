"""Round trips to the database: each costs a distant leader a part of its lead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.db.firing_kit import Fleet, fleet
from tests.failures.wire import Wire, wire

from rota.db import Database

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@pytest.fixture
async def line(dsn: str) -> AsyncGenerator[Wire]:
    async with wire(dsn) as made:
        yield made


@pytest.fixture
async def distant(dsn: str, line: Wire) -> AsyncGenerator[Fleet]:
    """A scheduler behind a wire; its statements are prepared, as after the first passes.

    With one connection: each prepares for itself.
    """
    async with await Database.open(line.dsn, pool_size=1) as db:
        # The node's session asks from time to time: not through the wire, where it would count.
        db.dsn = dsn
        async with fleet(db) as engine:
            for _ in range(2):
                await engine.add(slot=await engine.now())
                await engine.scheduler.run_once()
                await engine.member.elector.run_once()
            yield engine


async def test_a_pass_that_fires_is_two_round_trips(line: Wire, distant: Fleet) -> None:
    """One to look, one to prove the fences and fire."""
    schedule = await distant.add(slot=await distant.now())
    # Its definition is read once, by the first pass that sees it.
    done, trips = await _counted(line, distant)
    assert (done, trips) == (1, 3)
    async with distant.db.transaction() as tx:
        await tx.execute("DELETE FROM queue")
        await tx.execute("UPDATE timers SET scheduled_for = now(), due_at = now()")
    done, trips = await _counted(line, distant)
    assert (done, trips) == (3, 2)
    assert len(await distant.queue(schedule)) == 1


async def test_a_pass_without_anything_due_is_one_round_trip(line: Wire, distant: Fleet) -> None:
    assert await _counted(line, distant) == (0, 1)


async def test_an_elections_pass_is_a_round_trip_for_each_statement(
    line: Wire, distant: Fleet
) -> None:
    """To say that it is there and see the others, to count them, and to renew."""
    before = line.round_trips
    await distant.member.elector.run_once()
    assert line.round_trips - before == 3


async def _counted(line: Wire, engine: Fleet) -> tuple[int, int]:
    """One pass: what it fired, and its round trips."""
    before = line.round_trips
    done = await engine.scheduler.run_once()
    return done.counts.fired, line.round_trips - before
