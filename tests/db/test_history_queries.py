"""Reading firings, live and ended, and their attempts (AP4, DM6)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from tests.db.queue_support import (
    SECOND,
    database_now,
    ended,
    fire,
    make_schedule,
    some_worker,
    take,
)

from rota.errors import InvalidInput
from rota.history import queries
from rota.queue.complete import AttemptRecord, settle

if TYPE_CHECKING:
    from rota.db import Database
    from rota.history.firing import Attempt, Firing
    from rota.schedules.schedule import Schedule


async def finish(db: Database, status: str = "succeeded", **fields: object) -> None:
    """End everything that waits."""
    me = some_worker()
    claims = await take(db, me)
    async with db.transaction() as tx:
        await settle(tx, me, [ended(each, status, **fields) for each in claims])


async def find(db: Database, id_: UUID, tenant_id: UUID | None = None) -> Firing | None:
    async with db.transaction(read_only=True) as tx:
        return await queries.find(tx, id_, tenant_id=tenant_id)


async def history(db: Database, schedule: Schedule) -> list[UUID]:
    async with db.transaction(read_only=True) as tx:
        return [each.id for each in (await queries.of_schedule(tx, schedule.id)).firings]


async def attempts(db: Database, id_: UUID) -> list[Attempt]:
    firing = await find(db, id_)
    assert firing is not None
    async with db.transaction(read_only=True) as tx:
        return await queries.attempts(tx, firing)


async def test_a_firing_is_found_while_it_lives_and_after_it_has_ended(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    live = await find(db, id_)
    assert live is not None
    assert (live.status, live.is_live, live.duration_ms) == ("waiting", True, None)
    await finish(db, code=200, excerpt="fine")
    gone = await find(db, id_)
    assert gone is not None
    assert (gone.status, gone.is_live, gone.duration_ms) == ("succeeded", False, 1000)
    assert (gone.result_code, gone.result_excerpt, gone.attempt) == (200, "fine", 1)
    assert gone.scheduled_for == live.scheduled_for


async def test_another_tenants_firing_looks_like_none(db: Database) -> None:
    """I14."""
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    assert await find(db, id_, tenant_id=schedule.tenant_id) is not None
    assert await find(db, id_, tenant_id=uuid4()) is None
    assert await find(db, uuid4()) is None


async def test_a_firing_whose_slot_is_far_from_its_id_is_found(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO firings (id, schedule_id, tenant_id, version, scheduled_for, status,"
            " triggered_by, finished_at) VALUES ($1, $2, $3, 1, $4, 'dead', 'backfill', $4)",
            id_ := uuid4(),
            schedule.id,
            schedule.tenant_id,
            now,
        )
    assert await find(db, id_) is not None


async def test_an_id_beyond_the_year_9999_names_nothing(db: Database) -> None:
    assert await find(db, UUID(int=(1 << 128) - 1)) is None


async def test_a_claim_held_ahead_still_waits(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule, available_in=60 * SECOND)
    await take(db, some_worker(), lead=90 * SECOND)
    firing = await find(db, id_)
    assert firing is not None
    assert (firing.status, firing.attempt) == ("waiting", 0)


async def test_history_is_the_newest_first_with_the_live_ones_among_them(db: Database) -> None:
    schedule, other = await make_schedule(db), await make_schedule(db)
    now = await database_now(db)
    old = [await fire(db, schedule, now + n * SECOND) for n in range(3)]
    await finish(db)
    live = [await fire(db, schedule, now + n * SECOND, state="blocked") for n in (9, 10)]
    middle = await fire(db, schedule, now + 5 * SECOND)
    await finish(db, "dead")
    await fire(db, other, now)
    assert await history(db, schedule) == [live[1], live[0], middle, *reversed(old)]


async def test_pages_neither_repeat_nor_leave_out(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    for n in range(7):
        await fire(db, schedule, now + n * SECOND)
    await finish(db)
    for n in range(7, 10):
        await fire(db, schedule, now + n * SECOND)
    everything = await history(db, schedule)
    seen: list[UUID] = []
    place = None
    for _ in range(10):
        async with db.transaction() as tx:
            page = await queries.of_schedule(tx, schedule.id, after=place, limit=4)
        seen += [each.id for each in page.firings]
        place = page.next_place
        if place is None:
            break
    assert seen == everything
    assert len(seen) == 10


async def test_history_can_be_narrowed_by_status(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    fine = await fire(db, schedule, now)
    await finish(db)
    dead = await fire(db, schedule, now + SECOND)
    await finish(db, "dead", reason="HTTP 404")
    live = await fire(db, schedule, now + 2 * SECOND)
    for statuses, expected in (
        (["succeeded"], [fine]),
        (["dead", "waiting"], [live, dead]),
        (["running"], []),
    ):
        async with db.transaction() as tx:
            page = await queries.of_schedule(tx, schedule.id, statuses=statuses)
        assert [each.id for each in page.firings] == expected
    async with db.transaction() as tx:
        with pytest.raises(InvalidInput, match=r"expected one of waiting, .* got 'failed'"):
            await queries.of_schedule(tx, schedule.id, statuses=["failed"])


async def test_dead_letters_are_listed_for_their_tenant(db: Database) -> None:
    """RT5."""
    mine, other = await make_schedule(db), await make_schedule(db)
    now = await database_now(db)
    ids = [await fire(db, mine, now + n * SECOND) for n in range(3)]
    await fire(db, other, now)
    await finish(db, "dead", reason="HTTP 404")
    await fire(db, mine, now + 9 * SECOND)
    await finish(db)
    async with db.transaction() as tx:
        page = await queries.dead(tx, mine.tenant_id, limit=2)
        rest = await queries.dead(tx, mine.tenant_id, after=page.next_place, limit=2)
    assert [each.id for each in page.firings + rest.firings] == list(reversed(ids))
    assert rest.next_place is None


async def test_every_attempt_is_shown_with_request_and_response(db: Database) -> None:
    """RT4, HX3, DB2."""
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    assert await attempts(db, id_) == []
    details = AttemptRecord(
        outcome="failed",
        error="HTTP 500",
        request='{"method": "POST", "url": "http://a.example/"}',
        response_headers='[["A", "b"], ["A", "c"]]',
        response_body=b"\x00no",
    )
    await finish(db, "dead", tried=details, code=500)
    (attempt,) = await attempts(db, id_)
    assert (attempt.attempt, attempt.outcome, attempt.error) == (1, "failed", "HTTP 500")
    assert attempt.request == {"method": "POST", "url": "http://a.example/"}
    assert attempt.response_headers == [("A", "b"), ("A", "c")]
    assert (attempt.response_status, attempt.response_body) == (500, b"\x00no")
    assert attempt.duration_ms == 1000
