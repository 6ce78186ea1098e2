"""F7: the store stands still for longer than any lease; it does not even hang up."""

from __future__ import annotations

import contextlib
import os
import signal
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.nodes import CLOCK, cluster, database_now, holds, node_of, settled
from tests.db.schedules import Office
from tests.db.secrets_kit import ring_text
from tests.db.watch_kit import Receiver, receiving
from tests.failures.scenes import (
    ADMIN_KEY,
    SECOND,
    SHORT,
    TTL,
    alerted,
    all_ended_past,
    answers,
    assert_each_second_succeeded,
    calls,
    post,
    shows,
    status_of,
    twice,
)

from rota.db import Database, embedded, migrate

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from tests.failures.target import Target


OUTAGE = TTL + 2 * SECOND
EVENTS = ["installation", "recovered"]
TOKEN = "t0ken-of-the-channel"
LEAD = 2 * SECOND
"""What was claimed ahead is called at its instant: it had been fired before."""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncGenerator[embedded.Embedded]:
    """A server of the test's own, to be stopped."""
    async with await embedded.start(tmp_path / "data", extra_settings={"fsync": "off"}) as server:
        yield server
    await embedded.remove(tmp_path / "data")


async def test_coordination_store_down(
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


async def test_the_operator_is_notified_while_the_store_is_down(
    tmp_path: Path, server: embedded.Embedded
) -> None:
    """By each node, once, through a channel kept in memory; and of the recovery when it is back."""
    settings = {**SHORT, "ROTA_ADMIN_KEY": ADMIN_KEY, "ROTA_SECRET_KEYS": ring_text("k1")}
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(await Database.open(server.dsn))
        await migrate.apply(db)
        operator = await stack.enter_async_context(receiving())
        nodes = await stack.enter_async_context(cluster(tmp_path, server.dsn, **settings))
        (api,) = await nodes.start("api")
        channel = {"name": "ops", "url": f"{operator.url}/{TOKEN}", "events": EVENTS}
        made = await post(f"{api.url}/v1/channels", channel)
        assert made.status_code == 201, made.text
        roles = [api, *await nodes.start("scheduler", "worker")]
        await holds(lambda: all("operator_channels_ready count=1" in each.log for each in roles))
        with _standing_still(server):
            began = CLOCK.monotonic()
            await holds(lambda: len(_notices(operator, "alert.opened")) == len(roles))
            await holds(lambda: CLOCK.monotonic() - began > OUTAGE / SECOND)
        ids = [str(await node_of(db, each)) for each in roles]
        await holds(lambda: len(_notices(operator, "alert.closed")) == len(roles))
        logs = "".join(each.log for each in roles)
    notices = _notices(operator, "alert.opened")
    assert len(notices) == len(roles), "once for each node, also when the store is back"
    for id_ in ids:
        assert any(id_ in said["text"] for _, said in notices), "it says which node"
    assert all("cannot reach the database" in said["text"] for _, said in notices)
    assert all("webhook-signature" in headers for headers, _ in notices)
    assert len({headers["webhook-id"] for headers, _ in notices}) == len(roles)
    assert logs.count("outage_notified") == len(roles)
    assert TOKEN not in logs


def _notices(operator: Receiver, type_: str) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """What the operator was told about the store."""
    return [
        (headers, said)
        for headers, said in operator.calls
        if said["type"] == type_ and said["data"]["kind"] == "away"
    ]


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
