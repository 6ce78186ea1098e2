"""Giving claims back for later, without using an attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.db.queue_support import (
    SECOND,
    database_now,
    fire,
    make_schedule,
    queue_rows,
    some_worker,
    take,
)

from rota.queue.heartbeat import postpone
from rota.queue.withdraw import cancel

if TYPE_CHECKING:
    from rota.db import Database


async def test_a_postponed_claim_waits_until_then_with_its_attempt_given_back(
    db: Database,
) -> None:
    schedule = await make_schedule(db, overlap_policy="allow")
    now = await database_now(db)
    fresh = await fire(db, schedule, now)
    retried = await fire(db, schedule, now + SECOND, state="retrying", attempt=2)
    me = some_worker()
    claims = await take(db, me)
    until = now + 60 * SECOND
    async with db.transaction() as tx:
        done = await postpone(tx, me, [(each, until) for each in claims])
    assert done == {fresh, retried}
    rows = await queue_rows(db)
    assert (rows[fresh]["state"], rows[fresh]["attempt"]) == ("waiting", 0)
    assert (rows[retried]["state"], rows[retried]["attempt"]) == ("retrying", 2)
    assert {row["available_at"] for row in rows.values()} == {until}
    assert {(row["worker"], row["claimed_until"]) for row in rows.values()} == {(None, None)}
    assert await take(db, me) == []


async def test_what_is_somebody_elses_by_now_is_left_alone(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    me, other = some_worker(), some_worker()
    (claim,) = await take(db, me)
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET worker = $1, attempt = 2", other)
        assert await postpone(tx, me, [(claim, claim.available_at + SECOND)]) == frozenset()
    row = (await queue_rows(db))[id_]
    assert (row["worker"], row["attempt"]) == (other, 2)


async def test_what_somebody_wants_ended_comes_back_at_once_to_be_ended(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule)
    me = some_worker()
    (claim,) = await take(db, me)
    async with db.transaction() as tx:
        await cancel(tx, [id_], "enough")
        await postpone(tx, me, [(claim, claim.available_at + 60 * SECOND)])
    (again,) = await take(db, me)
    assert (again.cancel_reason, again.attempt) == ("enough", 1)


async def test_it_never_comes_earlier_than_it_would_have(db: Database) -> None:
    schedule = await make_schedule(db)
    id_ = await fire(db, schedule, available_in=600 * SECOND)
    me = some_worker()
    (claim,) = await take(db, me, lead=900 * SECOND)
    async with db.transaction() as tx:
        await postpone(tx, me, [(claim, claim.available_at - 5 * SECOND)])
    assert (await queue_rows(db))[id_]["available_at"] == claim.available_at


async def test_a_postponement_that_was_made_and_is_tried_again_leaves_the_next_claim_alone(
    db: Database,
) -> None:
    """Its answer was lost; by now the worker has the row again, as the same attempt, and runs."""
    schedule = await make_schedule(db, delivery="at_most_once")
    id_ = await fire(db, schedule)
    me = some_worker()
    (first,) = await take(db, me)
    until = first.available_at + SECOND
    async with db.transaction() as tx:
        assert await postpone(tx, me, [(first, until)]) == {id_}
    (again,) = await take(db, me, lead=2 * SECOND)
    assert again.attempt == first.attempt
    async with db.transaction() as tx:
        assert await postpone(tx, me, [(first, until)]) == frozenset()
    row = (await queue_rows(db))[id_]
    assert (row["state"], row["worker"]) == ("running", me)
