"""A firing of several steps, and a worker that is killed in the middle of one (DS10, F12)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.cluster.explained import WITHOUT_SLOTS
from tests.cluster.nodes import cluster, eventually, holds
from tests.db.queue_support import fire, firing_rows, make_schedule
from tests.db.saga_support import desk

if TYPE_CHECKING:
    from pathlib import Path

    from rota.db import Database, Row


async def test_killed_between_two_steps_it_loses_nothing_and_repeats_no_finished_one(
    tmp_path: Path, dsn: str, db: Database
) -> None:
    """kill -9 while the second step is under way; the one after it dies, and both are undone."""
    async with desk() as trip, cluster(tmp_path, dsn) as nodes:
        trip.holds, trip.fails = {"hotel"}, {"car": 1}
        steps = trip.steps("flight", "hotel", "car")
        schedule = await make_schedule(
            db, target_url=None, steps=steps, max_attempts=1, **WITHOUT_SLOTS
        )
        (doomed,) = await nodes.start("worker")
        id_ = await fire(db, schedule)
        await holds(lambda: trip.calls == ["flight", "hotel"])
        doomed.kill()
        trip.holds.clear()
        trip.go.set()
        await nodes.start("worker")

        async def ended() -> Row | None:
            return (await firing_rows(db)).get(id_)

        done = await eventually(ended)
    assert trip.calls == ["flight", "hotel", "hotel", "car", "-hotel", "-flight"]
    assert trip.keys[1] == trip.keys[2]
    assert len(set(trip.keys)) == 5
    assert done["status"] == "dead"
    assert done["reason"] == "step car: HTTP 500, after 1 attempt; compensated hotel, flight"
    assert [each["status"] for each in json.loads(done["steps"])] == [
        "compensated",
        "compensated",
        "failed",
    ]
