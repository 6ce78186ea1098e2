"""Withdrawing firings: what is recorded of those that were called, whichever way they end.

Each way in which a firing can be made to end for another's sake, or for its schedule's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.firing_kit import fleet
from tests.db.queue_support import ended, some_worker, take
from tests.db.schedules import Office

from rota import ids
from rota.queue import replay
from rota.queue.complete import AttemptRecord, settle
from rota.queue.overlap import MOST_LIVE
from rota.queue.withdraw import cancel, withdraw
from rota.schedules import bulk_pause
from rota.schedules.bulk_pause import PauseRequest
from rota.schedules.replay import replay_many, replay_one

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Row
    from rota.queue.enqueue import NewFiring
    from rota.schedules.schedule import Schedule

HOUR = timedelta(hours=1)
LANES = ("default",)
ENDED_FOR_ANOTHER = ["slot", "trigger", "replay", "bulk replay", "dependent"]
ENDED_FOR_ITS_SCHEDULE = ["pause", "pause all", "edit", "delete"]

_DEAD = """
    INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status, reason,
                         attempt, triggered_by, started_at, finished_at)
    SELECT x.id, $2, $3, 1, clock_timestamp() - x.n * interval '1 minute', 'dead', 'HTTP 500', 3,
           'schedule', clock_timestamp(), clock_timestamp()
      FROM unnest($1::uuid[]) WITH ORDINALITY AS x(id, n)
"""
_BLOCKED = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, state,
                       triggered_by, lane)
    SELECT gen_random_uuid(), $1, $2, 1, clock_timestamp(), clock_timestamp(), 'blocked', 'api',
           'default'
      FROM generate_series(1, $3)
"""


@pytest.fixture
async def office(db: Database) -> Office:
    return await Office.open(db)


async def origins(office: Office, schedule: Schedule, count: int = 1) -> list[replay.Origin]:
    """Dead letters of the schedule, the newest first."""
    made = [ids.manual_firing_id(await office.now()) for _ in range(count)]
    async with office.db.transaction() as tx:
        await tx.execute(_DEAD, made, schedule.id, schedule.tenant_id)
        found = await replay.origins(tx, office.tenant.id, made)
    return [found[id_] for id_ in made]


async def end_one(office: Office, schedule: Schedule) -> None:
    """Run a firing of the schedule to its end."""
    id_ = await office.enqueue(schedule)
    worker = some_worker()
    claims = [each for each in await take(office.db, worker, lanes=LANES) if each.id == id_]
    async with office.db.transaction() as tx:
        await settle(tx, worker, [ended(each) for each in claims])


async def come_due(office: Office, schedule: Schedule) -> None:
    async with fleet(office.db) as engine:
        await office.set_timer(schedule, await office.now())
        await engine.drain()


async def do(office: Office, schedule: Schedule, way: str, upstream: Schedule | None) -> None:
    """Have it happen; the schedule is of cancel_previous."""
    match way:
        case "slot":
            await come_due(office, schedule)
        case "trigger":
            await office.trigger(schedule)
        case "replay" | "bulk replay":
            [origin] = await origins(office, schedule)
            async with office.db.transaction() as tx:
                if way == "replay":
                    await replay_one(tx, office.tenant, origin)
                else:
                    await replay_many(tx, office.tenant, [origin])
        case "dependent":
            assert upstream is not None
            await end_one(office, upstream)
        case "pause":
            await office.pause(schedule)
        case "pause all":
            async with office.db.transaction() as tx:
                await bulk_pause.pause_some(tx, PauseRequest(tenant_id=office.tenant.id))
        case "edit":
            await office.update(schedule, payload={"n": 2})
        case "delete":
            await office.delete(schedule)
        case _:
            raise AssertionError(way)


async def schedules(office: Office, way: str) -> tuple[Schedule, Schedule | None]:
    """The schedule, and the one that it follows if the way needs that."""
    if way != "dependent":
        return await office.create(overlap_policy="cancel_previous"), None
    upstream = await office.create(name="load", key="load")
    fields: dict[str, Any] = {"interval": None, "after": "load"}
    return await office.create(overlap_policy="cancel_previous", **fields), upstream


async def retrying(office: Office, schedule: Schedule) -> tuple[UUID, datetime]:
    """A firing whose first attempt failed, and when that began."""
    id_ = await office.enqueue(schedule)
    worker = some_worker()
    [claim] = await take(office.db, worker, lanes=LANES)
    failed = ended(
        claim, None, tried=AttemptRecord(outcome="failed"), retry_at=await office.now() + HOUR
    )
    async with office.db.transaction() as tx:
        await settle(tx, worker, [failed])
    assert failed.started_at is not None
    return id_, failed.started_at


async def recorded(office: Office, schedule: Schedule, id_: UUID) -> Row:
    [row] = [each for each in await office.firings(schedule) if each["id"] == id_]
    return row


@pytest.mark.parametrize("way", [*ENDED_FOR_ANOTHER, *ENDED_FOR_ITS_SCHEDULE])
async def test_what_was_called_is_cancelled_and_keeps_its_attempts_and_its_start(
    office: Office, way: str
) -> None:
    schedule, upstream = await schedules(office, way)
    id_, started_at = await retrying(office, schedule)
    await do(office, schedule, way, upstream)
    row = await recorded(office, schedule, id_)
    reasons = {"pause": "paused", "pause all": "paused", "edit": "edited", "delete": "deleted"}
    assert (row["status"], row["reason"]) == ("cancelled", reasons.get(way, "overlap"))
    assert (row["attempt"], row["started_at"]) == (1, started_at)


@pytest.mark.parametrize("way", ENDED_FOR_ITS_SCHEDULE)
async def test_what_was_never_called_is_skipped(office: Office, way: str) -> None:
    schedule, _ = await schedules(office, way)
    id_ = await office.enqueue(schedule)
    await do(office, schedule, way, None)
    row = await recorded(office, schedule, id_)
    assert (row["status"], row["attempt"], row["started_at"]) == ("skipped", 0, None)


@pytest.mark.parametrize("way", [*ENDED_FOR_ANOTHER, "cancel"])
async def test_a_compensation_that_waits_for_its_next_try_is_not_hurried(
    office: Office, way: str
) -> None:
    """Each slot that overlaps it would use up one of its attempts."""
    schedule, upstream = await schedules(office, way)
    id_ = await office.enqueue(schedule, state="retrying", attempt=2)
    at = await office.now() + HOUR
    async with office.db.transaction() as tx:
        await tx.execute(
            """UPDATE queue SET saga = '{"back": true, "step": "pay"}', available_at = $1
                WHERE id = $2""",
            at,
            id_,
        )
    if way == "cancel":
        async with office.db.transaction() as tx:
            assert await cancel(tx, [id_], "enough") == {id_: "asked"}
    else:
        await do(office, schedule, way, upstream)
    rows = {row["id"]: row for row in await office.queue(schedule)}
    row = rows.pop(id_)
    assert (row["state"], row["available_at"], row["cancel_reason"]) == ("retrying", at, None)
    assert [each["state"] for each in rows.values()] == ["blocked"] * (way != "cancel")


async def full(office: Office, *, room: int = 0, **fields: Any) -> Schedule:
    """A schedule with as many live firings as its queue holds, less `room`."""
    schedule = await office.create(overlap_policy="queue", **fields)
    async with office.db.transaction() as tx:
        await tx.execute(_BLOCKED, schedule.id, schedule.tenant_id, MOST_LIVE - room)
    return schedule


async def replayed(office: Office, found: list[replay.Origin]) -> list[NewFiring]:
    async with office.db.transaction() as tx:
        return await replay_many(tx, office.tenant, found)


async def test_a_manual_run_is_skipped_where_the_queue_is_full(office: Office) -> None:
    schedule = await full(office, room=1)
    assert (await office.trigger(schedule)).status == "blocked"
    run = await office.trigger(schedule)
    assert (run.status, run.reason) == ("skipped", "overlap_queue_full")
    row = await recorded(office, schedule, run.id)
    assert (row["status"], row["reason"]) == ("skipped", "overlap_queue_full")


async def test_a_replay_is_skipped_where_the_queue_is_full(office: Office) -> None:
    schedule = await full(office)
    [origin] = await origins(office, schedule)
    async with office.db.transaction() as tx:
        made = await replay_one(tx, office.tenant, origin)
    assert (made.state, made.reason) == ("skipped", "overlap_queue_full")


async def test_of_many_replays_those_are_left_for_which_the_queue_has_no_room(
    office: Office,
) -> None:
    """They stay dead letters without a replay, to be replayed another time."""
    schedule = await full(office, room=2)
    found = await origins(office, schedule, 5)
    made = await replayed(office, found)
    assert [each.replay_of for each in made] == [each.id for each in found[:2]]
    assert len(await office.queue(schedule)) == MOST_LIVE
    assert await replayed(office, found[2:]) == []
    assert {row["status"] for row in await office.firings(schedule)} == {"dead"}


async def test_what_follows_is_skipped_where_the_queue_is_full(office: Office) -> None:
    upstream = await office.create(name="load", key="load")
    schedule = await full(office, room=1, interval=None, after="load")
    await end_one(office, upstream)
    assert len(await office.queue(schedule)) == MOST_LIVE
    await end_one(office, upstream)
    [row] = await office.firings(schedule)
    assert (row["status"], row["reason"]) == ("skipped", "overlap_queue_full")
    assert len(await office.queue(schedule)) == MOST_LIVE


async def test_many_are_cancelled_as_one_is(office: Office) -> None:
    """Waiting, running, blocked behind another that is cancelled too, and ended before: at once."""
    one = await office.create(key="one", name="one", overlap_policy="queue")
    other = await office.create(key="other", name="other", overlap_policy="queue")
    running = await office.enqueue(one)
    [claim] = await take(office.db, some_worker(), lanes=LANES)
    assert claim.id == running
    behind = await office.enqueue(one, state="blocked")
    waiting = await office.enqueue(other)
    gone, next_ = [await office.enqueue(other, state="blocked") for _ in range(2)]
    [over] = await origins(office, other)
    wanted = [waiting, gone, behind, running, over.id]
    async with office.db.transaction() as tx:
        answers = await cancel(tx, wanted, "enough")
    assert answers == {running: "asked", behind: "ended", waiting: "ended", gone: "ended"}
    assert [row["cancel_reason"] for row in await office.queue(one)] == ["enough"]
    [left] = await office.queue(other)
    assert (left["id"], left["state"]) == (next_, "waiting")
    ended_rows = [await recorded(office, other, id_) for id_ in (waiting, gone)]
    assert {(row["status"], row["reason"]) for row in ended_rows} == {("cancelled", "enough")}


async def test_a_pause_of_many_counts_back_the_slots_of_each(office: Office) -> None:
    made = [await office.create(key=str(n), name=str(n)) for n in range(3)]
    for n, schedule in enumerate(made):
        for _ in range(n):
            await office.enqueue(schedule)
    await office.trigger(made[0])
    async with office.db.transaction() as tx:
        found = await withdraw(tx, [each.id for each in made], "paused")
    assert found == {each.id: n for n, each in enumerate(made)}
    assert [await office.queue(each) for each in made] == [[]] * 3
