"""F12: a worker is killed at each point of an attempt (c2 to c5), and between two runs (c8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.cluster.nodes import Cluster, cluster, database_now
from tests.failures.holding import hold, session_ended
from tests.failures.scenes import attempts, calls, ended, queued, soon

if TYPE_CHECKING:
    from pathlib import Path
    from uuid import UUID

    from tests.cluster.nodes import Process
    from tests.db.schedules import Office
    from tests.failures.target import Target

    from rota.db import Database


@dataclass
class Crew:
    """Workers, and what they work on."""

    nodes: Cluster
    db: Database
    office: Office
    target: Target

    async def process(self, worker: UUID) -> Process:
        async with self.db.transaction(read_only=True) as tx:
            pid = await tx.fetch_value("SELECT pid FROM nodes WHERE id = $1", worker)
        (found,) = [each for each in self.nodes.processes if each.pid == pid]
        return found

    async def kill(self, worker: UUID) -> None:
        """kill -9; another takes its place."""
        (await self.process(worker)).kill()
        self.nodes.begin("worker")


async def test_worker_crash_mid_request(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """F12, QW11, QW13: redelivered, as the same firing and with the next attempt (c3, I5, I6)."""
    async with cluster(tmp_path, dsn) as nodes:
        await nodes.start("worker", "worker")
        crew = Crew(nodes, db, office, target)
        schedule = await calls(office, target, "held")
        target.answering.clear()
        run = await office.trigger(schedule)
        first = await target.received(schedule.id)
        worker = (await queued(db, schedule, state="running"))["worker"]
        await crew.kill(worker)
        target.answering.set()
        (firing,) = await ended(db, schedule)
        tries = await attempts(db, run.id)
    assert (firing["id"], firing["status"], firing["attempt"]) == (run.id, "succeeded", 2)
    assert [(row["attempt"], row["outcome"]) for row in tries] == [(1, "lost"), (2, "succeeded")]
    assert tries[0]["worker"] == worker != tries[1]["worker"]
    assert [each.attempt for each in target.receipts] == [1, 2]
    assert {each.firing_id for each in target.receipts} == {run.id}
    assert {each.key for each in target.receipts} == {first.key}


async def test_a_worker_that_dies_at_any_other_point_of_an_attempt(
    tmp_path: Path, dsn: str, db: Database, office: Office, target: Target
) -> None:
    """c2, c4, c5, c8: what was not begun is called once, what may have been is called again."""
    # Claimed so far ahead that there is time to kill whoever has it.
    async with cluster(tmp_path, dsn, ROTA_LEAD="60s") as nodes:
        await nodes.start("scheduler", "worker", "worker", "worker")
        crew = Crew(nodes, db, office, target)
        await _after_the_answer(crew)
        await _after_the_claim(crew)
        await _between_cancel_and_start(crew)
        await _after_the_record(crew)


async def _after_the_answer(crew: Crew) -> None:
    """c4: 2xx was sent, and its record is under way. The duplicate is explained by the loss."""
    db, target = crew.db, crew.target
    schedule = await calls(crew.office, target, "c4")
    target.answering.clear()
    run = await crew.office.trigger(schedule)
    await target.received(schedule.id)
    worker = (await queued(db, schedule, state="running"))["worker"]
    async with hold(db, "SELECT FROM queue WHERE id = $1 FOR UPDATE", run.id) as held:
        target.answering.set()
        session = await held.runs_into("retry_at")
        await crew.kill(worker)
    await session_ended(db, session)
    (firing,) = await ended(db, schedule)
    tries = await attempts(db, run.id)
    receipts = target.of(schedule.id)
    assert (firing["status"], firing["attempt"]) == ("succeeded", 2)
    assert [(row["attempt"], row["outcome"]) for row in tries] == [(1, "lost"), (2, "succeeded")]
    assert [(each.firing_id, each.attempt) for each in receipts] == [(run.id, 1), (run.id, 2)]
    assert receipts[0].answered_at is not None
    assert receipts[0].key == receipts[1].key


async def _after_the_claim(crew: Crew) -> None:
    """c2: claimed ahead of its instant, not begun: called once, at its instant."""
    db, target = crew.db, crew.target
    slot = await soon(db, seconds=6)
    schedule = await calls(crew.office, target, "c2", run_at=slot.isoformat())
    worker = (await queued(db, schedule, state="running"))["worker"]
    await crew.kill(worker)
    assert await database_now(db) < slot
    (firing,) = await ended(db, schedule)
    (receipt,) = target.of(schedule.id)
    assert (receipt.firing_id, firing["status"]) == (firing["id"], "succeeded")
    assert receipt.arrived_at >= slot


async def _between_cancel_and_start(crew: Crew) -> None:
    """c8: the run was told to stop for the sake of the next, and its worker dies with the word."""
    db, target = crew.db, crew.target
    schedule = await calls(crew.office, target, "c8", overlap_policy="cancel_previous")
    target.answering.clear()
    run = await crew.office.trigger(schedule)
    await target.received(schedule.id)
    worker = (await queued(db, schedule, state="running"))["worker"]
    (await crew.process(worker)).freeze()
    following = await crew.office.trigger(schedule)
    assert (await queued(db, schedule, state="running"))["cancel_reason"] == "overlap"
    assert (await queued(db, schedule, state="blocked"))["id"] == following.id
    await crew.kill(worker)
    target.answering.set()
    firings = {row["id"]: row for row in await ended(db, schedule, 2)}
    assert (firings[run.id]["status"], firings[run.id]["reason"]) == ("cancelled", "overlap")
    assert firings[following.id]["status"] == "succeeded"
    assert [each.firing_id for each in target.of(schedule.id)] == [run.id, following.id]
    # I12: the end of the one is recorded before the other starts.
    assert firings[run.id]["finished_at"] <= firings[following.id]["started_at"]


async def _after_the_record(crew: Crew) -> None:
    """c5: the outcome is recorded: whatever happens to the worker, it is not called again."""
    db, target = crew.db, crew.target
    schedule = await calls(crew.office, target, "c5")
    run = await crew.office.trigger(schedule)
    (firing,) = await ended(db, schedule)
    (attempt,) = await attempts(db, run.id)
    await crew.kill(attempt["worker"])
    # Another's firing, claimed and rescued in the same way, has come through since.
    await _after_the_answer_of_another(crew)
    assert firing["status"] == "succeeded"
    assert len(target.of(schedule.id)) == 1


async def _after_the_answer_of_another(crew: Crew) -> None:
    later = await calls(crew.office, crew.target, "later")
    await crew.office.trigger(later)
    (firing,) = await ended(crew.db, later)
    assert firing["status"] == "succeeded"
