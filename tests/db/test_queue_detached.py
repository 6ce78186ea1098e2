"""Work that a target has taken on: left to it, completed, cancelled, or overdue."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.db.queue_support import (
    SECOND,
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

from rota.events import Bus, Recorder
from rota.queue.complete import AttemptRecord, settle
from rota.queue.external_claims import ExternalClaim, claimed, keep
from rota.queue.rescue import rescue
from rota.queue.states import DETACHED
from rota.queue.withdraw import cancel
from rota.workers import completing
from rota.workers.async_timeout import AsyncTimeouts
from rota.workers.caller import Reply
from rota.workers.events import FiringOverdue

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database
    from rota.schedules.schedule import Schedule

HOUR = timedelta(hours=1)
ACCEPTED = AttemptRecord(outcome="accepted", request='{"method": "POST"}', response_body=b"on it")


async def leave(
    db: Database, schedule: Schedule, *, length: timedelta = HOUR, **fields: Any
) -> UUID:
    """A firing that was claimed, called, and left to its target for this long."""
    await fire(db, schedule, **fields)
    me = some_worker()
    (each,) = await take(db, me)
    left = ended(
        each,
        status=None,
        detached_until=await database_now(db) + length,
        tried=ACCEPTED,
        code=202,
    )
    async with db.transaction() as tx:
        assert (await settle(tx, me, [left])).accepted == {each.id}
        # A commit whose answer was lost is tried again, and known to be done.
        assert (await settle(tx, me, [left])).accepted == {each.id}
    return each.id


async def held(db: Database, id_: UUID) -> ExternalClaim:
    async with db.transaction() as tx:
        found = await claimed(tx, id_)
    assert found is not None
    return found


async def test_it_stays_running_in_nobodys_hands_with_its_attempt_recorded(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule)
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["worker"], row["attempt"]) == ("running", DETACHED, 1)
    assert row["claimed_until"] > await database_now(db) + HOUR / 2
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["response_status"]) == ("accepted", 202)
    assert await firing_rows(db) == {}


async def test_completed_it_ends_and_its_attempt_is_completed(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule)
    each = await held(db, id_)
    done = completing.completed(each, '{"rows":3}', now=await database_now(db))
    async with db.transaction() as tx:
        assert (await settle(tx, each.worker, [done])).accepted == {id_}
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["result_code"]) == ("succeeded", 202)
    assert (row["result_excerpt"], row["started_at"]) == ('{"rows":3}', each.started_at)
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["finished_at"]) == ("succeeded", done.finished_at)
    assert (attempt["response_body"], attempt["request"]) == (b"on it", '{"method": "POST"}')
    assert await queue_rows(db) == {}


async def test_a_failure_is_judged_as_any_other(db: Database) -> None:
    schedule = await make_schedule(db, max_attempts=2)
    id_ = await leave(db, schedule)
    each = await held(db, id_)
    failed = completing.failed(each, schedule, Reply(error="disk full"), now=each.claim.began_at)
    async with db.transaction() as tx:
        await settle(tx, DETACHED, [failed])
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["worker"], row["claimed_until"]) == ("retrying", None, None)
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["error"]) == ("failed", "disk full")


async def test_rescue_leaves_it_alone_even_when_its_time_is_up(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule, length=-SECOND)
    async with db.transaction() as tx:
        assert await rescue(tx) == []
    assert (await queue_rows(db))[id_]["state"] == "running"


async def test_overdue_is_an_attempt_that_timed_out(db: Database) -> None:
    bus = Bus()
    recorder = Recorder(bus)
    schedule = await make_schedule(db, max_attempts=2, async_timeout_seconds=3600)
    waiting = await leave(db, schedule)
    id_ = await leave(db, await make_schedule(db, max_attempts=2), length=-SECOND)
    overdue = AsyncTimeouts(db, bus)
    assert await overdue.run_once() == 1
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["attempt"]) == ("retrying", 1)
    assert (await queue_rows(db))[waiting]["worker"] == DETACHED
    late = [each for each in await attempt_rows(db) if each["firing_id"] == id_]
    assert [each["outcome"] for each in late] == ["timed_out"]
    assert late[0]["error"] == "the target took it on and did not complete it within 6h"
    assert [(each.firing_id, each.state) for each in recorder.all(FiringOverdue)] == [
        (id_, "retrying")
    ]
    assert await overdue.run_once() == 0


async def test_the_last_one_overdue_is_dead(db: Database) -> None:
    schedule = await make_schedule(db, max_attempts=1)
    id_ = await leave(db, schedule, length=-SECOND)
    assert await AsyncTimeouts(db, Bus()).run_once() == 1
    row = (await firing_rows(db))[id_]
    assert row["status"] == "dead"
    assert "did not complete it within 6h, after 1 attempt" in row["reason"]


async def test_of_a_deleted_schedule_nothing_is_tried_again(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule, length=-SECOND)
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM schedules")
    assert await AsyncTimeouts(db, Bus()).run_once() == 1
    assert (await firing_rows(db))[id_]["status"] == "dead"


async def test_a_cancel_ends_it_at_once_and_completes_its_attempt(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule)
    await fire(db, schedule, await database_now(db) + SECOND, state="blocked")
    async with db.transaction() as tx:
        assert await cancel(tx, [id_], "not needed") == {id_: "ended"}
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"], row["attempt"]) == ("cancelled", "not needed", 1)
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["error"]) == ("cancelled", "not needed")
    assert [each["state"] for each in (await queue_rows(db)).values()] == ["waiting"]


async def test_what_is_to_be_ended_is_not_left_to_its_target(db: Database) -> None:
    """The asker must not wait for hours; a mere recall lets what has begun go on."""
    for reason, ends in (("not needed", True), ("deleted", False)):
        schedule = await make_schedule(db)
        await fire(db, schedule)
        me = some_worker()
        (each,) = await take(db, me)
        async with db.transaction() as tx:
            await tx.execute("UPDATE queue SET cancel_reason = $1 WHERE id = $2", reason, each.id)
            until = await database_now(db) + HOUR
            left = ended(each, status=None, detached_until=until, tried=ACCEPTED)
            assert (await settle(tx, me, [left])).accepted == {each.id}
        assert (each.id in await firing_rows(db)) is ends
        outcomes = {one["firing_id"]: one["outcome"] for one in await attempt_rows(db)}
        assert outcomes[each.id] == ("cancelled" if ends else "accepted")


async def test_an_end_by_overlap_is_made_by_the_next_look(db: Database) -> None:
    """cancel_previous marks it and cuts its time; whoever looks for what is overdue ends it."""
    schedule = await make_schedule(db, overlap_policy="cancel_previous")
    id_ = await leave(db, schedule)
    async with db.transaction() as tx:
        await tx.execute(
            "UPDATE queue SET cancel_reason = 'overlap', claimed_until = clock_timestamp()"
        )
    assert await AsyncTimeouts(db, Bus()).run_once() == 1
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("cancelled", "overlap")
    assert [each["outcome"] for each in await attempt_rows(db)] == ["cancelled"]


async def test_it_can_be_kept_for_longer_and_never_for_less(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await leave(db, schedule)
    each = await held(db, id_)
    async with db.transaction() as tx:
        assert await keep(tx, each, SECOND) == each.claim.claimed_until
        assert await keep(tx, each, 2 * HOUR) > each.claim.claimed_until + HOUR / 2


async def test_replay_and_payload_go_into_history(db: Database) -> None:
    """Whichever way it ends: settled, cancelled, or lost with its worker."""
    schedule = await make_schedule(db, overlap_policy="allow", delivery="at_most_once")
    origin = some_worker()
    for n in range(3):
        await fire(db, schedule, await database_now(db) + n * SECOND, payload='{"n": 1}')
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET replay_of = $1", origin)
    me = some_worker()
    settled, lost = await take(db, me, limit=2)
    async with db.transaction() as tx:
        await settle(tx, me, [ended(settled)])
        await tx.execute("UPDATE queue SET claimed_until = '2020-01-01' WHERE id = $1", lost.id)
        assert [each.id for each in await rescue(tx)] == [lost.id]
        (left,) = await tx.fetch("SELECT id FROM queue")
        await cancel(tx, [left["id"]], "enough")
    rows = (await firing_rows(db)).values()
    assert {row["status"] for row in rows} == {"succeeded", "dead", "cancelled"}
    assert {(row["replay_of"], row["payload"]) for row in rows} == {(origin, '{"n": 1}')}
