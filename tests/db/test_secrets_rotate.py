"""Rotation of the ring's keys: killed, resumed, and never a secret lost (S7, c9)."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

import pytest
from tests.db.secrets_kit import put, read, ring_text, ringed, tenant, vault

from rota.errors import OperatorError
from rota.tenants.secrets import RingKeyMissing, Rings, Vault
from rota.tenants.secrets import ring as ring_module
from rota.tenants.secrets.rotate import check, rotate, used_ids
from rota.tenants.signing import SigningSecrets

if TYPE_CHECKING:
    from uuid import UUID

    from rota.db import Database

# Rotates in batches of one, and says so after each; it never ends by itself after the third.
_KILLED = """
import asyncio, sys
from rota.db import Database
from rota.tenants.secrets import Rings, ring, rotate
rotate._BATCH = 1

def said(moved):
    print(moved, flush=True)
    if moved >= 4:
        sys.stdin.readline()

async def main():
    rings = Rings.fixed(ring.parse(sys.argv[2], where="tests"))
    async with await Database.open(sys.argv[1]) as db:
        await rotate.rotate(db, rings, on_batch=said)

asyncio.run(main())
"""


async def test_everything_moves_under_the_current_key(db: Database) -> None:
    owners = await _with_secrets(db, 5)
    token_key = await _token_key(db, vault("k1"))
    done = await rotate(db, ringed("k2", "k1"))
    assert (done.current, done.moved, done.unused) == ("k2", 6, ("k1",))
    assert await db.run(used_ids) == {"k2"}
    await _all_read(db, vault("k2"), owners)
    assert await _token_key(db, vault("k2")) == token_key
    again = await rotate(db, ringed("k2", "k1"))
    assert (again.moved, again.unused) == (0, ("k1",))


async def test_a_rotation_that_is_killed_half_way_is_finished_by_the_next(
    db: Database, dsn: str
) -> None:
    """c9: while it is half done every secret reads, with both keys in the ring."""
    owners = await _with_secrets(db, 8)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _KILLED, dsn, ring_text("k2", "k1")),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    while (await process.stdout.readline()).strip() not in {b"4", b""}:
        pass
    process.kill()
    await process.communicate()
    assert await db.run(used_ids) == {"k1", "k2"}
    await _all_read(db, vault("k2", "k1"), owners)
    await _all_read(db, vault("k1", "k2"), owners)
    done = await rotate(db, ringed("k2", "k1"))
    assert 0 < done.moved < 8
    assert done.unused == ("k1",)
    await _all_read(db, vault("k2"), owners)


async def test_the_old_key_is_needed_until_it_is_done(db: Database) -> None:
    owners = await _with_secrets(db, 2)
    with pytest.raises(RingKeyMissing, match='no key "k1"'):
        await rotate(db, ringed("k2"))
    await _all_read(db, vault("k1"), owners)


async def test_secrets_are_written_and_read_while_it_goes_on(db: Database) -> None:
    owners = await _with_secrets(db, 3)
    await rotate(db, ringed("k2", "k1"))
    late = await tenant(db)
    # A process that still has the old key first: what it makes is found by the next rotation.
    await put(db, vault("k1", "k2"), late, A=f"value of {late}", B="b")
    assert await db.run(used_ids) == {"k1", "k2"}
    done = await rotate(db, ringed("k3", "k2", "k1"))
    assert done.unused == ("k2", "k1")
    await _all_read(db, vault("k3"), [*owners, late])


async def test_a_ring_that_does_not_fit_the_database_is_refused_at_the_start(db: Database) -> None:
    await _check(db, Rings(None))
    await _check(db, ringed("k1"))
    await _with_secrets(db, 1)
    await _check(db, ringed("k2", "k1"))
    with pytest.raises(OperatorError, match="has secrets, and there is no key ring"):
        await _check(db, Rings(None))
    with pytest.raises(RingKeyMissing, match='no key "k1"'):
        await _check(db, ringed("k2"))
    other = ring_module.parse(ring_module.new_entry("k1"), where="tests")
    with pytest.raises(OperatorError, match='key "k1" of the ring is not the one'):
        await _check(db, Rings.fixed(other))


async def _with_secrets(db: Database, count: int) -> list[UUID]:
    owners = [await tenant(db) for _ in range(count)]
    for owner in owners:
        await put(db, vault("k1"), owner, A=f"value of {owner}", B="b")
        async with db.transaction() as tx:
            await SigningSecrets(vault("k1")).of(tx, owner)
    return owners


async def _all_read(db: Database, keeper: Vault, owners: list[UUID]) -> None:
    for owner in owners:
        assert await read(db, keeper, owner, "A", "B") == {"A": f"value of {owner}", "B": "b"}
        async with db.transaction() as tx:
            assert await SigningSecrets(keeper).of(tx, owner)


async def _token_key(db: Database, keeper: Vault) -> bytes:
    async with db.transaction() as tx:
        return await keeper.token_key(tx)


async def _check(db: Database, rings: Rings) -> None:
    async with db.transaction(read_only=True) as tx:
        await check(tx, rings, Vault(rings))
