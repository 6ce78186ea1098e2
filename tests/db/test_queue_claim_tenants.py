"""A worker claims only what belongs to the tenants it serves."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from tests.db.queue_support import (
    SECOND,
    VISIBILITY,
    database_now,
    fire,
    make_schedule,
    queue_rows,
    some_worker,
)

from rota.queue.claim import Claim, Standing, claim

if TYPE_CHECKING:
    from collections.abc import Collection

    from rota.db import Database, Tx

_TENANT = "INSERT INTO tenants (id, name, weight, max_concurrency) VALUES ($1, $2, $3, $4)"
_FIRE_MANY = """
    INSERT INTO queue (id, schedule_id, tenant_id, version, scheduled_for, available_at, priority,
                       state, triggered_by, lane)
    SELECT gen_random_uuid(), gen_random_uuid(), $1, 1, now(), now(), n % 10, 'waiting',
           'schedule', $3
      FROM generate_series(1, $2) AS n
"""
_NOW = timedelta()


async def test_a_claim_takes_nothing_of_tenants_that_the_worker_does_not_serve(
    db: Database,
) -> None:
    alpha, beta, gamma = [await make_schedule(db) for _ in range(3)]
    slot = await database_now(db)
    fired = {
        (each.tenant_id, lane): await fire(db, each, slot + n * SECOND, lane=lane, priority=p)
        for each, p in ((alpha, 1), (beta, 9), (gamma, 5))
        for n, lane in enumerate(("http", "reports", "stream"))
    }
    lanes = ("http", "reports", "stream")
    assert await _take(db, lanes, tenants=()) == []
    assert await _take(db, lanes, tenants=(uuid4(),)) == []
    taken = await _take(db, lanes, tenants=(alpha.tenant_id,))
    assert {each.id for each in taken} == _of(fired, alpha.tenant_id)
    taken = await _take(db, lanes, tenants=(alpha.tenant_id, gamma.tenant_id))
    assert {each.id for each in taken} == _of(fired, gamma.tenant_id)
    rows = await queue_rows(db)
    left = {id_ for id_, row in rows.items() if row["state"] == "waiting"}
    assert left == _of(fired, beta.tenant_id)


async def test_the_tenants_that_a_worker_serves_share_it_by_weight_and_keep_their_caps(
    db: Database,
) -> None:
    heavy, light = await _tenant(db, weight=3), await _tenant(db)
    capped, foreign = await _tenant(db, cap=2), await _tenant(db, weight=100)
    async with db.transaction() as tx:
        for each in (heavy, light, capped, foreign):
            await tx.execute(_FIRE_MANY, each, 200, "reports")
        # Without a standing the first turns are drawn by lot, and the ratio varies.
        claims = await _claim_in(tx, (heavy, light, capped), limit=80, standing=Standing())
    got = Counter(each.tenant_id for each in claims)
    assert got[capped] == 2
    assert got[foreign] == 0
    assert sum(got.values()) == 80
    assert abs(got[heavy] - 3 * got[light]) <= 4


async def test_a_worker_is_woken_by_the_next_instant_of_its_own_tenants_alone(
    db: Database,
) -> None:
    alpha, beta = [await make_schedule(db) for _ in range(2)]
    await fire(db, beta, available_in=60 * SECOND)
    own = await fire(db, alpha, available_in=3600 * SECOND)
    standing = Standing()
    async with db.transaction() as tx:
        assert await _claim_in(tx, (alpha.tenant_id,), lane="http", standing=standing) == []
    assert standing.first_at == (await queue_rows(db))[own]["available_at"]


async def test_more_tenants_and_priorities_than_one_look_can_see_all_have_their_turn(
    db: Database,
) -> None:
    served = [await _tenant(db) for _ in range(90)]
    async with db.transaction() as tx:
        for each in served:
            await tx.execute(_FIRE_MANY, each, 10, "reports")
        standing, seen = Standing(), Counter[UUID]()
        for _ in range(60):
            claims = await _claim_in(tx, served, limit=50, standing=standing)
            seen.update(each.tenant_id for each in claims)
    assert seen == Counter(dict.fromkeys(served, 10))


async def test_what_waits_for_others_costs_a_bound_claim_nothing(db: Database) -> None:
    """Also with a plan kept from when the queue was empty, and with the server's statistics old."""
    mine, other = await _tenant(db), await _tenant(db)
    async with db.transaction() as tx:
        # More often than it takes for the server to keep its plan.
        for _ in range(8):
            assert await _claim_in(tx, (mine,)) == []
        await tx.execute(_FIRE_MANY, other, 60_000, "reports")
        before = await _rows_read(tx)
        assert await _claim_in(tx, (mine,)) == []
        assert await _rows_read(tx) - before < 10
        await tx.execute(_FIRE_MANY, mine, 40_000, "reports")
        before = await _rows_read(tx)
        assert len(await _claim_in(tx, (mine,))) == 10
        assert await _rows_read(tx) - before < 200


async def _take(db: Database, lanes: tuple[str, ...], *, tenants: Collection[UUID]) -> list[Claim]:
    async with db.transaction() as tx:
        return await claim(
            tx,
            lanes,
            some_worker(),
            limit=1_000,
            lead=SECOND,
            visibility=VISIBILITY,
            tenants=tenants,
        )


async def _claim_in(
    tx: Tx,
    tenants: Collection[UUID],
    *,
    limit: int = 10,
    lane: str = "reports",
    standing: Standing | None = None,
) -> list[Claim]:
    return await claim(
        tx,
        [lane],
        some_worker(),
        limit=limit,
        lead=_NOW,
        visibility=VISIBILITY,
        tenants=tenants,
        standing=standing,
    )


async def _tenant(db: Database, *, weight: int = 1, cap: int | None = None) -> UUID:
    id_ = uuid4()
    async with db.transaction() as tx:
        await tx.execute(_TENANT, id_, id_.hex, weight, cap)
    return id_


def _of(fired: dict[tuple[UUID, str], UUID], tenant: UUID) -> set[UUID]:
    return {id_ for (owner, _), id_ in fired.items() if owner == tenant}


async def _rows_read(tx: Tx) -> int:
    """By this transaction, of the queue."""
    read: int = await tx.fetch_value(
        "SELECT sum(coalesce(pg_stat_get_xact_tuples_fetched(c.oid), 0) "
        "         + coalesce(pg_stat_get_xact_tuples_returned(c.oid), 0)) "
        "  FROM pg_class c "
        " WHERE c.relname IN ('queue', 'queue_ready', 'queue_pkey') "
        "   AND c.relnamespace = 'rota'::regnamespace"
    )
    return read
