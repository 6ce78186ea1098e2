"""Who may fire: taking, keeping, sharing and giving back leases (LE1-LE13)."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.db.leases_kit import HOLDERS, SHARDS, Member, fences, member, write

from rota.clock import ManualClock
from rota.db import Database
from rota.errors import RotaError
from rota.leases import Elector, LeaseLost, LeaseResigned, LeaseTaken, sql

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from rota.leases import Node

LONG_AGO = timedelta(hours=1)


async def settle(*members: Member) -> None:
    """Enough passes for everybody to have what is theirs."""
    for _ in range(3):
        for each in members:
            await each.elector.run_once()


async def holders(db: Database) -> dict[int, UUID | None]:
    async with db.transaction() as tx:
        return {row["shard"]: row["holder"] for row in await tx.fetch(HOLDERS)}


async def test_a_scheduler_alone_takes_every_shard(db: Database) -> None:
    async with member(db) as alone:
        await alone.elector.run_once()
        assert alone.shards == set(range(SHARDS))
        assert set((await holders(db)).values()) == {alone.node.id}
        taken = alone.heard.all(LeaseTaken)
        assert {(event.shard, event.fence, event.previous) for event in taken} == {
            (shard, 1, None) for shard in range(SHARDS)
        }


async def test_renewing_extends_and_leaves_the_fence_alone(db: Database) -> None:
    async with member(db) as alone:
        await alone.elector.run_once()
        await write(db, "UPDATE leases SET leased_until = now() + interval '1 second'")
        await alone.elector.run_once()
        assert set((await fences(db)).values()) == {1}
        async with db.transaction() as tx:
            soonest = await tx.fetch_value("SELECT min(leased_until) - now() FROM leases")
        assert soonest > timedelta(seconds=10)


async def test_a_newcomer_gets_its_share_and_every_change_of_holder_raises_the_fence(
    db: Database,
) -> None:
    """LE2: fair shares, without anybody waiting for a lease to run out. LE6: fences rise."""
    async with AsyncExitStack() as stack:
        old = await stack.enter_async_context(member(db))
        await old.elector.run_once()
        new = await stack.enter_async_context(member(db))
        await settle(old, new)
        assert len(old.shards) == len(new.shards) == SHARDS // 2
        assert old.shards | new.shards == set(range(SHARDS))
        lost = {event.shard for event in old.heard.all(LeaseLost)}
        assert lost == new.shards
        assert {event.reason for event in old.heard.all(LeaseLost)} == {"share"}
        stored = await fences(db)
        assert {stored[shard] for shard in old.shards} == {1}
        assert {stored[shard] for shard in new.shards} == {2}


async def test_three_schedulers_hold_every_shard_once(db: Database) -> None:
    async with member(db) as one, member(db) as two, member(db) as three:
        await settle(one, two, three)
        held = [each.shards for each in (one, two, three)]
        assert sorted(len(shards) for shards in held) == [20, 22, 22]
        assert one.shards | two.shards | three.shards == set(range(SHARDS))


async def test_schedulers_that_start_at_once_part_the_shards(db: Database) -> None:
    """LE13, I8: whatever the interleaving, a shard has one holder and holders know their own."""
    async with AsyncExitStack() as stack:
        fleet = [await stack.enter_async_context(member(db)) for _ in range(5)]
        for _ in range(4):
            await asyncio.gather(*(each.elector.run_once() for each in fleet))
        held = [shard for each in fleet for shard in each.shards]
        assert sorted(held) == list(range(SHARDS))
        stored = await holders(db)
        for each in fleet:
            assert {shard for shard, holder in stored.items() if holder == each.node.id} == (
                each.shards
            )


async def test_resigning_frees_everything_at_once(db: Database) -> None:
    async with member(db) as leaving, member(db) as staying:
        await settle(leaving, staying)
        before = leaving.shards
        await leaving.elector.resign()
        assert leaving.shards == set()
        assert {event.shard for event in leaving.heard.all(LeaseResigned)} == before
        # It is still there, finishing what runs; its share is not kept for it.
        await staying.elector.run_once()
        assert staying.shards == set(range(SHARDS))
        await leaving.elector.run_once()
        assert leaving.shards == set()


async def test_a_lease_that_ran_out_is_taken_even_from_a_node_that_is_there(db: Database) -> None:
    """A frozen process keeps its session: the time of the lease is what ends it."""
    async with AsyncExitStack() as stack:
        frozen = await stack.enter_async_context(member(db))
        await frozen.elector.run_once()
        other = await stack.enter_async_context(member(db))
        await write(db, "UPDATE leases SET leased_until = now() - interval '1 second'")
        await write(
            db,
            "UPDATE nodes SET seen_at = now() - interval '1 minute' WHERE id = $1",
            frozen.node.id,
        )
        await other.elector.run_once()
        assert other.shards == set(range(SHARDS))
        assert {event.previous for event in other.heard.all(LeaseTaken)} == {frozen.node.id}
        # It wakes up, and finds that nothing is its own.
        await frozen.elector._renew()
        assert frozen.shards == set()
        assert {event.reason for event in frozen.heard.all(LeaseLost)} == {"taken"}
        assert set((await fences(db)).values()) == {2}


async def test_a_node_whose_session_is_gone_loses_its_shards_before_they_run_out(
    db: Database,
) -> None:
    async with member(db) as killed:
        await killed.elector.run_once()
        node = killed.node
    async with member(db) as other:
        # Its row is back, as if it had been killed instead of leaving.
        await sql.beat(db, node)
        await other.elector.run_once()
        assert not other.shards, "it was heard of a moment ago: it may make a new session"
        await write(db, "UPDATE nodes SET seen_at = now() - interval '2 s' WHERE id = $1", node.id)
        await other.elector.run_once()
        assert other.shards == set(range(SHARDS))


async def test_a_node_that_is_there_keeps_its_shards(db: Database) -> None:
    async with member(db) as quiet, member(db) as other:
        await settle(quiet, other)
        await write(
            db, "UPDATE nodes SET seen_at = now() - interval '10 s' WHERE id = $1", quiet.node.id
        )
        await other.elector.run_once()
        assert len(other.shards) == SHARDS // 2


async def test_without_its_session_a_node_takes_nothing(db: Database) -> None:
    async with member(db) as hidden:
        hidden.session.made.clear()
        await hidden.elector.run_once()
        assert hidden.shards == set()


async def test_a_grant_whose_answer_was_lost_is_found_again(db: Database) -> None:
    async with member(db) as forgetful:
        await forgetful.elector.run_once()
        forgetful.elector._leases.pop(5)
        await forgetful.elector.run_once()
        assert forgetful.shards == set(range(SHARDS))
        assert (await fences(db))[5] == 2


async def test_a_slow_answer_shortens_the_trust_and_never_stretches_it(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    renew = sql.renew

    async def slow(
        db: Database, node: Node, held: Mapping[int, int], *, ttl: timedelta
    ) -> set[int]:
        renewed = await renew(db, node, held, ttl=ttl)
        await clock.advance(timedelta(seconds=9))
        return renewed

    async with member(db, clock=clock) as trusting:
        await trusting.elector.run_once()
        monkeypatch.setattr(sql, "renew", slow)
        await trusting.elector.run_once()
        # 15 s of lease and 2 s of margin, from when it was asked: 9 s ago.
        assert {lease.trusted_until for lease in trusting.elector.held()} == {13.0}
        await clock.advance(timedelta(seconds=4))
        assert trusting.shards == set()
        assert {event.reason for event in trusting.heard.all(LeaseLost)} == {"expired"}


async def test_failing_to_reach_the_leases_means_not_being_leader(dsn: str, db: Database) -> None:
    """Requirements, section 22: "failing to get the lock means acting as leader" is a famous bug.

    LE12: what is held is held for its time, and nothing new is taken.
    """
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    away = await Database.open(dsn, pool_size=1)
    async with AsyncExitStack() as stack:
        cut_off = await stack.enter_async_context(member(away, clock=clock))
        await cut_off.elector.run_once()
        empty = await stack.enter_async_context(member(away, clock=clock))
        lease = cut_off.elector.held()[0]
        await away.close()
        for each in (cut_off, empty):
            with pytest.raises(RotaError):
                await each.elector.run_once()
        assert empty.shards == set()
        assert len(cut_off.shards) == SHARDS
        assert cut_off.elector.is_held(lease)
        await clock.advance(timedelta(seconds=13))
        assert cut_off.shards == set()
        assert not cut_off.elector.is_held(lease)


async def test_a_pass_that_fails_is_published_and_the_next_one_follows(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey, calls = sql.survey, 0

    async def failing_once(db: Database, *, ttl: timedelta, grace: timedelta) -> sql.Survey:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise RuntimeError("a survey that fails")
        return await survey(db, ttl=ttl, grace=grace)

    monkeypatch.setattr(sql, "survey", failing_once)
    async with member(db) as shaken:
        running = asyncio.create_task(shaken.elector.service().run())
        await shaken.heard.wait_for(LeaseTaken)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await shaken.elector.resign()


async def test_nodes_that_have_not_been_heard_of_for_long_are_forgotten(db: Database) -> None:
    async with member(db) as alone:
        await write(
            db,
            """INSERT INTO nodes (id, roles, host, pid, version, lock_class, lock_key, seen_at)
               SELECT gen_random_uuid(), '{scheduler}', 'old', 1, '0', 1, 1, now() - interval '2 d'
            """,
        )
        await alone.elector.run_once()
        async with db.transaction() as tx:
            assert await tx.fetch_value("SELECT count(*) FROM nodes WHERE host = 'old'") == 0


def test_a_lease_must_outlast_its_renewal() -> None:
    with pytest.raises(ValueError, match="expected a lease longer"):
        Elector(None, None, None, ttl=timedelta(seconds=5))  # pyright: ignore[reportArgumentType]
