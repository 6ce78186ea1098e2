"""The statements about sealed things. Only ciphertext passes through here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, LiteralString

from rota.tenants.secrets.cipher import Sealed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from uuid import UUID

    from rota.db import Row, Tx

_ADD_DATA_KEY: LiteralString = """
    INSERT INTO data_keys (id, tenant_id, ring_key_id, nonce, ciphertext)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant_id) DO NOTHING
"""

_DATA_KEY: LiteralString = """
    SELECT id, tenant_id, ring_key_id, nonce, ciphertext FROM data_keys WHERE tenant_id = $1
"""

# Whoever writes a tenant's secrets holds its data key: versions are counted one after another.
_HOLD_DATA_KEY: LiteralString = """
    SELECT id, tenant_id, ring_key_id, nonce, ciphertext FROM data_keys WHERE tenant_id = $1
       FOR NO KEY UPDATE
"""

_ONE: LiteralString = """
    SELECT id, name, version, created_at, updated_at FROM secrets
     WHERE tenant_id = $1 AND name = $2
"""

_COUNT: LiteralString = "SELECT count(*) FROM secrets WHERE tenant_id = $1"

_PUT: LiteralString = """
    INSERT INTO secrets (tenant_id, name, id, version, key_id, nonce, ciphertext)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (tenant_id, name) DO UPDATE
       SET version = excluded.version, key_id = excluded.key_id, nonce = excluded.nonce,
           ciphertext = excluded.ciphertext, updated_at = now()
 RETURNING id, name, version, created_at, updated_at
"""

_DELETE: LiteralString = "DELETE FROM secrets WHERE tenant_id = $1 AND name = $2"

_LIST: LiteralString = """
    SELECT id, name, version, created_at, updated_at FROM secrets
     WHERE tenant_id = $1 AND name COLLATE "C" > $2
     ORDER BY name COLLATE "C"
     LIMIT $3
"""

_READ: LiteralString = """
    SELECT s.tenant_id, s.name, s.id, s.version, s.nonce, s.ciphertext,
           k.id AS key_id, k.ring_key_id, k.nonce AS key_nonce, k.ciphertext AS key_ciphertext
      FROM unnest($1::uuid[], $2::text[]) AS wanted (tenant_id, name)
      JOIN secrets s ON s.tenant_id = wanted.tenant_id AND s.name = wanted.name
      JOIN data_keys k ON k.id = s.key_id
"""

_INSTALLATION_KEY: LiteralString = """
    SELECT ring_key_id, nonce, ciphertext FROM installation_keys WHERE name = $1
"""

_ADD_INSTALLATION_KEY: LiteralString = """
    INSERT INTO installation_keys (name, ring_key_id, nonce, ciphertext) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretInfo:
    """What may be shown of a secret."""

    id: UUID
    name: str
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedKey:
    """A tenant's data key, as it is stored."""

    id: UUID
    tenant_id: UUID
    ring_key_id: str
    sealed: Sealed


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecret:
    """A secret as it is stored, with the data key that opens it."""

    tenant_id: UUID
    name: str
    id: UUID
    version: int
    sealed: Sealed
    key: WrappedKey


async def add_data_key(tx: Tx, key: WrappedKey) -> None:
    """Unless the tenant has one."""
    await tx.execute(_ADD_DATA_KEY, key.id, key.tenant_id, key.ring_key_id, *key.sealed)


async def data_key(tx: Tx, tenant_id: UUID) -> WrappedKey | None:
    row = await tx.fetch_row(_DATA_KEY, tenant_id)
    return None if row is None else wrapped_key(row)


async def hold_data_key(tx: Tx, tenant_id: UUID) -> WrappedKey | None:
    """The key, with nobody else writing the tenant's secrets until the transaction ends."""
    row = await tx.fetch_row(_HOLD_DATA_KEY, tenant_id)
    return None if row is None else wrapped_key(row)


async def one(tx: Tx, tenant_id: UUID, name: str) -> SecretInfo | None:
    row = await tx.fetch_row(_ONE, tenant_id, name)
    return None if row is None else _info(row)


async def count(tx: Tx, tenant_id: UUID) -> int:
    return await tx.fetch_value(_COUNT, tenant_id)


async def put(tx: Tx, secret: SealedSecret) -> SecretInfo:
    row = await tx.fetch_row(
        _PUT,
        secret.tenant_id,
        secret.name,
        secret.id,
        secret.version,
        secret.key.id,
        *secret.sealed,
    )
    assert row is not None
    return _info(row)


async def delete(tx: Tx, tenant_id: UUID, name: str) -> bool:
    return await tx.execute(_DELETE, tenant_id, name) == 1


async def listed(tx: Tx, tenant_id: UUID, *, after: str, limit: int) -> list[SecretInfo]:
    """By name, from the one after `after`."""
    return [_info(row) for row in await tx.fetch(_LIST, tenant_id, after, limit)]


_EXISTING: LiteralString = """
    SELECT name FROM secrets WHERE tenant_id = $1 AND name = ANY ($2::text[])
"""


async def existing(tx: Tx, tenant_id: UUID, names: Collection[str]) -> set[str]:
    """Those of the names that the tenant has a secret of."""
    return {row["name"] for row in await tx.fetch(_EXISTING, tenant_id, list(names))}


async def read(tx: Tx, wanted: Sequence[tuple[UUID, str]]) -> list[SealedSecret]:
    """Those of the secrets, by tenant and name, that there are."""
    rows = await tx.fetch(_READ, [t for t, _ in wanted], [name for _, name in wanted])
    return [_sealed_secret(row) for row in rows]


async def installation_key(tx: Tx, name: str) -> tuple[str, Sealed] | None:
    row = await tx.fetch_row(_INSTALLATION_KEY, name)
    if row is None:
        return None
    return row["ring_key_id"], Sealed(row["nonce"], row["ciphertext"])


async def add_installation_key(tx: Tx, name: str, ring_key_id: str, sealed: Sealed) -> bool:
    """Whether it was the first."""
    return await tx.execute(_ADD_INSTALLATION_KEY, name, ring_key_id, *sealed) == 1


def wrapped_key(row: Row) -> WrappedKey:
    return WrappedKey(
        id=row["id"],
        tenant_id=row["tenant_id"],
        ring_key_id=row["ring_key_id"],
        sealed=Sealed(row["nonce"], row["ciphertext"]),
    )


def _info(row: Row) -> SecretInfo:
    return SecretInfo(
        id=row["id"],
        name=row["name"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _sealed_secret(row: Row) -> SealedSecret:
    return SealedSecret(
        tenant_id=row["tenant_id"],
        name=row["name"],
        id=row["id"],
        version=row["version"],
        sealed=Sealed(row["nonce"], row["ciphertext"]),
        key=joined_key(row),
    )


def joined_key(row: Row) -> WrappedKey:
    """The data key in a row that was joined with it."""
    return WrappedKey(
        id=row["key_id"],
        tenant_id=row["tenant_id"],
        ring_key_id=row["ring_key_id"],
        sealed=Sealed(row["key_nonce"], row["key_ciphertext"]),
    )
