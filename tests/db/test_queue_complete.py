"""Recording outcomes, retries, cancellations; freeing what was blocked."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

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
from tests.deadlines import patience

from rota.clock import SystemClock
from rota.queue import overlap
from rota.queue.claim import claim
from rota.queue.complete import AttemptRecord, settle
from rota.queue.unblock import free_stranded
from rota.queue.withdraw import cancel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.db import Database


async def test_a_batch_of_outcomes_is_recorded_in_one_statement(db: Database) -> None:
    schedule = await make_schedule(db, overlap_policy="allow")
    now = await database_now(db)
    for n in range(300):
        await fire(db, schedule, now + n * SECOND)
    me = some_worker()
    claims = await take(db, me)
    batch = [ended(each, code=200, excerpt="fine") for each in claims[:200]]
    batch += [ended(each, "dead", reason="HTTP 404", code=404) for each in claims[200:]]
    async with db.transaction() as tx:
        settled = await settle(tx, me, batch)
    assert settled.accepted == {each.id for each in claims}
    assert await queue_rows(db) == {}
    rows = await firing_rows(db)
    assert [rows[each.id]["status"] for each in claims] == ["succeeded"] * 200 + ["dead"] * 100
    first, last = rows[claims[0].id], rows[claims[-1].id]
    assert (first["result_code"], first["result_excerpt"], first["attempt"]) == (200, "fine", 1)
    assert (first["schedule_id"], first["tenant_id"]) == (schedule.id, schedule.tenant_id)
    assert first["scheduled_for"] == claims[0].scheduled_for
    assert (last["reason"], last["result_code"]) == ("HTTP 404", 404)
    assert len(await attempt_rows(db)) == 300


async def test_a_stale_finish_is_refused_and_changes_nothing(db: Database) -> None:
    """Somebody else has claimed it since: by worker, and by attempt."""
    schedule = await make_schedule(db)
    await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET attempt = 2, worker = $1", some_worker())
        assert (await settle(tx, me, [ended(each)])).accepted == frozenset()
        await tx.execute("UPDATE queue SET worker = $1", me)
        assert (await settle(tx, me, [ended(each)])).accepted == frozenset()
        later = [ended(each, status=None, retry_at=await _soon(db))]
        assert (await settle(tx, me, later)).accepted == frozenset()
    assert await firing_rows(db) == {}
    assert await attempt_rows(db) == []
    assert (await queue_rows(db))[each.id]["state"] == "running"


async def test_a_finish_repeated_after_a_lost_answer_is_known_to_be_done(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    for _ in range(2):
        async with db.transaction() as tx:
            assert (await settle(tx, me, [ended(each)])).accepted == {each.id}
    assert len(await firing_rows(db)) == len(await attempt_rows(db)) == 1


async def test_a_retry_is_a_row_with_its_instant_and_an_attempt(db: Database) -> None:
    """Nothing sleeps in memory."""
    schedule = await make_schedule(db)
    await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    at = await database_now(db) + timedelta(seconds=20)
    failed = ended(
        each,
        status=None,
        retry_at=at,
        code=503,
        tried=AttemptRecord(
            outcome="failed",
            error="HTTP 503",
            request='{"method": "POST"}',
            response_headers='[["A", "b"]]',
            response_body=b"\x00busy",
        ),
    )
    async with db.transaction() as tx:
        assert (await settle(tx, me, [failed])).accepted == {each.id}
    row = (await queue_rows(db))[each.id]
    assert (row["state"], row["available_at"], row["attempt"]) == ("retrying", at, 1)
    assert (row["worker"], row["claimed_until"]) == (None, None)
    (attempt,) = await attempt_rows(db)
    assert (attempt["outcome"], attempt["response_status"]) == ("failed", 503)
    assert (attempt["error"], attempt["response_body"]) == ("HTTP 503", b"\x00busy")
    assert attempt["worker"] == me
    (again,) = await take(db, me, lead=timedelta(minutes=1))
    assert again.attempt == 2


async def test_a_firing_began_with_its_first_attempt(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule)
    me = some_worker()
    (first,) = await take(db, me)
    begun = ended(first, status=None, retry_at=await database_now(db))
    async with db.transaction() as tx:
        await settle(tx, me, [begun])
    (second,) = await take(db, me)
    async with db.transaction() as tx:
        await settle(tx, me, [ended(second)])
    row = (await firing_rows(db))[first.id]
    assert (row["started_at"], row["attempt"]) == (begun.started_at, 2)


async def test_a_claim_that_was_not_begun_ends_without_an_attempt(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    skipped = ended(each, "skipped", reason="paused", tried=None, started_at=None)
    async with db.transaction() as tx:
        await settle(tx, me, [skipped])
    row = (await firing_rows(db))[each.id]
    assert (row["status"], row["reason"], row["attempt"]) == ("skipped", "paused", 0)
    assert row["started_at"] is None
    assert await attempt_rows(db) == []


async def test_a_blocked_chain_is_released_one_by_one_in_the_order_of_slots(db: Database) -> None:
    schedule = await make_schedule(db, overlap_policy="queue")
    now = await database_now(db)
    slots = [now + n * SECOND for n in range(4)]
    first = await fire(db, schedule, slots[0])
    rest = [await fire(db, schedule, slot, state="blocked") for slot in reversed(slots[1:])]
    me = some_worker()
    order: list[UUID] = []
    for _ in range(4):
        (each,) = await take(db, me)
        order.append(each.id)
        async with db.transaction() as tx:
            settled = await settle(tx, me, [ended(each)])
        assert settled.freed == (1 if len(order) < 4 else 0)
    assert order == [first, *reversed(rest)]


async def test_a_retry_does_not_release_what_is_blocked_behind_it(db: Database) -> None:
    schedule = await make_schedule(db, overlap_policy="queue")
    now = await database_now(db)
    await fire(db, schedule, now)
    blocked = await fire(db, schedule, now + SECOND, state="blocked")
    me = some_worker()
    (each,) = await take(db, me)
    async with db.transaction() as tx:
        settled = await settle(tx, me, [ended(each, status=None, retry_at=now)])
    assert settled.freed == 0
    assert (await queue_rows(db))[blocked]["state"] == "blocked"


async def test_where_overlap_is_allowed_only_a_catch_up_holds_back_a_catch_up(
    db: Database,
) -> None:
    """Or the live slots of a long job would hold the chain for ever."""
    schedule = await make_schedule(db, overlap_policy="allow")
    now = await database_now(db)
    await fire(db, schedule, now, catch_up=True, priority=9)
    blocked = await fire(db, schedule, now + SECOND, catch_up=True, state="blocked")
    await fire(db, schedule, now + 2 * SECOND)
    me = some_worker()
    (each,) = await take(db, me, limit=1)
    async with db.transaction() as tx:
        assert (await settle(tx, me, [ended(each)])).freed == 1
    assert (await queue_rows(db))[blocked]["state"] == "waiting"


async def test_what_is_blocked_behind_nothing_is_set_free(db: Database) -> None:
    """Two ends at the same moment do not see each other."""
    stranded = await make_schedule(db, overlap_policy="queue")
    waiting = await make_schedule(db, overlap_policy="queue")
    now = await database_now(db)
    first = await fire(db, stranded, now, state="blocked")
    second = await fire(db, stranded, now + SECOND, state="blocked")
    await fire(db, waiting, now)
    behind = await fire(db, waiting, now + SECOND, state="blocked")
    async with db.transaction() as tx:
        assert await free_stranded(tx) == 1
        assert await free_stranded(tx) == 0
    states = {id_: row["state"] for id_, row in (await queue_rows(db)).items()}
    assert (states[first], states[second], states[behind]) == ("waiting", "blocked", "blocked")


async def test_cancelling_what_nobody_holds_ends_it_and_frees_the_next(db: Database) -> None:
    schedule = await make_schedule(db, overlap_policy="queue")
    now = await database_now(db)
    first = await fire(db, schedule, now)
    following = await fire(db, schedule, now + SECOND, state="blocked")
    async with db.transaction() as tx:
        assert await cancel(tx, [first], "not today") == {first: "ended"}
        assert await cancel(tx, [first], "not today") == {}
    row = (await firing_rows(db))[first]
    assert (row["status"], row["reason"], row["attempt"]) == ("cancelled", "not today", 0)
    assert (await queue_rows(db))[following]["state"] == "waiting"


async def test_cancelling_what_a_worker_holds_asks_the_worker(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    await take(db, some_worker())
    async with db.transaction() as tx:
        assert await cancel(tx, [id_], "first") == {id_: "asked"}
        assert await cancel(tx, [id_], "second") == {id_: "asked"}
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["cancel_reason"]) == ("running", "first")


async def test_a_success_that_somebody_wanted_ended_is_a_plain_success(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    async with db.transaction() as tx:
        await cancel(tx, [id_], "too late")
        await settle(tx, me, [ended(each)])
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("succeeded", None)


async def test_a_failed_attempt_that_somebody_wants_ended_is_not_tried_again(
    db: Database,
) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    async with db.transaction() as tx:
        await cancel(tx, [id_], "enough")
        failed = ended(each, status=None, retry_at=await _soon(db))
        assert (await settle(tx, me, [failed])).accepted == {id_}
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("cancelled", "enough")
    assert await queue_rows(db) == {}


async def test_a_firing_that_is_being_claimed_is_asked_for_and_not_overlooked(
    db: Database,
) -> None:
    """The cancellation meets the claim in the middle."""
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)

    async def ask() -> Mapping[UUID, str]:
        async with db.transaction() as tx:
            return await cancel(tx, [id_], "now")

    async with db.transaction() as tx:
        await claim(tx, ["http"], some_worker(), limit=1, lead=SECOND, visibility=SECOND)
        asking = asyncio.create_task(ask())
        await _waits_for_a_lock(db)
    assert await asking == {id_: "asked"}
    assert (await queue_rows(db))[id_]["cancel_reason"] == "now"


async def test_a_retry_that_meets_a_cancellation_ends_the_firing(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    me = some_worker()
    (each,) = await take(db, me)
    failed = ended(each, status=None, retry_at=await _soon(db))

    async def fail() -> frozenset[UUID]:
        async with db.transaction() as tx:
            return (await settle(tx, me, [failed])).accepted

    async with db.transaction() as tx:
        await cancel(tx, [id_], "now")
        failing = asyncio.create_task(fail())
        await _waits_for_a_lock(db)
    assert await failing == {id_}
    row = (await firing_rows(db))[id_]
    assert (row["status"], row["reason"]) == ("cancelled", "now")


async def _waits_for_a_lock(db: Database) -> None:
    """Return when another session of this database waits for a row."""
    clock = SystemClock()
    async with asyncio.timeout(patience(5)):
        while True:
            async with db.transaction() as tx:
                if await tx.fetch_value(
                    "SELECT count(*) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
                ):
                    return
            await clock.sleep(timedelta(milliseconds=5))


async def _soon(db: Database) -> datetime:
    return await database_now(db) + SECOND


async def test_an_end_that_frees_an_older_slot_never_waits_in_a_circle_with_a_pause(
    db: Database,
) -> None:
    """A backfill's firings are of older slots than the one they wait for."""
    schedule = await make_schedule(db, overlap_policy="queue")
    now = await database_now(db)
    live = await fire(db, schedule, now)
    older = await fire(db, schedule, now - 3600 * SECOND, state="blocked", triggered_by="backfill")
    me = some_worker()
    (held,) = await take(db, me)

    async def pausing() -> None:
        async with db.transaction() as tx:
            await overlap.lock_live(tx, [schedule.id])

    async with db.transaction() as tx:
        await tx.fetch("SELECT FROM queue WHERE id = $1 FOR UPDATE", live)
        other = asyncio.create_task(pausing())
        async with asyncio.timeout(patience(10)):
            while not await db.run(lambda each: each.fetch_value(_WAITS), read_only=True):
                pass
        settled = await settle(tx, me, [ended(held)])
    assert settled.freed == 1
    assert (await queue_rows(db)).keys() == {older}
    await other


_WAITS = """
    SELECT EXISTS (SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock')
"""


async def test_a_firing_that_ends_at_its_first_attempt_tells_when_it_was_due(db: Database) -> None:
    """What its lateness is counted from; of others nobody can tell."""
    schedule = await make_schedule(db, overlap_policy="allow")
    now, me = await database_now(db), some_worker()
    for n in range(3):
        await fire(db, schedule, now + n * SECOND)
    first, skipped, again = await take(db, me)
    later = ended(
        again, status=None, retry_at=await _soon(db), tried=AttemptRecord(outcome="failed")
    )
    unmade = ended(skipped, "skipped", started_at=None, tried=None)
    async with db.transaction() as tx:
        await settle(tx, me, [ended(first), unmade, later])
    (again,) = await take(db, me, lead=timedelta(minutes=1))
    async with db.transaction() as tx:
        await settle(tx, me, [ended(again)])
    rows = await firing_rows(db)
    assert rows[first.id]["due_at"] == first.available_at
    assert rows[skipped.id]["due_at"] is rows[again.id]["due_at"] is None
