"""Claims are fair between tenants, and keep to their caps."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from tests.db.queue_support import SECOND, VISIBILITY, fire, make_schedule, some_worker, take
from tests.deadlines import patience

from rota.queue.claim import Claim, Standing, claim
from rota.queue.heartbeat import release

if TYPE_CHECKING:
    from rota.db import Database, Tx

_TENANT = "INSERT INTO tenants (id, name, weight, max_concurrency) VALUES ($1, $2, $3, $4)"
_FIRE_MANY = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
                       state, triggered_by, lane)
    SELECT gen_random_uuid(), gen_random_uuid(), $1, 1, a.at, a.at, $3, 'waiting', 'schedule', $4
      FROM generate_series(1, $2) AS n
     CROSS JOIN LATERAL (SELECT clock_timestamp() + $5 - n * interval '1 ms') AS a(at)
"""
_RUNNING = "SELECT count(*) FROM queue WHERE state = 'running' AND tenant_id = $1"
_NOW = timedelta()


async def tenant(db: Database, *, weight: int = 1, cap: int | None = None) -> UUID:
    id_ = uuid4()
    async with db.transaction() as tx:
        await tx.execute(_TENANT, id_, id_.hex, weight, cap)
    return id_


async def waiting(
    db: Database,
    tenant_id: UUID,
    count: int,
    *,
    priority: int = 5,
    lane: str = "http",
    within: timedelta = _NOW,
) -> None:
    """So many firings of the tenant, in the queue."""
    async with db.transaction() as tx:
        await tx.execute(_FIRE_MANY, tenant_id, count, priority, lane, within)


async def take_as(
    db: Database, standing: Standing, limit: int, worker: UUID | None = None
) -> list[Claim]:
    async with db.transaction() as tx:
        return await claim(
            tx,
            ["http"],
            worker or some_worker(),
            limit=limit,
            lead=_NOW,
            visibility=VISIBILITY,
            standing=standing,
        )


def by_tenant(claims: list[Claim]) -> Counter[UUID]:
    return Counter(each.tenant_id for each in claims)


async def test_a_claim_is_shared_by_weight(db: Database) -> None:
    """TN3."""
    heavy, light = await tenant(db, weight=3), await tenant(db)
    for each in (heavy, light):
        await waiting(db, each, 200)
    claims = await take_as(db, Standing(), 100)
    assert by_tenant(claims) == {heavy: 75, light: 25}
    assert {each.weight for each in claims if each.tenant_id == heavy} == {3}
    assert {each.weight for each in claims if each.tenant_id == light} == {1}
    # In the order in which they should be begun.
    assert by_tenant(claims[:40]) == {heavy: 30, light: 10}


async def test_what_one_tenant_does_not_use_goes_to_the_others(db: Database) -> None:
    few, some, many = [await tenant(db) for _ in range(3)]
    for each, count in ((few, 3), (some, 40), (many, 500)):
        await waiting(db, each, count)
    assert by_tenant(await take(db, some_worker(), limit=150)) == {few: 3, some: 40, many: 107}
    assert by_tenant(await take(db, some_worker(), limit=150)) == {many: 150}


@pytest.mark.parametrize("limit", [1, 3])
async def test_shares_hold_over_many_small_claims_of_several_workers(
    db: Database, limit: int
) -> None:
    """TN3: ten tenants, three workers, claims too small to be shared."""
    weights = {await tenant(db, weight=weight): weight for weight in (3, 3, 1, 1, 1, 1, 1, 1, 1, 1)}
    for each in weights:
        await waiting(db, each, 300)

    async def work(count: int) -> list[Claim]:
        standing = Standing()
        return [each for _ in range(count) for each in await take_as(db, standing, limit)]

    taken = await asyncio.gather(*(work(420 // limit) for _ in range(3)))
    had = by_tenant([each for claims in taken for each in claims])
    assert had.total() == 1_260
    for each, weight in weights.items():
        assert abs(had[each] - 90 * weight) <= 9 * weight


async def test_those_who_claim_once_without_a_past_starve_nobody(db: Database) -> None:
    tenants = [await tenant(db) for _ in range(3)]
    for each in tenants:
        await waiting(db, each, 60)
    claims = [(await take(db, some_worker(), limit=1))[0] for _ in range(60)]
    assert set(by_tenant(claims)) == set(tenants)


async def test_priorities_and_age_order_the_work_of_a_tenant_and_no_other(db: Database) -> None:
    """TN4: a tenant cannot get ahead of others by calling everything urgent."""
    urgent, modest = await tenant(db), await tenant(db)
    await waiting(db, urgent, 50, priority=9)
    await waiting(db, modest, 30, priority=1)
    await waiting(db, modest, 20, priority=3)
    claims = await take_as(db, Standing(), 50)
    assert by_tenant(claims) == {urgent: 25, modest: 25}
    theirs = Counter(each.priority for each in claims if each.tenant_id == modest)
    assert theirs == {3: 20, 1: 5}
    rest = await take(db, some_worker(), limit=1_000)
    oldest = max(each.available_at for each in claims if each.priority == 9)
    assert all(each.available_at > oldest for each in rest if each.priority == 9)


async def test_of_several_lanes_the_one_that_has_waited_longest_goes_first(db: Database) -> None:
    schedule = await make_schedule(db)
    now = await fire(db, schedule, lane="http", available_in=-1 * SECOND)
    before = await fire(
        db, schedule, lane="mail", available_in=-9 * SECOND, slot=schedule.anchor_at
    )
    order = [
        (await take(db, some_worker(), limit=1, lanes=("http", "mail")))[0].id for _ in range(2)
    ]
    assert order == [before, now]


async def test_retries_far_ahead_are_neither_claimed_nor_in_the_way(db: Database) -> None:
    ahead, now = await tenant(db), await tenant(db)
    await waiting(db, ahead, 500, priority=9, within=timedelta(hours=1))
    await waiting(db, ahead, 5, priority=2)
    await waiting(db, now, 5)
    assert by_tenant(await take(db, some_worker())) == {ahead: 5, now: 5}
    assert await take(db, some_worker()) == []


async def test_a_cap_holds_exactly_while_three_workers_claim_at_once(db: Database) -> None:
    """TN2, S12: over all workers; and the uncapped do not wait for the capped."""
    capped, other, free = await tenant(db, cap=7), await tenant(db, cap=2), await tenant(db)
    for each, count in ((capped, 300), (other, 300), (free, 300)):
        await waiting(db, each, count)
    most: Counter[UUID] = Counter()
    begun: Counter[UUID] = Counter()

    async def watch(each: UUID) -> None:
        async with db.transaction() as tx:
            most[each] = max(most[each], await tx.fetch_value(_RUNNING, each))

    async def work(limit: int) -> None:
        me, standing = some_worker(), Standing()
        for _ in range(40):
            claims = await take_as(db, standing, limit, me)
            begun.update(by_tenant(claims))
            await asyncio.gather(watch(capped), watch(other))
            async with db.transaction() as tx:
                await tx.execute("DELETE FROM queue WHERE worker = $1", me)

    await asyncio.gather(work(4), work(5), work(20))
    assert 0 < most[capped] <= 7
    assert 0 < most[other] <= 2
    assert begun[free] == 300
    assert begun[capped] > 100


async def test_a_cap_counts_what_runs_and_what_was_given_back_is_free_again(db: Database) -> None:
    capped = await tenant(db, cap=5)
    await waiting(db, capped, 20)
    me, standing = some_worker(), Standing()
    claims = await take_as(db, standing, 100, me)
    assert len(claims) == 5
    assert await take_as(db, standing, 100) == []
    async with db.transaction() as tx:
        assert await release(tx, me, claims[:2]) == 2
    assert len(await take_as(db, standing, 100)) == 2


async def test_while_one_claims_for_a_capped_tenant_the_others_neither_wait_nor_exceed(
    db: Database,
) -> None:
    capped, free = await tenant(db, cap=5), await tenant(db)
    for each in (capped, free):
        await waiting(db, each, 50)
    async with db.transaction() as slow:
        first = await claim(
            slow,
            ["http"],
            some_worker(),
            limit=4,
            lead=_NOW,
            visibility=VISIBILITY,
            standing=Standing(),
        )
        async with asyncio.timeout(patience(2)):
            assert by_tenant(await take(db, some_worker(), limit=10)) == {free: 10}
    taken = by_tenant(first)[capped]
    assert by_tenant(await take(db, some_worker(), limit=1_000))[capped] == 5 - taken


async def test_rows_that_another_worker_is_taking_are_passed_over(db: Database) -> None:
    """QW6: also where shares are worked out."""
    tenants = [await tenant(db) for _ in range(2)]
    for each in tenants:
        await waiting(db, each, 10)
    async with db.transaction() as slow:
        mine = await claim(
            slow,
            ["http"],
            some_worker(),
            limit=10,
            lead=_NOW,
            visibility=VISIBILITY,
            standing=Standing(),
        )
        theirs = await take(db, some_worker(), limit=100)
    assert by_tenant(mine) == by_tenant(theirs) == dict.fromkeys(tenants, 5)
    assert not {each.id for each in mine} & {each.id for each in theirs}


async def test_who_holds_its_share_already_takes_only_what_is_left(db: Database) -> None:
    hoarder, comer = await tenant(db), await tenant(db)
    for each in (hoarder, comer):
        await waiting(db, each, 500)
    held = {hoarder: 90}
    assert by_tenant(await take_as(db, Standing(held=held), 10)) == {comer: 10}
    # No place is left but those for the ones that have less than their share.
    assert by_tenant(await take_as(db, Standing(held=held, spare=8), 0)) == {comer: 8}
    held = {hoarder: 93}
    assert by_tenant(await take_as(db, Standing(held=held, spare=8), -3)) == {comer: 5}
    held = {hoarder: 50, comer: 50}
    assert await take_as(db, Standing(held=held, spare=8), 0) == []


async def test_more_tenants_than_one_look_can_see_all_have_their_turn(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute(
            "INSERT INTO tenants (id, name) "
            "SELECT x.id, x.id::text FROM (SELECT gen_random_uuid() AS id "
            "  FROM generate_series(1, 1300)) AS x"
        )
        await tx.execute(
            "INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, "
            "                   state, triggered_by, lane) "
            "SELECT gen_random_uuid(), t.id, t.id, 1, now(), now(), 'waiting', 'schedule', 'http' "
            "  FROM tenants t"
        )
        # Seen first, and not due: they must not hide those that are.
        await tx.execute(
            "UPDATE queue SET available_at = now() + interval '1 hour' "
            "WHERE tenant_id < '80000000-0000-0000-0000-000000000000'"
        )
        due = await tx.fetch_value("SELECT count(*) FROM queue WHERE available_at <= now()")
    standing, seen = Standing(), Counter[UUID]()
    for _ in range(200):
        seen.update(by_tenant(await take_as(db, standing, 50)))
    assert len(seen) == due


async def test_claims_are_found_by_the_index_alone_also_with_a_plan_from_an_empty_queue(
    db: Database,
) -> None:
    """A hundred thousand rows wait: a claim reads those it takes, and few more."""
    one, other = await tenant(db), await tenant(db)
    async with db.transaction() as tx:
        # More often than it takes for the server to keep its plan.
        for _ in range(8):
            assert await _claim_in(tx, 10) == []
        await tx.execute(_FIRE_MANY, one, 60_000, 5, "http", _NOW)
        await tx.execute(_FIRE_MANY, one, 20_000, 7, "http", timedelta(hours=1))
        assert 10 <= await _rows_read(tx, await _claim_in(tx, 10)) < 200
        await tx.execute(_FIRE_MANY, other, 20_000, 5, "http", _NOW)
        assert 10 <= await _rows_read(tx, await _claim_in(tx, 10)) < 400


async def _claim_in(tx: Tx, limit: int) -> list[Claim]:
    return await claim(tx, ["http"], some_worker(), limit=limit, lead=_NOW, visibility=VISIBILITY)


async def _rows_read(tx: Tx, claims: list[Claim]) -> int:
    """By this transaction, of the queue; the claims were made in it just now."""
    assert len(claims) == 10
    read: int = await tx.fetch_value(
        "SELECT sum(coalesce(pg_stat_get_xact_tuples_fetched(c.oid), 0) "
        "         + coalesce(pg_stat_get_xact_tuples_returned(c.oid), 0)) "
        "  FROM pg_class c "
        " WHERE c.relname IN ('queue', 'queue_ready', 'queue_pkey') "
        "   AND c.relnamespace = 'rota'::regnamespace"
    )
    return read
