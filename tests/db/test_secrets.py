"""Secrets on a real database: unreadable for whoever has only the database (S7)."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING

import pytest
from tests.db.secrets_kit import put, read, ringed, tenant, vault

from rota.db.embedded import binaries
from rota.errors import InvalidInput
from rota.tenants.secrets import BrokenSecret, Masked, NoSecretKeys, RingKeyMissing, Rings, Vault
from rota.tenants.secrets import service as secrets_service

if TYPE_CHECKING:
    from rota.db import Database

CANARY = "CANARY-7f3a/+=?" + "x" * 30


async def test_a_secret_reads_back_and_changes(db: Database) -> None:
    own, keeper = await tenant(db), vault()
    await put(db, keeper, own, A="one", B="two ☃ \n\0")
    assert await read(db, keeper, own, "A", "B", "C") == {"A": "one", "B": "two ☃ \n\0"}
    await put(db, keeper, own, A="three")
    assert await read(db, vault(), own, "A") == {"A": "three"}
    async with db.transaction() as tx:
        listed = await keeper.listed(tx, own, limit=10)
        assert [(each.name, each.version) for each in listed] == [("A", 2), ("B", 1)]
        assert await keeper.delete(tx, own, "A")
        assert not await keeper.delete(tx, own, "A")
    assert await read(db, keeper, own, "A", "B") == {"B": "two ☃ \n\0"}


async def test_tenants_have_their_own(db: Database) -> None:
    """SC3, TN5: the same name is another secret for another tenant."""
    one, two, keeper = await tenant(db), await tenant(db), vault()
    await put(db, keeper, one, A="of one")
    await put(db, keeper, two, A="of two")
    assert await read(db, keeper, one, "A") == {"A": "of one"}
    async with db.transaction() as tx:
        assert await keeper.delete(tx, two, "A")
    assert await read(db, keeper, one, "A") == {"A": "of one"}
    assert await read(db, keeper, two, "A") == {}


async def test_many_writers_at_once_leave_one_whole_secret(db: Database) -> None:
    own, keeper = await tenant(db), vault()
    await asyncio.gather(*(put(db, keeper, own, A=f"value {n}") for n in range(8)))
    (value,) = (await read(db, keeper, own, "A")).values()
    assert value.startswith("value ")
    async with db.transaction() as tx:
        assert (await keeper.listed(tx, own, limit=1))[0].version == 8
        assert await tx.fetch_value("SELECT count(*) FROM data_keys") == 1


@pytest.mark.parametrize(
    "statement",
    [
        # To another tenant, with and without the data key.
        "UPDATE secrets SET tenant_id = $2 WHERE tenant_id = $1",
        """UPDATE secrets s SET tenant_id = $2, key_id = k.id FROM data_keys k
            WHERE s.tenant_id = $1 AND k.tenant_id = $2""",
        # The other's ciphertext into one's own row.
        """UPDATE secrets s SET nonce = o.nonce, ciphertext = o.ciphertext, key_id = o.key_id
             FROM secrets o WHERE s.tenant_id = $2 AND o.tenant_id = $1""",
        """WITH gone AS (DELETE FROM secrets WHERE tenant_id = $2 RETURNING 1)
           UPDATE secrets SET name = 'B' WHERE tenant_id = $1 AND $2::uuid IS NOT NULL""",
        "UPDATE secrets SET version = version + 1 WHERE tenant_id IN ($1, $2)",
        "UPDATE secrets SET id = gen_random_uuid() WHERE tenant_id IN ($1, $2)",
    ],
)
async def test_a_row_that_was_moved_does_not_open(db: Database, statement: str) -> None:
    """S7: ciphertext moved between tenants, names, ids or versions is an error, never a value."""
    one, two, keeper = await tenant(db), await tenant(db), vault()
    await put(db, keeper, one, A=CANARY)
    await put(db, keeper, two, B="other")
    async with db.transaction() as tx:
        await tx.execute(statement, one, two)  # pyright: ignore[reportArgumentType]
    results = await asyncio.gather(
        *(read(db, keeper, owner, "A", "B") for owner in (one, two)), return_exceptions=True
    )
    broken = [each for each in results if isinstance(each, BrokenSecret)]
    assert broken
    assert CANARY not in str(results[1])


async def test_no_byte_of_a_stored_row_can_be_changed(db: Database) -> None:
    """S7."""
    own, keeper = await tenant(db), vault()
    await put(db, keeper, own, A="v")
    for table in ("secrets", "data_keys"):
        for column in ("nonce", "ciphertext"):
            for at in range(await _length(db, table, column)):
                await _flip(db, table, column, at)
                with pytest.raises(BrokenSecret):
                    await read(db, keeper, own, "A")
                await _flip(db, table, column, at)
    assert await read(db, keeper, own, "A") == {"A": "v"}


async def test_the_right_key_is_needed(db: Database) -> None:
    own = await tenant(db)
    await put(db, vault("k1"), own, A="v")
    with pytest.raises(RingKeyMissing, match='no key "k1"'):
        await read(db, vault("k2"), own, "A")
    assert await read(db, vault("k2", "k1"), own, "A") == {"A": "v"}
    with pytest.raises(NoSecretKeys, match="ROTA_SECRET_KEYS"):
        await put(db, Vault(Rings(None)), own, A="w")
    with pytest.raises(NoSecretKeys):
        await read(db, Vault(Rings(None)), own, "A")


@pytest.mark.parametrize("name", ["", "9a", "a-b", "a b", "é", "a" * 65, "a\n", "a.b"])
async def test_a_name_is_one_that_fits_a_placeholder(db: Database, name: str) -> None:
    own = await tenant(db)
    with pytest.raises(InvalidInput, match="Invalid name"):
        await put(db, vault(), own, **{name: "v"})


async def test_what_cannot_be_a_value_is_refused_without_being_repeated(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = await tenant(db)
    for value in ("", "x" * 32_769, "\ud800"):
        with pytest.raises(InvalidInput, match="Invalid value: expected") as caught:
            await put(db, vault(), own, A=value)
        assert caught.value.field == "value"
        assert "xxxx" not in str(caught.value)
    await put(db, vault(), own, A="x" * 32_768)
    monkeypatch.setattr(secrets_service, "MAX_SECRETS", 1)
    with pytest.raises(InvalidInput, match="expected at most 1 of a tenant"):
        await put(db, vault(), own, B="v")
    await put(db, vault(), own, A="v")


async def test_the_token_key_is_drawn_once_and_stays(db: Database) -> None:
    made = await asyncio.gather(*(_token_key(db, vault()) for _ in range(6)))
    assert len(set(made)) == 1
    assert len(made[0]) == 32
    keeper = vault("k2", "k1")
    assert await _token_key(db, keeper) == made[0]
    with pytest.raises(NoSecretKeys):
        await _token_key(db, Vault(Rings(None)))


async def test_a_token_key_of_a_transaction_that_is_undone_is_not_remembered(db: Database) -> None:
    keeper = vault()
    with contextlib.suppress(ZeroDivisionError):
        async with db.transaction() as tx:
            await keeper.token_key(tx)
            raise ZeroDivisionError
    assert await _token_key(db, keeper) == await _token_key(db, vault())


async def test_a_dump_of_the_database_shows_no_secret(db: Database, dsn: str) -> None:
    """S7: pg_dump, and the WAL, grepped for a canary in every form."""
    own, keeper = await tenant(db), vault()
    first = await _segment(db)
    await put(db, keeper, own, CANARY_NAME=CANARY)
    await put(db, keeper, own, CANARY_NAME=CANARY + "2")
    key = await _token_key(db, keeper)
    # Before anything slow: other tests write to the same log, and what is old in it is overwritten.
    wal = await _wal(db, first, await _segment(db))
    process = await asyncio.create_subprocess_exec(
        *(binaries.find().program("pg_dump"), "--dbname", dsn), stdout=asyncio.subprocess.PIPE
    )
    dump, _ = await process.communicate()
    assert process.returncode == 0
    assert b"CANARY_NAME" in dump
    for plain in (CANARY.encode(), key):
        for form in (plain, plain.hex().encode(), base64.b64encode(plain)[:-4]):
            assert form not in dump
    assert b"CANARY_NAME" in wal
    assert CANARY.encode() not in wal
    assert key not in wal


async def test_deleting_a_tenant_takes_its_secrets_along(db: Database) -> None:
    own, keeper = await tenant(db), vault()
    await put(db, keeper, own, A="v")
    async with db.transaction() as tx:
        await tx.execute("DELETE FROM tenants WHERE id = $1", own)
        assert await tx.fetch_value("SELECT count(*) FROM secrets") == 0
        assert await tx.fetch_value("SELECT count(*) FROM data_keys") == 0


async def test_a_thousand_values_have_a_thousand_nonces(db: Database) -> None:
    own, keeper = await tenant(db), Vault(ringed("k1"))
    async with db.transaction() as tx:
        for number in range(1_000):
            await keeper.put(tx, own, f"s{number % 10}", Masked("same"))
            nonce = await tx.fetch_value(
                "SELECT nonce FROM secrets WHERE name = $1", f"s{number % 10}"
            )
            await tx.execute("INSERT INTO settings VALUES ($1, 'true')", nonce.hex())


async def _token_key(db: Database, keeper: Vault) -> bytes:
    async with db.transaction() as tx:
        return await keeper.token_key(tx)


async def _length(db: Database, table: str, column: str) -> int:
    async with db.transaction() as tx:
        return await tx.fetch_value(f"SELECT octet_length({column}) FROM {table}")  # pyright: ignore[reportArgumentType]


async def _flip(db: Database, table: str, column: str, at: int) -> None:
    async with db.transaction() as tx:
        await tx.execute(  # pyright: ignore[reportArgumentType]
            f"UPDATE {table} SET {column} = "  # pyright: ignore[reportArgumentType]
            f"set_byte({column}, {at}, get_byte({column}, {at}) # 1)"
        )


async def _segment(db: Database) -> str:
    async with db.transaction() as tx:
        return await tx.fetch_value("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")


async def _wal(db: Database, first: str, last: str) -> bytes:
    """The log as it is on the disk, from one segment to another."""
    async with db.transaction() as tx:
        parts = await tx.fetch(
            "SELECT pg_read_binary_file('pg_wal/' || name) AS part FROM pg_ls_waldir()"
            " WHERE name BETWEEN $1 AND $2 ORDER BY name",
            first,
            last,
        )
    return b"".join(each["part"] for each in parts)
