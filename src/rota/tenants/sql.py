"""The statements on tenants and their keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString, cast

from rota.db import locks
from rota.tenants.tenant import Tenant

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Row, Tx
    from rota.tenants.tenant import Scope

CHANNEL: Final = locks.TENANTS
"""The terms, the keys or the secrets of a tenant have changed; its id."""

_NOW: LiteralString = "SELECT clock_timestamp()"

_MAKE_TENANT: LiteralString = """
    INSERT INTO tenants (id, name, min_interval) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO NOTHING
"""

_TENANT: LiteralString = """
    SELECT id, name, weight, max_concurrency, create_rate, request_rate, max_schedules,
           capture_budget_mb, min_interval, celery_allow, created_at
      FROM tenants
     WHERE name = $1
"""

# Makes processes that start together take turns, so that only one of them makes the first key.
_LOCK_KEYS: LiteralString = "LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE"

_HAS_ADMIN_KEY: LiteralString = """
    SELECT EXISTS (SELECT FROM api_keys
                    WHERE 'admin' = ANY (scopes)
                      AND (expires_at IS NULL OR expires_at > clock_timestamp()))
"""

_ADD_KEY: LiteralString = """
    INSERT INTO api_keys (id, tenant_id, prefix, sha256, scopes, expires_at, name)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""

_KEY_BY_PREFIX: LiteralString = """
    SELECT k.id AS key_id, k.prefix, k.sha256, k.scopes, k.expires_at, clock_timestamp() AS now,
           t.id, t.name, t.weight, t.max_concurrency, t.create_rate, t.request_rate,
           t.max_schedules, t.capture_budget_mb, t.min_interval, t.celery_allow, t.created_at
      FROM api_keys k
      JOIN tenants t ON t.id = k.tenant_id
     WHERE k.prefix = $1
"""

_KEYS: LiteralString = """
    SELECT id, tenant_id, name, prefix, scopes, expires_at, last_used_at, created_at
      FROM api_keys
     WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id > $2)
     ORDER BY id
     LIMIT $3
"""

_KEY: LiteralString = """
    SELECT id, tenant_id, name, prefix, scopes, expires_at, last_used_at, created_at
      FROM api_keys
     WHERE id = $1
"""

# Of the tenant that runs the installation: without one, nobody could make another.
_IS_LAST_ADMIN_KEY: LiteralString = """
    SELECT 'admin' = ANY (k.scopes) AND NOT EXISTS (
               SELECT FROM api_keys o
                WHERE o.tenant_id = $1 AND o.id <> k.id AND 'admin' = ANY (o.scopes)
                  AND (o.expires_at IS NULL OR o.expires_at > clock_timestamp()))
      FROM api_keys k
     WHERE k.id = $2 AND k.tenant_id = $1
"""

# Once a minute is enough to know whether a key is in use.
_USED: LiteralString = """
    UPDATE api_keys
       SET last_used_at = clock_timestamp()
     WHERE id = $1 AND (last_used_at IS NULL
                        OR last_used_at < clock_timestamp() - interval '1 minute')
"""

_REVOKE: LiteralString = """
    DELETE FROM api_keys WHERE id = $1 AND tenant_id = $2 RETURNING scopes
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredKey:
    """A key as the database has it, with the tenant it speaks for."""

    id: UUID
    prefix: str
    sha256: bytes
    scopes: frozenset[Scope]
    expires_at: datetime | None
    tenant: Tenant
    read_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInfo:
    """What may be shown of a key."""

    id: UUID
    tenant_id: UUID
    name: str
    """What it is for, in its owner's words."""
    prefix: str
    scopes: tuple[Scope, ...]
    expires_at: datetime | None
    last_used_at: datetime | None
    created_at: datetime


async def now(tx: Tx) -> datetime:
    """The database's clock."""
    return await tx.fetch_value(_NOW)


async def announce_change(tx: Tx, tenant_id: UUID) -> None:
    """Let every process read again what it has cached of this tenant."""
    await tx.announce(CHANNEL, str(tenant_id))


async def make_tenant(tx: Tx, id_: UUID, name: str, min_interval: timedelta) -> None:
    await tx.execute(_MAKE_TENANT, id_, name, min_interval)


async def tenant_named(tx: Tx, name: str) -> Tenant | None:
    row = await tx.fetch_row(_TENANT, name)
    return None if row is None else tenant_of(row)


async def lock_keys(tx: Tx) -> None:
    await tx.execute(_LOCK_KEYS)


async def has_admin_key(tx: Tx) -> bool:
    return bool(await tx.fetch_value(_HAS_ADMIN_KEY))


async def add_key(
    tx: Tx,
    *,
    id_: UUID,
    tenant_id: UUID,
    prefix: str,
    sha256: bytes,
    scopes: tuple[Scope, ...],
    expires_at: datetime | None,
    name: str,
) -> None:
    await tx.execute(_ADD_KEY, id_, tenant_id, prefix, sha256, list(scopes), expires_at, name)


async def key_by_prefix(tx: Tx, prefix: str) -> StoredKey | None:
    row = await tx.fetch_row(_KEY_BY_PREFIX, prefix)
    if row is None:
        return None
    return StoredKey(
        id=row["key_id"],
        prefix=row["prefix"],
        sha256=row["sha256"],
        scopes=frozenset(row["scopes"]),
        expires_at=row["expires_at"],
        tenant=tenant_of(row),
        read_at=row["now"],
    )


async def keys_of(
    tx: Tx, tenant_id: UUID, *, after: UUID | None = None, limit: int | None = None
) -> list[KeyInfo]:
    return [_info(row) for row in await tx.fetch(_KEYS, tenant_id, after, limit)]


async def key_info(tx: Tx, key_id: UUID) -> KeyInfo | None:
    row = await tx.fetch_row(_KEY, key_id)
    return None if row is None else _info(row)


async def is_last_admin_key(tx: Tx, tenant_id: UUID, key_id: UUID) -> bool:
    return bool(await tx.fetch_value(_IS_LAST_ADMIN_KEY, tenant_id, key_id))


async def mark_used(tx: Tx, key_id: UUID) -> None:
    await tx.execute(_USED, key_id)


async def revoke(tx: Tx, key_id: UUID, tenant_id: UUID) -> list[Scope] | None:
    """The scopes that the key had; None when there is no such key."""
    return await tx.fetch_value(_REVOKE, key_id, tenant_id)


def _info(row: Row) -> KeyInfo:
    return KeyInfo(
        id=row["id"],
        tenant_id=row["tenant_id"],
        name=row["name"],
        prefix=row["prefix"],
        scopes=tuple(row["scopes"]),
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        created_at=row["created_at"],
    )


def tenant_of(row: Row) -> Tenant:
    return Tenant(
        id=row["id"],
        name=row["name"],
        weight=row["weight"],
        max_concurrency=row["max_concurrency"],
        create_rate=cast("float | None", row["create_rate"]),
        request_rate=cast("float | None", row["request_rate"]),
        max_schedules=row["max_schedules"],
        capture_budget_mb=row["capture_budget_mb"],
        min_interval=row["min_interval"],
        celery_allow=tuple(row["celery_allow"]),
        created_at=row["created_at"],
    )
