"""F1: a leader is killed in the middle of its firing transaction, and right after it (c1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cluster.nodes import cluster, settled
from tests.failures.holding import hold_slot, session_ended
from tests.failures.scenes import (
    SECOND,
    all_ended_past,
    calls_in,
    ended,
    queued,
    shards_led_by,
    soon,
)

from rota import ids

if TYPE_CHECKING:
    from pathlib import Path

    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


@pytest.mark.parametrize("undone", [True, False])
async def test_a_slot_whose_leader_dies_mid_firing_is_fired_once(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target, *, undone: bool
) -> None:
    """The lease passes on, and the successor fires with the same idempotency key.

    The test holds the slot's own place in the queue, so that the leader is killed exactly while it
    writes that firing id: written, not committed. The server undoes it; or it does not notice that
    the leader is gone, and commits.
    """
    async with cluster(tmp_path, dsn) as nodes:
        leader, heir, _ = await nodes.start("scheduler", "scheduler", "worker")
        node, _ = await settled(db, leader, heir)
        slot = await soon(db)
        shards = await shards_led_by(db, node)
        (schedule,) = await calls_in(office, target, shards, run_at=slot.isoformat())
        async with hold_slot(db, schedule, slot) as held:
            session = await held.runs_into()
            if undone:
                await held.crash(leader, session)
            else:
                leader.kill()
        await session_ended(db, session)
        (firing,) = await ended(db, schedule)
    assert (firing["id"], firing["status"]) == (ids.firing_id(schedule.id, slot), "succeeded")
    (receipt,) = target.receipts
    assert (receipt.firing_id, receipt.attempt) == (firing["id"], 1)
    assert receipt.key == ids.to_text(ids.Kind.FIRING, firing["id"])
    assert receipt.arrived_at >= slot


async def test_a_leader_that_dies_right_after_its_commit_is_not_repeated(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """c1: the firing is in the queue and the timer has moved on; the successor takes the next."""
    async with cluster(tmp_path, dsn) as nodes:
        leader, heir, _ = await nodes.start("scheduler", "scheduler", "worker")
        node, _ = await settled(db, leader, heir)
        first = await soon(db)
        last = first + 2 * SECOND
        (schedule,) = await calls_in(
            office,
            target,
            await shards_led_by(db, node),
            interval="1s",
            start_at=first.isoformat(),
            end_at=last.isoformat(),
        )
        assert (await queued(db, schedule))["scheduled_for"] == first
        leader.kill()
        await all_ended_past(db, last)
        firings = await ended(db, schedule, 3)
    slots = [first, first + SECOND, last]
    assert [(row["scheduled_for"], row["status"]) for row in firings] == [
        (slot, "succeeded") for slot in slots
    ]
    assert [receipt.scheduled_for for receipt in target.receipts] == slots
