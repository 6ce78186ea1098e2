"""Runs that enter shortly before a slot that has been prepared: it is not running yet.

The slots here are prepared long ahead, so that a slow machine does not reach them; where a test
wants a slot's instant, it lets the timer be due.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import Fleet, fleet
from tests.db.queue_support import ended, some_worker, take
from tests.db.schedules import Office, heard
from tests.db.test_worker import QUICK, working
from tests.unit.workers.target import serving

from rota import ids
from rota.db.locks import RECALL
from rota.firing import Settings
from rota.queue import replay
from rota.queue.complete import AttemptRecord, settle
from rota.queue.heartbeat import extend
from rota.schedules import backfill, prepared
from rota.schedules.replay import replay_many, replay_one
from rota.time_slicer import TimeSlicer
from rota.workers.events import FiringFinished

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db import Database
    from rota.queue.claim import Claim
    from rota.schedules.definition import OverlapPolicy
    from rota.schedules.schedule import Schedule

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
LANES = ("default", "http")
WAYS = ["trigger", "replay", "bulk replay", "backfill"]
POLICIES: list[OverlapPolicy] = ["skip", "queue", "cancel_previous"]

_DEAD = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, started_at, finished_at)
    VALUES ($1, $2, $3, 1, $4, 'dead', 'HTTP 500', 3, 'schedule', $4, $4)
"""


@dataclass
class Prepared:
    """A schedule whose next slot is in the queue, ahead of its instant."""

    office: Office
    engine: Fleet
    schedule: Schedule
    slot: datetime

    @property
    def id(self) -> UUID:
        return ids.firing_id(self.schedule.id, self.slot)

    @property
    def db(self) -> Database:
        return self.office.db

    async def states(self) -> dict[UUID, str]:
        return {row["id"]: row["state"] for row in await self.office.queue(self.schedule)}

    async def outcomes(self) -> list[tuple[UUID, str, str | None]]:
        """All but the dead letter that is replayed."""
        rows = await self.office.firings(self.schedule)
        return [
            (row["id"], row["status"], row["reason"]) for row in rows if row["status"] != "dead"
        ]

    async def timer(self) -> tuple[datetime, int]:
        row = await self.office.timer(self.schedule)
        assert row is not None
        return row["scheduled_for"], row["fired"]

    async def claim(self, worker: UUID) -> list[Claim]:
        return await take(self.db, worker, lead=MINUTE, lanes=LANES)

    async def end_all(self) -> None:
        """Let all that has reached its instant run to its end."""
        worker = some_worker()
        while claims := await take(self.db, worker, lanes=LANES):
            async with self.db.transaction() as tx:
                await settle(tx, worker, [ended(each) for each in claims])

    async def reach(self) -> None:
        """Let the instant of the slot come, and a pass look."""
        async with self.db.transaction() as tx:
            await tx.execute(
                "UPDATE timers SET due_at = clock_timestamp() WHERE schedule_id = $1",
                self.schedule.id,
            )
        await self.engine.drain()

    async def enter(self, way: str) -> tuple[UUID, str]:
        """Have something else of the schedule enter now; the first firing and its state."""
        office, schedule = self.office, self.schedule
        if way == "trigger":
            run = await office.trigger(schedule)
            return run.id, run.status
        if way == "backfill":
            now = await office.now()
            async with self.db.transaction() as tx:
                filled = await backfill.backfill(
                    tx,
                    office.tenant,
                    schedule.id,
                    since=now - 2 * MINUTE,
                    until=now,
                    slicer=TimeSlicer(),
                )
            return filled.firings[0][0], "blocked" if filled.blocked else "waiting"
        origin = ids.manual_firing_id(await office.now())
        async with self.db.transaction() as tx:
            at = await tx.fetch_value("SELECT clock_timestamp() - interval '1 minute'")
            await tx.execute(_DEAD, origin, schedule.id, schedule.tenant_id, at)
            found = (await replay.origins(tx, office.tenant.id, [origin]))[origin]
            if way == "replay":
                made = await replay_one(tx, office.tenant, found)
            else:
                [made] = await replay_many(tx, office.tenant, [found])
        return made.id, made.state


@pytest.fixture
async def engine(db: Database) -> AsyncGenerator[Fleet]:
    async with fleet(db, Settings(lead=MINUTE, sweep_interval=timedelta())) as made:
        yield made


async def prepare(engine: Fleet, **fields: Any) -> Prepared:
    office = await Office.open(engine.db)
    schedule = await office.create(interval=None, cron_expr="* * * * *", **fields)
    slot = (await office.now()) + 30 * SECOND
    await office.set_timer(schedule, slot)
    await engine.scheduler.run_once()
    made = Prepared(office, engine, schedule, slot)
    assert await made.states() == {made.id: "waiting"}
    return made


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", POLICIES)
async def test_a_run_enters_at_once_and_the_slot_goes_back_to_its_timer(
    engine: Fleet, policy: OverlapPolicy, way: str
) -> None:
    made = await prepare(engine, overlap_policy=policy)
    run, state = await made.enter(way)
    assert state == "waiting"
    states = await made.states()
    assert states[run] == "waiting"
    assert made.id not in states
    assert await made.outcomes() == []
    assert await made.timer() == (made.slot, 0)
    # While the run is live the slot is left for its instant; once it has ended it is prepared.
    await engine.scheduler.run_once()
    assert made.id not in await made.states()
    await made.end_all()
    await engine.scheduler.run_once()
    [row] = await made.office.queue(made.schedule)
    assert (row["id"], row["state"], row["available_at"]) == (made.id, "waiting", made.slot)
    assert (await made.timer())[1] == 1


@pytest.mark.parametrize("way", WAYS)
async def test_with_allow_the_slot_stays_prepared(engine: Fleet, way: str) -> None:
    made = await prepare(engine, overlap_policy="allow")
    run, state = await made.enter(way)
    assert state == "waiting"
    states = await made.states()
    assert (states[run], states[made.id]) == ("waiting", "waiting")


async def test_with_skip_the_slot_is_skipped_at_its_instant_if_the_run_still_runs(
    engine: Fleet,
) -> None:
    made = await prepare(engine, overlap_policy="skip")
    run, _ = await made.enter("trigger")
    await made.reach()
    assert await made.outcomes() == [(made.id, "skipped", "overlap")]
    assert await made.states() == {run: "waiting"}


async def test_with_queue_the_slot_waits_for_the_run_from_its_instant_on(engine: Fleet) -> None:
    made = await prepare(engine, overlap_policy="queue")
    run, _ = await made.enter("trigger")
    await made.reach()
    assert await made.states() == {run: "waiting", made.id: "blocked"}
    assert await made.outcomes() == []


async def test_with_cancel_previous_the_slot_cancels_the_run_at_its_instant(engine: Fleet) -> None:
    made = await prepare(engine, overlap_policy="cancel_previous")
    run, _ = await made.enter("trigger")
    await made.reach()
    assert await made.outcomes() == [(run, "cancelled", "overlap")]
    assert await made.states() == {made.id: "waiting"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("policy", POLICIES)
async def test_a_slot_that_a_worker_holds_is_asked_back_and_the_run_waits_for_its_answer(
    engine: Fleet, policy: OverlapPolicy, way: str
) -> None:
    made = await prepare(engine, overlap_policy=policy)
    worker = some_worker()
    claims = await made.claim(worker)
    async with heard(made.db, RECALL) as payloads:
        run, state = await made.enter(way)
    assert payloads == [str(made.schedule.id)]
    states = await made.states()
    assert (state, states[run], states[made.id]) == ("blocked", "blocked", "running")
    # The worker hears of it with its next heartbeat, as of any claim that it is to give back.
    async with made.db.transaction() as tx:
        assert (await extend(tx, worker, claims, MINUTE)).edited == {made.id}
    async with made.db.transaction() as tx:
        await prepared.give_back_recalled(tx, worker, known=[])
    states = await made.states()
    assert states[run] == "waiting"
    assert made.id not in states
    assert await made.outcomes() == []
    assert await made.timer() == (made.slot, 0)


async def test_a_worker_that_began_before_it_heard_keeps_the_slot_and_the_run_follows(
    engine: Fleet,
) -> None:
    """What the worker says is what is recorded; the two never run at once."""
    made = await prepare(engine, overlap_policy="skip")
    timer = await made.timer()
    worker = some_worker()
    [claim] = await made.claim(worker)
    run, _ = await made.enter("trigger")
    async with made.db.transaction() as tx:
        await prepared.give_back_recalled(tx, worker, known=[claim.id])
    assert await made.states() == {run: "blocked", made.id: "running"}
    failed = ended(
        claim, None, tried=AttemptRecord(outcome="failed"), retry_at=await made.office.now()
    )
    async with made.db.transaction() as tx:
        await settle(tx, worker, [failed])
    # Tried again, it is not given back: its target has been called.
    [claim] = await made.claim(worker)
    async with made.db.transaction() as tx:
        assert (await extend(tx, worker, [claim], MINUTE)).edited == frozenset()
        await prepared.give_back_recalled(tx, worker, known=[])
    assert await made.states() == {run: "blocked", made.id: "running"}
    async with made.db.transaction() as tx:
        await settle(tx, worker, [ended(claim)])
    assert await made.states() == {run: "waiting"}
    assert await made.outcomes() == [(made.id, "succeeded", None)]
    assert await made.timer() == timer


async def test_the_last_slot_of_a_schedule_goes_back_to_a_timer_too(engine: Fleet) -> None:
    made = await prepare(engine, overlap_policy="skip", max_firings=1)
    assert await engine.status(made.schedule.id) == "completed"
    await made.enter("trigger")
    assert await engine.status(made.schedule.id) == "active"
    assert await made.timer() == (made.slot, 0)
    await made.end_all()
    await made.reach()
    assert made.id in await made.states()
    assert await engine.status(made.schedule.id) == "completed"
    assert await made.office.timer(made.schedule) is None


async def test_a_pause_replaces_the_recall(engine: Fleet) -> None:
    made = await prepare(engine, overlap_policy="skip")
    worker = some_worker()
    await made.claim(worker)
    run, _ = await made.enter("trigger")
    await made.office.pause(made.schedule)
    async with made.db.transaction() as tx:
        await prepared.give_back_recalled(tx, worker, known=[])
    [row] = await made.office.queue(made.schedule)
    assert (row["id"], row["state"], row["cancel_reason"]) == (made.id, "running", "paused")
    assert await made.outcomes() == [(run, "skipped", "paused")]


async def test_a_run_that_is_skipped_for_another_leaves_the_slot_prepared(engine: Fleet) -> None:
    made = await prepare(engine, overlap_policy="skip")
    await made.office.enqueue(made.schedule, state="running", attempt=1)
    run, state = await made.enter("trigger")
    assert state == "skipped"
    assert (await made.states())[made.id] == "waiting"
    assert await made.outcomes() == [(run, "skipped", "overlap")]


async def test_a_firing_that_was_postponed_has_reached_its_instant(engine: Fleet) -> None:
    """It waits for its host, not for its slot."""
    made = await prepare(engine, overlap_policy="skip")
    async with made.db.transaction() as tx:
        await tx.execute("UPDATE queue SET began_at = clock_timestamp() - interval '1 second'")
    _, state = await made.enter("trigger")
    assert state == "skipped"


async def test_a_run_that_was_enqueued_for_later_is_not_live(engine: Fleet) -> None:
    """Of a schedule that allowed overlap when it was enqueued."""
    made = await prepare(engine, overlap_policy="cancel_previous")
    async with made.db.transaction() as tx:
        await tx.execute("UPDATE queue SET triggered_by = 'enqueue'")
    entered, _ = await made.enter("trigger")
    assert await made.states() == {entered: "waiting", made.id: "waiting"}
    assert await made.outcomes() == []


async def test_what_follows_waits_for_a_claim_that_its_worker_is_to_give_back(
    db: Database,
) -> None:
    """Of a schedule that had slots of its own until it was edited."""
    office = await Office.open(db)
    load = await office.create(name="load", key="load")
    report = await office.create(name="report", key="report", interval=None, after="load")
    held = await office.enqueue(report, slot=await office.now() + 30 * SECOND)
    await take(db, some_worker(), lead=MINUTE, lanes=LANES)
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET cancel_reason = 'edited'")
    await office.enqueue(load)
    worker = some_worker()
    claims = await take(db, worker, lanes=LANES)
    async with db.transaction() as tx:
        await settle(tx, worker, [ended(each) for each in claims])
    states = {row["id"]: row["state"] for row in await office.queue(report)}
    assert states.pop(held) == "running"
    assert list(states.values()) == ["blocked"]


async def test_a_worker_gives_the_slot_back_runs_the_run_and_then_the_slot(
    engine: Fleet,
) -> None:
    """The whole way: a real worker, a real target, and no word about the slot in between."""
    async with serving() as target:
        made = await prepare(
            engine, overlap_policy="skip", job_type=None, target_url=f"{target.url}/ok"
        )
        settings = replace(QUICK, lead=MINUTE)
        async with working(made.db, settings=settings, listen=True) as crew:
            async with asyncio.timeout(30):
                while crew.worker.held < 1:
                    await asyncio.to_thread(lambda: None)
            run, state = await made.enter("trigger")
            assert state == "blocked"
            done = await crew.recorder.wait_for(FiringFinished)
            assert (done.firing_id, done.status) == (run, "succeeded")
            assert await made.timer() == (made.slot, 0)
            assert await made.states() == {}
            await made.reach()
            done = await crew.recorder.wait_for(
                FiringFinished, where=lambda each: each.firing_id == made.id
            )
        assert done.status == "succeeded"
        assert [each[:2] for each in await made.outcomes()] == [
            (run, "succeeded"),
            (made.id, "succeeded"),
        ]
        assert len(target.received) == 2
