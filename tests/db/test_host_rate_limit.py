"""The rate limit of a host, shared by all workers."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.db.queue_support import SECOND, database_now

from rota.queue import circuits, host_rate_limit

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Database
    from rota.queue.host_rate_limit import Places

HOST = "x.example"
INTERVAL = timedelta(milliseconds=100)
HORIZON = 2 * SECOND


async def reserve(db: Database, wanted: int, host: str = HOST) -> Places:
    async with db.transaction() as tx:
        found = await host_rate_limit.reserve(
            tx, {host: wanted}, interval=INTERVAL, horizon=HORIZON
        )
    return found[host]


def places(given: list[tuple[Places, int]]) -> list[datetime]:
    instants = [one for each, wanted in given for one in each.instants(wanted, INTERVAL)]
    return sorted(instant for instant, is_place in instants if is_place)


async def test_the_first_may_go_at_once_and_the_others_an_interval_apart(db: Database) -> None:
    before = await database_now(db)
    given = await reserve(db, 5)
    found = places([(given, 5)])
    assert before <= found[0] <= await database_now(db)
    assert [b - a for a, b in itertools.pairwise(found)] == [INTERVAL] * 4


async def test_whoever_reserves_at_the_same_time_no_two_places_are_closer_than_the_interval(
    db: Database,
) -> None:
    given = await asyncio.gather(*(reserve(db, 1 + n % 3) for n in range(10)))
    found = places([(each, 1 + n % 3) for n, each in enumerate(given)])
    assert len(found) == sum(1 + n % 3 for n in range(10))
    assert min(b - a for a, b in itertools.pairwise(found)) >= INTERVAL


async def test_beyond_the_horizon_there_are_no_places_but_a_time_to_come_back(
    db: Database,
) -> None:
    """A place too far ahead would be lost with its claim, and the host would stand idle."""
    now = await database_now(db)
    first, second = await reserve(db, 50), await reserve(db, 10)
    assert first.count == 21
    assert second.count == 0
    back = [instant for instant, is_place in first.instants(50, INTERVAL) if not is_place]
    assert len(back) == 29
    assert back[0] >= now + HORIZON
    # The next stand behind them.
    assert second.back_at == back[-1] + INTERVAL


async def test_a_host_that_was_idle_has_saved_up_nothing(db: Database) -> None:
    await reserve(db, 3)
    async with db.transaction() as tx:
        await tx.execute("UPDATE host_pace SET next_at = now() - interval '1 hour'")
    before = await database_now(db)
    found = places([(await reserve(db, 3), 3)])
    assert found[0] >= before
    assert found[2] - found[0] == 2 * INTERVAL


async def test_hosts_do_not_wait_for_each_other_and_are_forgotten_when_nobody_calls_them(
    db: Database,
) -> None:
    async with db.transaction() as tx:
        wanted = {f"{n}.example": 1 for n in range(3)}
        found = await host_rate_limit.reserve(tx, wanted, interval=INTERVAL, horizon=HORIZON)
    assert {each.count for each in found.values()} == {1}
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE host_pace SET next_at = now() - interval '2 hours',"
            " tail_at = now() - interval '2 hours' WHERE host = '1.example'"
        )
        await circuits.forget_old(tx)
        left = await tx.fetch("SELECT host FROM host_pace ORDER BY host")
    assert [row["host"] for row in left] == ["0.example", "2.example"]
    assert (await reserve(db, 1, "1.example")).count == 1
