"""Schedules that follow others: exactly one firing for each end, in the end's own transaction."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.queue_support import database_now, ended, some_worker, take
from tests.db.schedules import SHARDS, Office

from rota import ids
from rota.errors import CallerError
from rota.queue.claim import Claim
from rota.queue.complete import settle
from rota.queue.heartbeat import release
from rota.queue.rescue import MAY_NOT_HAVE_BEEN_SENT, SILENT_FOR, rescue
from rota.schedules import after_links, bulk_pause, create
from rota.schedules.errors import InvalidSchedule
from rota.time_slicer import TimeSlicer

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Database, Row, Tx
    from rota.schedules.schedule import Schedule

LANES = ("default", "http")


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def following(office: Office, upstream: Schedule, name: str = "report", **fields: Any) -> Any:
    after = fields.pop("after", upstream.key)
    return await office.create(name=name, key=name, interval=None, after=after, **fields)


async def end(
    office: Office, *schedules: Schedule, status: str = "succeeded", **fields: Any
) -> dict[Any, datetime]:
    """Fire each once and end it, all in one statement; the slots, by schedule."""
    for each in schedules:
        await office.enqueue(each)
    worker = some_worker()
    claims = await take(office.db, worker, lanes=LANES)
    wanted = {each.id for each in schedules}
    mine = [each for each in claims if each.schedule_id in wanted]
    async with office.db.transaction() as tx:
        await release(tx, worker, [each for each in claims if each not in mine])
    async with office.db.transaction() as tx:
        await settle(tx, worker, [ended(each, status, **fields) for each in mine])
    return {each.schedule_id: each.scheduled_for for each in mine}


async def said(row: Row) -> dict[str, Any]:
    return json.loads(row["payload"])


async def test_a_success_is_followed_by_one_firing_with_its_result(office: Office) -> None:
    load = await office.create(name="load", key="load")
    report = await following(office, load, payload={"team": "ops"})
    slots = await end(office, load, result=b'{"rows": 3}')
    [row] = await office.queue(report)
    [done] = await office.firings(load)
    assert (row["state"], row["triggered_by"], row["version"]) == ("waiting", "after", 1)
    assert row["scheduled_for"] == slots[load.id]
    assert row["id"] == ids.following_id(report.id, done["id"], slots[load.id])
    assert await said(row) == {
        "team": "ops",
        "after": {
            "key": "load",
            "firing_id": ids.to_text(ids.Kind.FIRING, done["id"]),
            "status": "succeeded",
            "reason": None,
            "result": {"rows": 3},
        },
    }


@pytest.mark.parametrize(
    ("on", "status", "fires"),
    [
        ("succeeded", "succeeded", True),
        ("succeeded", "dead", False),
        ("failed", "succeeded", False),
        ("failed", "dead", True),
        ("finished", "succeeded", True),
        ("finished", "dead", True),
        ("finished", "cancelled", False),
        ("finished", "skipped", False),
    ],
)
async def test_only_the_end_that_it_waits_for_is_followed(
    office: Office, on: str, status: str, fires: bool
) -> None:
    load = await office.create(name="load", key="load")
    report = await following(office, load, after={"key": "load", "on": on})
    await end(office, load, status=status, reason="why")
    assert len(await office.queue(report)) == fires
    assert await office.firings(report) == []


async def test_recorded_twice_it_is_followed_once(office: Office) -> None:
    """DS8: a commit whose answer was lost is settled again."""
    load = await office.create(name="load", key="load")
    report = await following(office, load, overlap_policy="allow")
    await office.enqueue(load)
    worker = some_worker()
    [claim] = await take(office.db, worker, lanes=LANES)
    for _ in range(2):
        async with office.db.transaction() as tx:
            await settle(tx, worker, [ended(claim)])
    assert len(await office.queue(report)) == 1


async def test_what_does_not_commit_is_not_followed(office: Office) -> None:
    load = await office.create(name="load", key="load")
    report = await following(office, load)
    await office.enqueue(load)
    worker = some_worker()
    [claim] = await take(office.db, worker, lanes=LANES)

    async def half(tx: Tx) -> None:
        await settle(tx, worker, [ended(claim)])
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await office.db.run(half)
    assert await office.queue(report) == []
    assert len(await office.queue(load)) == 1


async def test_a_firing_that_dies_with_its_worker_is_followed(office: Office) -> None:
    load = await office.create(name="load", key="load", delivery="at_most_once")
    report = await following(office, load, after={"key": "load", "on": "failed"})
    await office.enqueue(load)
    worker = some_worker()
    await take(office.db, worker, lanes=LANES)
    async with office.db.transaction() as tx:
        [lost] = await rescue(tx, gone={worker: await database_now(office.db) - SILENT_FOR})
    assert lost.state == "dead"
    [row] = await office.queue(report)
    assert (await said(row))["after"]["reason"] == MAY_NOT_HAVE_BEEN_SENT


@pytest.mark.parametrize(
    ("policy", "live", "queued", "over"),
    [
        ("skip", "waiting", ["schedule waiting"], ["after skipped"]),
        ("queue", "waiting", ["schedule waiting", "after blocked"], []),
        ("allow", "waiting", ["schedule waiting", "after waiting"], []),
        ("cancel_previous", "waiting", ["after waiting"], ["schedule cancelled"]),
        ("cancel_previous", "running", ["schedule running", "after blocked"], []),
    ],
)
async def test_its_own_overlap_policy_counts(
    office: Office, policy: str, live: str, queued: list[str], over: list[str]
) -> None:
    """OV1-OV3."""
    load = await office.create(name="load", key="load")
    report = await following(office, load, overlap_policy=policy)
    await office.enqueue(report, state=live)
    await end(office, load)
    rows, firings = await office.queue(report), await office.firings(report)
    assert [f"{row['triggered_by']} {row['state']}" for row in rows] == queued
    assert [f"{row['triggered_by']} {row['status']}" for row in firings] == over
    assert {row["reason"] for row in firings} <= {"overlap"}
    if live == "running":
        assert rows[0]["cancel_reason"] == "overlap"


async def test_several_ends_at_once_follow_one_another(office: Office) -> None:
    load = await office.create(name="load", key="load", overlap_policy="allow")
    report = await following(office, load, overlap_policy="queue")
    await office.enqueue(load)
    await end(office, load)
    rows = await office.queue(report)
    assert sorted(row["state"] for row in rows) == ["blocked", "waiting"]


async def test_of_a_paused_one_it_is_recorded_as_skipped(office: Office) -> None:
    load = await office.create(name="load", key="load")
    report = await following(office, load)
    await office.pause(report)
    await end(office, load)
    assert await office.queue(report) == []
    [row] = await office.firings(report)
    assert (row["status"], row["reason"], row["triggered_by"]) == ("skipped", "paused", "after")


async def test_edited_it_follows_another_and_deleted_nothing(office: Office) -> None:
    load = await office.create(name="load", key="load")
    other = await office.create(name="other", key="other")
    report = await following(office, load)
    await office.update(report, after="other")
    await end(office, load)
    assert await office.queue(report) == []
    await end(office, other)
    assert len(await office.queue(report)) == 1
    await office.update(report, interval="1h")
    await end(office, other)
    assert [row["triggered_by"] for row in await office.queue(report)] in ([], ["after"])
    await office.delete(report)
    await end(office, other)
    assert await office.queue(report) == []


async def test_a_key_may_come_later_and_go(office: Office) -> None:
    async with office.db.transaction() as tx:
        whole = {"name": "report", "key": "report", "after": "load", "job_type": "x"}
        made = await create.create(tx, office.tenant, whole, shards=SHARDS)
    assert ["no schedule with the key load" in each for each in made.warnings] == [True]
    load = await office.create(name="load", key="load")
    await end(office, load)
    assert len(await office.queue(made.schedule)) == 1
    unchanged = await office.update(made.schedule, description="x")
    assert unchanged.warnings == ()


async def test_a_circle_is_refused_wherever_it_would_be_closed(office: Office) -> None:
    await office.create(name="a", key="a", interval=None, after="c")
    b = await office.create(name="b", key="b", interval=None, after="a")
    with pytest.raises(InvalidSchedule, match="c after b after a after c"):
        await office.create(name="c", key="c", interval=None, after="b")
    with pytest.raises(InvalidSchedule, match="b after b"):
        await office.update(b, after="b")
    plain = await office.create(name="c", key="c")
    with pytest.raises(InvalidSchedule, match="circle"):
        await office.update(plain, after="b")
    with pytest.raises(InvalidSchedule, match="circle"):
        await office.upsert("c", interval=None, after="b", name="c")


async def test_of_many_those_that_close_a_circle_are_named(office: Office) -> None:
    task = {"job_type": "x"}
    items = [
        {"name": "a", "key": "a", "after": "b", **task},
        {"name": "b", "key": "b", "after": "a", **task},
    ]
    with pytest.raises(InvalidSchedule) as caught:
        await create.create_many(office.db, office.tenant, items, shards=SHARDS)
    assert [problem.field for problem in caught.value.problems] == ["items[1].after"]
    batch = await create.parse_many(office.db, office.tenant, items, slicer=TimeSlicer())
    async with office.db.transaction() as tx:
        results = await create.store_each(tx, office.tenant, batch, shards=SHARDS)
    assert [isinstance(each, CallerError) for each in results] == [False, True]


async def test_two_who_close_a_circle_together_do_not_both_pass(office: Office) -> None:
    results = await asyncio.gather(
        office.create(name="a", key="a", interval=None, after="b"),
        office.create(name="b", key="b", interval=None, after="a"),
        return_exceptions=True,
    )
    assert sorted(isinstance(each, InvalidSchedule) for each in results) == [False, True]


async def test_a_result_cannot_ask_for_a_secret(office: Office) -> None:
    """S8: what a target answers is data to the next one."""
    load = await office.create(name="load", key="load")
    report = await following(office, load)
    await end(office, load, result=b'{"x": "\\u0024{secrets.API_KEY}", "y": ["${secrets.B}"]}')
    [row] = await office.queue(report)
    assert "${secrets" not in row["payload"]
    assert (await said(row))["after"]["result"]["x"] == "$ {secrets.API_KEY}"


async def test_every_end_is_followed_while_both_are_paused_and_resumed(office: Office) -> None:
    """They lock in different orders: PostgreSQL stops one, and it does it again."""
    load = await office.create(name="load", key="load", overlap_policy="allow")
    report = await following(office, load, overlap_policy="allow")
    wish = bulk_pause.PauseRequest(tenant_id=office.tenant.id)
    slots: list[datetime] = []

    async def run_and_end(n: int) -> None:
        slot = load.created_at - n * timedelta(seconds=1)
        await office.enqueue(load, slot=slot, state="running", attempt=1)
        worker = some_worker()
        async with office.db.transaction() as tx:
            await tx.execute("UPDATE queue SET worker = $1 WHERE scheduled_for = $2", worker, slot)
        claim = Claim(
            id=ids.firing_id(load.id, slot),
            schedule_id=load.id,
            tenant_id=load.tenant_id,
            version=1,
            scheduled_for=slot,
            available_at=slot,
            claimed_until=slot,
            began_at=slot,
            attempt=1,
            priority=5,
            catch_up=False,
            triggered_by="schedule",
            lane="default",
            fence=None,
        )
        await office.db.run(lambda tx: settle(tx, worker, [ended(claim)]), repeatable=True)
        slots.append(slot)

    async def pause_and_resume() -> None:
        for _ in range(5):
            await office.db.run(lambda tx: bulk_pause.pause_some(tx, wish), repeatable=True)
            await office.db.run(lambda tx: bulk_pause.resume_some(tx, wish), repeatable=True)

    await asyncio.gather(pause_and_resume(), *(run_and_end(n) for n in range(1, 21)))
    followed = [*await office.queue(report), *await office.firings(report)]
    assert sorted(row["scheduled_for"] for row in followed) == sorted(slots)
    assert len(slots) == 20


async def test_another_follower_is_not_weighed_against_all_the_others(office: Office) -> None:
    """Thousands may follow one: each that comes must not read all that came before."""
    upstream = await office.create(key="etl")
    for name in ("a", "b"):
        await following(office, upstream, name)
    async with office.db.transaction() as tx:
        known = await after_links._around(tx, office.tenant.id, {"c": "etl"})
        assert known == {}
        known = await after_links._around(tx, office.tenant.id, {"etl": "source"})
        assert known == {"a": "etl", "b": "etl"}
