"""Firings that go through steps, by a real worker against a real target (DS10)."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import (
    attempt_rows,
    database_now,
    ended,
    fire,
    firing_rows,
    make_schedule,
    queue_rows,
    some_worker,
    take,
)
from tests.db.saga_support import Desk, desk
from tests.db.schedules import Office
from tests.db.test_worker import working

from rota import ids
from rota.queue.complete import settle
from rota.queue.rescue import SILENT_FOR, rescue
from rota.queue.withdraw import cancel
from rota.schedules import bulk_pause
from rota.workers import sagas
from rota.workers.events import FiringFinished, StepFinished

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from uuid import UUID

    from rota.db import Database, Row
    from rota.schedules.schedule import Schedule

QUICKLY: dict[str, Any] = {"backoff_delay": timedelta(), "backoff": "fixed"}


@pytest.fixture
async def trip() -> AsyncGenerator[Desk]:
    async with desk() as it:
        yield it


async def saga(db: Database, trip: Desk, *names: str, **fields: Any) -> Schedule:
    steps = trip.steps(*names)
    return await make_schedule(db, target_url=None, steps=steps, **QUICKLY | fields)


async def run(db: Database, schedule: Schedule, **fields: Any) -> Row:
    """Fire it, and return what became of it."""
    async with working(db, listen=True) as crew:
        id_ = await fire(db, schedule, **fields)
        await crew.recorder.wait_for(FiringFinished)
    assert await queue_rows(db) == {}
    return (await firing_rows(db))[id_]


def shown(row: Row) -> str:
    return " ".join(f"{each['name']}:{each['status']}" for each in json.loads(row["steps"]))


async def tries(db: Database) -> list[tuple[Any, ...]]:
    rows = sorted(await attempt_rows(db), key=lambda row: row["attempt"])
    return [
        (row["attempt"], row["step"], row["compensating"], row["outcome"], row["response_status"])
        for row in rows
    ]


async def test_steps_run_in_order_each_with_the_results_before_it(db: Database, trip: Desk) -> None:
    schedule = await saga(db, trip, "flight", "hotel", "mail.", payload={"who": "ada"})
    row = await run(db, schedule)
    assert (row["status"], row["reason"], row["attempt"]) == ("succeeded", None, 3)
    assert trip.calls == ["flight", "hotel", "mail"]
    assert trip.bodies == [
        {"who": "ada", "steps": {}},
        {"who": "ada", "steps": {"flight": {"booked": "flight"}}},
        {
            "who": "ada",
            "steps": {"flight": {"booked": "flight"}, "hotel": {"booked": "hotel"}},
        },
    ]
    firing = ids.to_text(ids.Kind.FIRING, row["id"])
    assert trip.keys == [f"{firing}:flight", f"{firing}:hotel", f"{firing}:mail"]
    assert shown(row) == "flight:succeeded hotel:succeeded mail:succeeded"
    assert await tries(db) == [
        (1, "flight", False, "succeeded", 200),
        (2, "hotel", False, "succeeded", 200),
        (3, "mail", False, "succeeded", 200),
    ]


async def test_when_a_step_dies_those_before_it_are_undone_in_reverse(
    db: Database, trip: Desk
) -> None:
    trip.fails = {"car": 3}
    schedule = await saga(db, trip, "flight", "hotel", "mail.", "car")
    row = await run(db, schedule)
    assert trip.calls == ["flight", "hotel", "mail", "car", "car", "car", "-hotel", "-flight"]
    assert (row["status"], row["attempt"]) == ("dead", 8)
    assert row["reason"] == "step car: HTTP 500, after 3 attempts; compensated hotel, flight"
    assert shown(row) == "flight:compensated hotel:compensated mail:succeeded car:failed"
    assert (await tries(db))[-2:] == [
        (7, "hotel", True, "succeeded", 200),
        (8, "flight", True, "succeeded", 200),
    ]
    assert trip.keys[3] == trip.keys[4] == trip.keys[5]
    assert trip.keys[6].endswith(":hotel:compensate")


async def test_each_step_and_each_compensation_is_retried_by_itself(
    db: Database, trip: Desk
) -> None:
    """RT1: attempts count from a step's own first."""
    trip.fails = {"flight": 2, "hotel": 2, "car": 3, "-hotel": 2}
    row = await run(db, await saga(db, trip, "flight", "hotel", "car"))
    assert (row["status"], row["attempt"]) == ("dead", 3 + 3 + 3 + 3 + 1)
    assert row["reason"] == "step car: HTTP 500, after 3 attempts; compensated hotel, flight"


async def test_a_compensation_that_dies_is_recorded_and_the_others_still_run(
    db: Database, trip: Desk
) -> None:
    trip.fails = {"car": 9, "-hotel": 9}
    row = await run(db, await saga(db, trip, "flight", "hotel", "car", max_attempts=1))
    assert trip.calls == ["flight", "hotel", "car", "-hotel", "-flight"]
    assert row["reason"] == (
        "step car: HTTP 500, after 1 attempt; compensated flight; "
        "the compensation of hotel failed: HTTP 500, after 1 attempt"
    )
    assert shown(row) == "flight:compensated hotel:compensation_failed car:failed"


async def test_the_first_step_alone_may_fail_and_there_is_nothing_to_undo(
    db: Database, trip: Desk
) -> None:
    trip.fails = {"flight": 9}
    row = await run(db, await saga(db, trip, "flight", "hotel", max_attempts=1))
    assert trip.calls == ["flight"]
    assert row["reason"] == "step flight: HTTP 500, after 1 attempt; nothing to compensate"


async def test_cancelled_half_way_it_is_undone_and_then_cancelled(db: Database, trip: Desk) -> None:
    trip.holds = {"car"}
    schedule = await saga(db, trip, "flight", "hotel", "car", "mail.")
    async with working(db, listen=True) as crew:
        id_ = await fire(db, schedule)
        for _ in range(2):
            await crew.recorder.wait_for(StepFinished)
        while "car" not in trip.calls:
            trip.arrived.clear()
            await trip.arrived.wait()
        async with db.transaction() as tx:
            assert await cancel(tx, [id_], "no money") == {id_: "asked"}
        finished = await crew.recorder.wait_for(FiringFinished)
    assert finished.status == "cancelled"
    row = (await firing_rows(db))[id_]
    assert row["reason"] == "step car: no money; compensated hotel, flight"
    assert trip.calls == ["flight", "hotel", "car", "-hotel", "-flight"]


async def past_first(db: Database, trip: Desk, schedule: Schedule) -> UUID:
    """A firing whose first step is done, and that nobody has."""
    trip.fails["hotel"] = 1
    async with working(db, listen=True) as crew:
        id_ = await fire(db, schedule)
        await crew.recorder.wait_for(StepFinished)
        while "hotel" not in trip.calls:
            trip.arrived.clear()
            await trip.arrived.wait()
    assert (await queue_rows(db))[id_]["saga"] is not None
    return id_


@pytest.mark.parametrize("change", ["deleted", "edited", "cancelled"])
async def test_once_begun_it_goes_on_whatever_becomes_of_its_schedule(
    db: Database, trip: Desk, change: str
) -> None:
    """Its steps are those it began with."""
    hour = timedelta(hours=1)
    schedule = await saga(db, trip, "flight", "hotel", backoff_delay=hour, backoff_max=hour)
    id_ = await past_first(db, trip, schedule)
    async with db.transaction() as tx:
        if change == "deleted":
            await tx.execute("DELETE FROM schedules WHERE id = $1", schedule.id)
        elif change == "edited":
            await tx.execute(
                """UPDATE schedules SET version = version + 1,
                          definition = definition - 'steps' || '{"job_type": "x"}'"""
            )
        else:
            # Although its next attempt is an hour away.
            assert await cancel(tx, [id_], "enough") == {id_: "asked"}
        if change != "cancelled":
            await tx.execute("UPDATE queue SET available_at = now()")
    async with working(db, listen=True) as crew:
        finished = await crew.recorder.wait_for(FiringFinished)
    if change == "cancelled":
        assert (finished.status, trip.calls[-1]) == ("cancelled", "-flight")
    else:
        assert (finished.status, trip.calls[-1]) == ("succeeded", "hotel")


async def test_a_worker_that_dies_in_the_middle_loses_and_repeats_nothing(
    db: Database, trip: Desk
) -> None:
    """F12: the step under way is tried again, the finished one is not."""
    id_ = await past_first(db, trip, await saga(db, trip, "flight", "hotel", "car"))
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET available_at = now()")
    dead = some_worker()
    [claim] = await take(db, dead)
    assert claim.saga is not None
    async with db.transaction() as tx:
        [rescued] = await rescue(tx, gone={dead: await database_now(db)})
    assert rescued.state == "waiting"
    async with working(db, listen=True) as crew:
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.firing_id, finished.status) == (id_, "succeeded")
    assert trip.calls.count("flight") == 1
    assert trip.calls[-2:] == ["hotel", "car"]
    assert ("hotel", "lost") in [(step, outcome) for _, step, _, outcome, _ in await tries(db)]


async def test_what_may_have_run_is_not_run_twice_where_that_was_asked_for(
    db: Database, trip: Desk
) -> None:
    """DS1: delivered at most once, a step that was lost with its worker has failed."""
    trip.holds = {"hotel"}
    schedule = await saga(db, trip, "flight", "hotel", "car", delivery="at_most_once")
    async with working(db, listen=True) as crew:
        id_ = await fire(db, schedule)
        await crew.recorder.wait_for(StepFinished)
        while "hotel" not in trip.calls:
            trip.arrived.clear()
            await trip.arrived.wait()
        async with db.transaction() as tx:
            await rescue(tx, gone={crew.worker.id: await database_now(db) - SILENT_FOR})
        finished = await crew.recorder.wait_for(FiringFinished)
    assert (finished.firing_id, finished.status) == (id_, "dead")
    assert finished.reason == "step hotel: worker lost; compensated flight"
    assert trip.calls == ["flight", "hotel", "-flight"]


async def under_way(office: Office, policy: str = "queue") -> Schedule:
    """A schedule of steps with a firing that is between two of them."""
    undo = {"job_type": "b"}
    steps = [{"name": "a", "job_type": "a", "compensate": undo}, {"name": "c", "job_type": "c"}]
    whole: dict[str, Any] = {"interval": "1h", "job_type": None, "overlap_policy": policy}
    made = await office.create(steps=steps, **whole)
    await office.enqueue(made)
    worker = some_worker()
    [claim] = await take(office.db, worker, lanes=("default",))
    one, of_one = sagas.at_step(claim, made)
    async with office.db.transaction() as tx:
        await settle(tx, worker, [sagas.carry_on(ended(one), of_one)])
    return made


@pytest.mark.parametrize("change", ["pause", "edit", "pause_all", "delete"])
async def test_between_two_steps_no_change_of_its_schedule_takes_it_back(
    db: Database, change: str
) -> None:
    office = await Office.open(db)
    made = await under_way(office)
    if change == "pause":
        await office.pause(made)
    elif change == "edit":
        await office.update(made, max_attempts=9)
    elif change == "delete":
        await office.delete(made)
    else:
        async with db.transaction() as tx:
            await bulk_pause.pause_some(tx, bulk_pause.PauseRequest(tenant_id=office.tenant.id))
    [row] = await office.queue(made)
    assert (row["state"], row["cancel_reason"], row["version"]) == ("waiting", None, 1)
    assert await office.firings(made) == []


@pytest.mark.parametrize(
    ("policy", "status", "reason"),
    [
        ("skip", "skipped", None),
        ("queue", "blocked", None),
        ("cancel_previous", "blocked", "overlap"),
    ],
)
async def test_between_two_steps_it_counts_as_running(
    db: Database, policy: str, status: str, reason: str | None
) -> None:
    """OV4."""
    office = await Office.open(db)
    made = await under_way(office, policy)
    assert (await office.trigger(made)).status == status
    row = (await office.queue(made))[0]
    assert (row["saga"] is not None, row["cancel_reason"]) == (True, reason)


async def test_only_one_who_moves_a_step_on_is_heard(db: Database) -> None:
    """A commit whose answer was lost: the same settlement again moves nothing."""
    office = await Office.open(db)
    made = await under_way(office)
    [row] = await office.queue(made)
    worker = some_worker()
    [claim] = await take(db, worker, lanes=("default",))
    two, of_two = sagas.at_step(claim, made)
    settlement = sagas.carry_on(ended(two, "dead", reason="x"), of_two)
    for _ in range(2):
        async with db.transaction() as tx:
            settled = await settle(tx, worker, [settlement])
        assert settled.accepted == {row["id"]}
    [row] = await office.queue(made)
    assert (json.loads(row["saga"])["back"], row["attempt"]) == (True, 2)
