"""`delivery: at_most_once` and workers that die, as real processes (DS1, F12)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.nodes import cluster, database_now, eventually, holds, node_of, until
from tests.db.queue_support import attempt_rows, fire, firing_rows, make_schedule, queue_rows

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.cluster.sink import Sink

    from rota.db import Database, Row

pytestmark = pytest.mark.timeout(120)

SECOND = timedelta(seconds=1)


async def ended(db: Database, id_: UUID) -> Row:
    async def look() -> Row | None:
        return (await firing_rows(db)).get(id_)

    return await eventually(look)


async def test_it_is_never_sent_twice_though_its_worker_was_killed_in_the_middle(
    tmp_path: Path, dsn: str, db: Database, sink: Sink
) -> None:
    """kill -9 while the target works on it: at most once is dead, at least once is sent again."""
    usual: dict[str, Any] = {"timeout_seconds": 60, "target_url": f"{sink.url}/3000"}
    once = await make_schedule(db, delivery="at_most_once", **usual)
    again = await make_schedule(db, **usual)
    async with cluster(tmp_path, dsn) as nodes:
        (doomed,) = await nodes.start("worker")
        first, second = await fire(db, once), await fire(db, again)
        await holds(lambda: len(sink.receipts) == 2)
        doomed.kill()
        await nodes.start("worker")
        dead, done = await ended(db, first), await ended(db, second)
    assert (dead["status"], dead["reason"], dead["attempt"]) == ("dead", "worker lost", 1)
    assert (done["status"], done["attempt"]) == ("succeeded", 2)
    assert {id_: len(seen) for id_, seen in sink.by_firing().items()} == {first: 1, second: 2}
    outcomes = [each["outcome"] for each in await attempt_rows(db) if each["firing_id"] == first]
    assert outcomes == ["lost"]


async def test_what_its_worker_held_ahead_runs_once_elsewhere(
    tmp_path: Path, dsn: str, db: Database, sink: Sink
) -> None:
    """The worker dies before the instant: nothing was sent, so it may still be sent once."""
    schedule = await make_schedule(db, delivery="at_most_once", target_url=f"{sink.url}/0")
    async with cluster(tmp_path, dsn, ROTA_LEAD="20s") as nodes:
        workers = {await node_of(db, each): each for each in await nodes.start("worker", "worker")}
        at = await database_now(db) + 12 * SECOND
        id_ = await fire(db, schedule, at, available_in=12 * SECOND)

        async def holder() -> UUID | None:
            return (await queue_rows(db))[id_]["worker"]

        workers[await eventually(holder)].kill()
        await until(db, at)
        done = await ended(db, id_)
    assert done["status"] == "succeeded"
    assert [receipt.firing_id for receipt in sink.receipts] == [id_]
