"""`delivery: at_most_once` and workers that die, as real processes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.cluster.explained import WITHOUT_SLOTS
from tests.cluster.nodes import cluster, database_now, eventually, holds, node_of
from tests.db.queue_support import attempt_rows, fire, firing_rows, make_schedule, queue_rows

from rota.queue.rescue import MAY_NOT_HAVE_BEEN_SENT

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.cluster.sink import Sink

    from rota.db import Database, Row


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
    usual |= WITHOUT_SLOTS
    once = await make_schedule(db, delivery="at_most_once", **usual)
    again = await make_schedule(db, **usual)
    async with cluster(tmp_path, dsn) as nodes:
        (doomed,) = await nodes.start("worker")
        first, second = await fire(db, once), await fire(db, again)
        await holds(lambda: len(sink.receipts) == 2)
        doomed.kill()
        await nodes.start("worker")
        dead, done = await ended(db, first), await ended(db, second)
    assert (dead["status"], dead["reason"], dead["attempt"]) == ("dead", MAY_NOT_HAVE_BEEN_SENT, 1)
    assert (done["status"], done["attempt"]) == ("succeeded", 2)
    assert {id_: len(seen) for id_, seen in sink.by_firing().items()} == {first: 1, second: 2}
    outcomes = [each["outcome"] for each in await attempt_rows(db) if each["firing_id"] == first]
    assert outcomes == ["lost"]


@pytest.mark.parametrize("delivery", ["at_least_once", "at_most_once"])
async def test_what_its_worker_held_ahead_when_it_died(
    tmp_path: Path, dsn: str, db: Database, sink: Sink, delivery: str
) -> None:
    """Nothing was sent: it runs elsewhere, and no attempt is used. At most once is a promise that
    nobody else may make: it is dead, and says that it may not have been sent."""
    schedule = await make_schedule(
        db, delivery=delivery, target_url=f"{sink.url}/0", **WITHOUT_SLOTS
    )
    async with cluster(tmp_path, dsn, ROTA_LEAD="40s") as nodes:
        workers = {await node_of(db, each): each for each in await nodes.start("worker", "worker")}
        at = await database_now(db) + 25 * SECOND
        id_ = await fire(db, schedule, at, available_in=25 * SECOND)

        async def holder() -> UUID | None:
            return (await queue_rows(db))[id_]["worker"]

        workers[await eventually(holder)].kill()
        done = await ended(db, id_)
    if delivery == "at_least_once":
        assert (done["status"], done["attempt"]) == ("succeeded", 1)
        assert [receipt.firing_id for receipt in sink.receipts] == [id_]
    else:
        assert (done["status"], done["reason"]) == ("dead", MAY_NOT_HAVE_BEEN_SENT)
        assert (done["attempt"], sink.receipts) == (0, [])
    assert "lost" not in [each["outcome"] for each in await attempt_rows(db)]
