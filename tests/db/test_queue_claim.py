"""Claiming, extending and giving back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from tests.db.queue_support import (
    SECOND,
    VISIBILITY,
    database_now,
    fire,
    make_schedule,
    queue_rows,
    some_worker,
    take,
)

from rota.queue.heartbeat import extend, release, release_strays

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database, Row


async def test_every_firing_is_claimed_by_exactly_one_of_many_workers(db: Database) -> None:
    """QW6, under eight claimers at once."""
    schedule = await make_schedule(db)
    now = await database_now(db)
    fired = [await fire(db, schedule, now + n * SECOND) for n in range(200)]

    async def claimer(worker: UUID) -> list[UUID]:
        mine: list[UUID] = []
        while claims := await take(db, worker, limit=7):
            mine += [each.id for each in claims]
        return mine

    workers = [some_worker() for _ in range(8)]
    taken = await asyncio.gather(*map(claimer, workers))
    everything = [id_ for mine in taken for id_ in mine]
    assert len(everything) == len(set(everything)) == 200
    assert set(everything) == set(fired)
    rows = await queue_rows(db)
    assert {row["state"] for row in rows.values()} == {"running"}
    for worker, mine in zip(workers, taken, strict=True):
        assert {id_ for id_, row in rows.items() if row["worker"] == worker} == set(mine)


async def test_a_claim_has_all_that_a_worker_needs(db: Database) -> None:
    schedule = await make_schedule(db, version=3)
    id_ = await fire(db, schedule, priority=8, catch_up=True, payload='{"a": 1}')
    (each,) = await take(db, some_worker())
    assert (each.id, each.schedule_id, each.tenant_id) == (id_, schedule.id, schedule.tenant_id)
    assert (each.version, each.attempt, each.priority, each.fence) == (3, 1, 8, 7)
    assert (each.catch_up, each.triggered_by, each.lane) == (True, "schedule", "http")
    assert each.payload == '{"a": 1}'
    assert each.cancel_reason is None
    assert (each.host, each.replay_of, each.weight) == ("127.0.0.1:9", None, 1)


async def test_the_time_of_all_attempts_counts_from_when_it_was_first_its_turn(
    db: Database,
) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    ahead = await fire(db, schedule, now, available_in=600 * SECOND)
    late = await fire(db, schedule, now + SECOND, available_in=-60 * SECOND)
    me = some_worker()
    claims = {each.id: each for each in await take(db, me, lead=900 * SECOND)}
    assert claims[ahead].began_at == claims[ahead].available_at
    assert now < claims[late].began_at < now + 30 * SECOND
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET state = 'retrying' WHERE id = $1", late)
    (again,) = await take(db, me)
    assert (again.attempt, again.began_at) == (2, claims[late].began_at)


async def test_what_is_due_within_the_lead_is_claimed_ahead(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    soon = await fire(db, schedule, now, available_in=timedelta(minutes=10))
    await fire(db, schedule, now + SECOND, available_in=timedelta(hours=2))
    assert await take(db, some_worker()) == []
    (each,) = await take(db, some_worker(), lead=timedelta(hours=1))
    assert each.id == soon
    assert each.claimed_until == each.available_at + VISIBILITY


async def test_higher_priority_goes_first_then_the_oldest(db: Database) -> None:
    """TN4."""
    schedule = await make_schedule(db)
    now = await database_now(db)
    late = await fire(db, schedule, now, priority=5, available_in=-1 * SECOND)
    early = await fire(db, schedule, now + SECOND, priority=5, available_in=-9 * SECOND)
    urgent = await fire(db, schedule, now + 2 * SECOND, priority=9)
    lowest = await fire(db, schedule, now + 3 * SECOND, priority=0, available_in=-99 * SECOND)
    order = [(await take(db, some_worker(), limit=1))[0].id for _ in range(4)]
    assert order == [urgent, early, late, lowest]


async def test_only_the_lanes_asked_for_are_claimed(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    http = await fire(db, schedule, now)
    mail = await fire(db, schedule, now + SECOND, lane="mail")
    await fire(db, schedule, now + 2 * SECOND, lane="other")
    claims = await take(db, some_worker(), lanes=("http", "mail"))
    assert {each.id for each in claims} == {http, mail}


async def test_blocked_and_running_firings_are_not_claimed(db: Database) -> None:
    schedule = await make_schedule(db)
    await fire(db, schedule, state="blocked")
    await fire(db, schedule, await database_now(db))
    assert len(await take(db, some_worker())) == 1
    assert await take(db, some_worker()) == []


async def test_one_heartbeat_extends_all_claims_and_names_the_lost(db: Database) -> None:
    """QW12."""
    schedule = await make_schedule(db)
    now = await database_now(db)
    for n in range(3):
        await fire(db, schedule, now + n * SECOND)
    me = some_worker()
    claims = await take(db, me, visibility=SECOND)
    stolen, asked, kept = claims
    async with db.transaction() as tx:
        await tx.execute("UPDATE queue SET attempt = attempt + 1 WHERE id = $1", stolen.id)
        await tx.execute("UPDATE queue SET cancel_reason = 'why not' WHERE id = $1", asked.id)
    async with db.transaction() as tx:
        extended = await extend(tx, me, claims, VISIBILITY)
    assert extended.lost == {stolen.id}
    assert extended.cancelled == {asked.id: "why not"}
    rows = await queue_rows(db)
    assert rows[kept.id]["claimed_until"] > now + VISIBILITY - SECOND
    assert rows[stolen.id]["claimed_until"] < rows[kept.id]["claimed_until"]


async def test_a_claim_given_back_is_as_if_it_had_never_been_made(db: Database) -> None:
    schedule = await make_schedule(db)
    fresh = await fire(db, schedule)
    tried = await fire(db, schedule, await database_now(db), state="retrying", attempt=2)
    before = await queue_rows(db)
    me = some_worker()
    claims = await take(db, me)
    async with db.transaction() as tx:
        assert await release(tx, some_worker(), claims) == 0
        assert await release(tx, me, claims) == 2
    after = await queue_rows(db)
    assert after[fresh]["began_at"] is None
    for id_ in (fresh, tried):
        assert _but_began_at(after[id_]) == _but_began_at(before[id_])


async def test_claims_whose_answer_was_lost_are_given_back(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await database_now(db)
    for n in range(3):
        await fire(db, schedule, now + n * SECOND)
    me, other = some_worker(), some_worker()
    (theirs,) = await take(db, other, limit=1)
    known, stray = await take(db, me)
    async with db.transaction() as tx:
        assert await release_strays(tx, me, known=[known.id]) == 1
    states = {id_: row["state"] for id_, row in (await queue_rows(db)).items()}
    assert states == {theirs.id: "running", known.id: "running", stray.id: "waiting"}


def _but_began_at(row: Row) -> dict[str, object]:
    return {name: value for name, value in row.items() if name != "began_at"}
