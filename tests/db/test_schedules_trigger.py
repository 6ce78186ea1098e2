"""Running a schedule now: recorded as asked for, and counted by the overlap policy (TR12, TR13)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec
import pytest
from tests.db.schedules import Office, heard

from rota.schedules.errors import InvalidSchedule

if TYPE_CHECKING:
    from rota.db import Database


async def test_a_manual_run_waits_in_the_queue_with_its_own_id(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(priority=8)
    async with heard(db, "rota_queue") as lanes:
        run = await office.trigger(made, payload={"a": 1})
    (row,) = await office.queue(made)
    assert lanes == ["default"]
    assert (run.status, run.reason, run.triggered_by) == ("waiting", None, "manual")
    assert (row["id"], row["scheduled_for"]) == (run.id, run.scheduled_for)
    assert (row["state"], row["triggered_by"], row["attempt"]) == ("waiting", "manual", 0)
    assert (row["priority"], row["lane"], row["version"]) == (8, "default", 1)
    assert row["available_at"] == row["scheduled_for"] <= await office.now()
    assert msgspec.json.decode(row["payload"]) == {"a": 1}


async def test_a_run_asked_for_by_a_program_says_so(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    run = await office.trigger(made, triggered_by="api")
    (row,) = await office.queue(made)
    assert run.triggered_by == row["triggered_by"] == "api"
    assert row["payload"] is None


async def test_a_webhooks_run_is_in_its_lane_with_its_host(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(job_type=None, target_url="https://ACME.example/hook")
    await office.trigger(made)
    (row,) = await office.queue(made)
    assert (row["lane"], row["host"]) == ("http", "acme.example")


async def test_a_run_touches_the_timer_and_moves_nothing_else_of_it(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create()
    before = await office.timer(made)
    await office.trigger(made)
    after = await office.timer(made)
    assert before is not None
    assert after is not None
    assert dict(after.items()) == dict(before.items()) | {"touched": before["touched"] + 1}


async def test_a_paused_schedule_can_be_run(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(enabled=False)
    run = await office.trigger(made)
    assert run.status == "waiting"
    assert (await office.standing(made)).schedule.status == "paused"


@pytest.mark.parametrize("policy", ["skip", "queue", "cancel_previous", "allow"])
async def test_with_nothing_live_every_policy_lets_it_run(db: Database, policy: str) -> None:
    office = await Office.open(db)
    made = await office.create(overlap_policy=policy)
    assert (await office.trigger(made)).status == "waiting"


@pytest.mark.parametrize("state", ["waiting", "running", "retrying", "blocked"])
async def test_skip_records_the_run_as_skipped(db: Database, state: str) -> None:
    """OV1"""
    office = await Office.open(db)
    made = await office.create(overlap_policy="skip")
    live = await office.enqueue(made, state=state)
    run = await office.trigger(made, triggered_by="api")
    assert (run.status, run.reason) == ("skipped", "overlap")
    assert [row["id"] for row in await office.queue(made)] == [live]
    (row,) = await office.firings(made)
    assert (row["id"], row["status"], row["reason"]) == (run.id, "skipped", "overlap")
    assert row["triggered_by"] == "api"


async def test_queue_lets_it_wait_for_the_one_before(db: Database) -> None:
    """OV2"""
    office = await Office.open(db)
    made = await office.create(overlap_policy="queue")
    await office.enqueue(made, state="running")
    run = await office.trigger(made)
    assert run.status == "blocked"
    assert [row["state"] for row in await office.queue(made)] == ["running", "blocked"]


async def test_allow_lets_it_run_beside_the_one_before(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(overlap_policy="allow")
    await office.enqueue(made, state="running")
    assert (await office.trigger(made)).status == "waiting"


@pytest.mark.parametrize("state", ["waiting", "retrying"])
async def test_cancel_previous_ends_what_no_worker_has_and_runs_at_once(
    db: Database, state: str
) -> None:
    """OV3"""
    office = await Office.open(db)
    made = await office.create(overlap_policy="cancel_previous")
    live = await office.enqueue(made, state=state)
    run = await office.trigger(made)
    assert run.status == "waiting"
    assert [row["id"] for row in await office.queue(made)] == [run.id]
    (row,) = await office.firings(made)
    assert (row["id"], row["status"], row["reason"]) == (live, "cancelled", "overlap")


async def test_cancel_previous_asks_a_worker_for_an_end_and_waits_for_it(db: Database) -> None:
    office = await Office.open(db)
    made = await office.create(overlap_policy="cancel_previous")
    live = await office.enqueue(made, state="running")
    async with heard(db, "rota_cancel") as payloads:
        run = await office.trigger(made)
    assert [UUID(text) for text in payloads] == [live]
    first, second = await office.queue(made)
    assert (first["id"], first["cancel_reason"]) == (live, "overlap")
    assert (second["id"], second["state"], run.status) == (run.id, "blocked", "blocked")


@pytest.mark.parametrize(
    ("policy", "statuses"),
    [
        ("skip", ["skipped"] * 4 + ["waiting"]),
        ("queue", ["blocked"] * 4 + ["waiting"]),
        ("cancel_previous", ["waiting"] * 5),
        ("allow", ["waiting"] * 5),
    ],
)
async def test_runs_asked_for_at_once_see_each_other(
    db: Database, policy: str, statuses: list[str]
) -> None:
    office = await Office.open(db)
    made = await office.create(overlap_policy=policy)
    runs = await asyncio.gather(*(office.trigger(made) for _ in range(5)))
    assert sorted(run.status for run in runs) == statuses
    live = {"skip": 1, "queue": 5, "cancel_previous": 1, "allow": 5}[policy]
    assert len(await office.queue(made)) == live
    assert len(await office.queue(made)) + len(await office.firings(made)) == 5


@pytest.mark.parametrize("payload", ["\0", "x" * 300_000, {"a": "\ud800"}])
async def test_a_payload_that_cannot_be_stored_is_refused_and_nothing_runs(
    db: Database, payload: object
) -> None:
    office = await Office.open(db)
    made = await office.create()
    with pytest.raises(InvalidSchedule) as caught:
        await office.trigger(made, payload=payload)
    assert caught.value.field == "payload"
    assert await office.queue(made) == []


async def test_cancel_previous_stops_also_what_a_pause_could_not_take_back(db: Database) -> None:
    """OV3: its worker began before it heard; a mere recall would let it go on."""
    office = await Office.open(db)
    made = await office.create(overlap_policy="cancel_previous")
    live = await office.enqueue(made, state="running")
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET cancel_reason = 'paused'")
    assert (await office.trigger(made)).status == "blocked"
    reasons = {row["id"]: row["cancel_reason"] for row in await office.queue(made)}
    assert reasons[live] == "overlap"
