"""F7: the store stands still for longer than any lease; it does not even hang up."""

from __future__ import annotations

import contextlib
import os
import signal
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import CLOCK, cluster, database_now, holds, settled
from tests.db.schedules import Office
from tests.failures.scenes import (
    SECOND,
    SHORT,
    TTL,
    alerted,
    all_ended_past,
    answers,
    assert_each_second_succeeded,
    calls,
    shows,
    status_of,
    twice,
)

from rota.db import Database, embedded, migrate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from tests.failures.target import Target


pytestmark = pytest.mark.timeout(90)

OUTAGE = TTL + 2 * SECOND
LEAD = 2 * SECOND
"""What was claimed ahead is called at its instant: it had been fired before."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[embedded.Embedded]:
    """A server of the test's own, to be stopped."""
    async with await embedded.start(tmp_path / "data", extra_settings={"fsync": "off"}) as server:
        yield server
    await embedded.remove(tmp_path / "data")


async def test_f7_coordination_store_down(
    tmp_path: Path, server: embedded.Embedded, target: Target
) -> None:
    """F7, LE12: no lease, no fire; red at once, back by itself, and every slot explained (I3)."""
    async with await Database.open(server.dsn, application_name="rota tests") as db:
        await migrate.apply(db)
        office = await Office.open(db, min_interval=SECOND)
        async with cluster(tmp_path, server.dsn, **SHORT) as nodes:
            api, *_ = roles = await nodes.start("api", "scheduler", "scheduler", "worker")
            await settled(db, *nodes.of("scheduler"))
            assert await status_of(f"{api.url}/readyz") == 200
            schedules = [
                await calls(office, target, f"s{number}", interval="1s", misfire_cap=40)
                for number in range(8)
            ]
            await all_ended_past(db, await database_now(db) + 2 * SECOND)
            with _standing_still(server):
                began, wall = CLOCK.monotonic(), CLOCK.now()
                await answers(f"{api.url}/readyz", 503, within=10)
                await shows(f"{api.url}/metrics", "rota_database_up 0.0")
                assert await status_of(f"{api.url}/healthz") == 200
                await holds(lambda: CLOCK.monotonic() - began > OUTAGE / SECOND)
                fired = [each for each in target.receipts if each.scheduled_for > wall + LEAD]
            assert fired == [], "nothing may fire that nobody can account for"
            await answers(f"{api.url}/readyz", 200)
            await alerted(db, "away")
            horizon = await database_now(db) + 2 * SECOND
            await all_ended_past(db, horizon)
            assert all(each.is_running for each in roles)
            await assert_each_second_succeeded(db, schedules, until=horizon)
            logs = [each.log for each in roles]
    assert all("database_away" in log and "database_back" in log for log in logs)
    assert twice(target) == []
    assert [each for each in target.receipts if each.arrived_at < each.scheduled_for] == []


@contextmanager
def _standing_still(server: embedded.Embedded) -> Generator[None]:
    """All processes of the server are stopped (SIGSTOP) until the block ends."""
    postmaster = int((server.pgdata / "postmaster.pid").read_text().splitlines()[0])
    stopped = [postmaster]
    os.kill(postmaster, signal.SIGSTOP)
    try:
        # From now on it makes no new ones.
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in map(int, children):
            # One that ends by itself has nothing to stop.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                stopped.append(pid)
        yield
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
