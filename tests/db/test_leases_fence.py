"""Fences: the proof inside the transaction that writes, against real concurrent transactions."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.db.leases_kit import SHARDS, fences, member, write
from tests.deadlines import patience

from rota.errors import TemporaryError
from rota.leases import FenceLost, Lease, hold

if TYPE_CHECKING:
    from rota.db import Database


def lease(shard: int, fence: int) -> Lease:
    return Lease(shard=shard, fence=fence, trusted_until=float("inf"))


async def version(db: Database) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT current_setting('server_version_num')::int / 10000")


async def test_the_newest_fence_is_proven(db: Database) -> None:
    await write(db, "UPDATE leases SET fence = 7 WHERE shard = 3")
    async with db.transaction() as tx:
        fenced = await hold(tx, [lease(3, 7), lease(4, 0)])
        assert dict(fenced.fences) == {3: 7, 4: 0}


@pytest.mark.parametrize("fence", [6, 8])
async def test_any_other_fence_is_refused(db: Database, fence: int) -> None:
    """Also a higher one: a failover may have lost the grant it came from, so `=` and never `>=`."""
    await write(db, "UPDATE leases SET fence = 7 WHERE shard = 3")
    with pytest.raises(FenceLost) as lost:
        async with db.transaction() as tx:
            await hold(tx, [lease(3, fence), lease(4, 0)])
    assert lost.value.shards == (3,)


async def test_a_renewal_does_not_wait_for_a_firing(db: Database) -> None:
    async with member(db) as holder:
        await holder.elector.run_once()
        async with db.transaction() as firing:
            await hold(firing, holder.elector.held())
            before = {each.shard: each.trusted_until for each in holder.elector.held()}
            async with asyncio.timeout(patience(2)):
                await holder.elector.run_once()
            assert all(each.trusted_until > before[each.shard] for each in holder.elector.held())


async def test_giving_up_does_not_wait_for_a_firing(db: Database) -> None:
    async with member(db) as holder:
        await holder.elector.run_once()
        async with db.transaction() as firing:
            await hold(firing, holder.elector.held())
            async with asyncio.timeout(patience(2)):
                await holder.elector.resign()


async def test_a_take_over_waits_for_a_firing_and_for_no_longer(db: Database) -> None:
    async with member(db) as old, member(db) as new:
        await old.elector.run_once()
        in_flight = [each for each in old.elector.held() if each.shard == 9]
        await write(db, "UPDATE leases SET holder = NULL")
        await old.elector.resign()
        async with db.transaction() as firing:
            await hold(firing, in_flight)
            # All but the one in flight change hands; and nobody waits for it in line.
            async with asyncio.timeout(patience(2)):
                await new.elector.run_once()
            assert new.shards == set(range(SHARDS)) - {9}
        await new.elector.run_once()
        assert new.shards == set(range(SHARDS))
        assert (await fences(db))[9] == 2


async def test_who_freezes_before_a_statement_is_run_holds_up_its_successor_for_a_moment(
    db: Database,
) -> None:
    """F11: the server has read the statement and waits for its parameters. For the server that is
    work: what ends idle transactions does not see it."""
    if (await version(db)) < 17:
        pytest.skip("only PostgreSQL 17 and newer can end such a transaction")
    async with member(db) as old, member(db) as new:
        await old.elector.run_once()
        in_flight = [each for each in old.elector.held() if each.shard == 9]
        await write(db, "UPDATE leases SET holder = NULL")
        await old.elector.resign()

        async def freeze() -> None:
            async with db.transaction() as firing:
                await hold(firing, in_flight, within=timedelta(seconds=1))
                driver: Any = firing._state.connection
                await driver.prepare("SELECT 1 AS never_run")
                await new.elector.run_once()
                assert new.shards == set(range(SHARDS)) - {9}
                async with asyncio.timeout(patience(4)):
                    while 9 not in new.shards:
                        await new.elector.run_once()
                await firing.execute("SELECT 1")

        with pytest.raises(TemporaryError):
            await freeze()


async def test_a_firing_waits_for_a_take_over_under_way_and_is_refused(db: Database) -> None:
    """F11: the old holder was paused just before its write; the new one is just being granted."""
    granted = asyncio.Event()
    commit = asyncio.Event()

    async def take_over() -> None:
        async with db.transaction() as tx:
            await tx.execute("UPDATE leases SET fence = fence + 1 WHERE shard = 9")
            granted.set()
            await commit.wait()

    async def write_with_the_old_fence() -> None:
        async with db.transaction() as tx:
            await hold(tx, [lease(9, 0)])

    taking = asyncio.create_task(take_over())
    await granted.wait()
    writing = asyncio.create_task(write_with_the_old_fence())
    done, _ = await asyncio.wait([writing], timeout=0.3)
    assert not done
    commit.set()
    await taking
    with pytest.raises(FenceLost):
        await writing


async def test_a_zombie_is_refused_however_it_is_sure_of_its_lease(db: Database) -> None:
    """LE6, F11: no clock is involved."""
    async with AsyncExitStack() as stack:
        zombie = await stack.enter_async_context(member(db))
        await zombie.elector.run_once()
        new = await stack.enter_async_context(member(db))
        sure = [replace(each, trusted_until=float("inf")) for each in zombie.elector.held()]
        await write(db, "UPDATE leases SET leased_until = now() - interval '1 s'")
        await write(
            db,
            "UPDATE nodes SET seen_at = now() - $2::interval WHERE id = $1",
            zombie.node.id,
            timedelta(minutes=1),
        )
        await new.elector.run_once()
        with pytest.raises(FenceLost) as lost:
            async with db.transaction() as tx:
                await hold(tx, sure)
        assert set(lost.value.shards) == set(range(SHARDS))
