"""The default tenant, the first admin key, and the making and ending of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rota import ids
from rota.errors import CallerError, ContractBroken, InvalidInput
from rota.tenants import keys, sessions, sql
from rota.tenants.authenticate import authenticate
from rota.tenants.tenant import DEFAULT_NAME, MIN_INTERVAL, SCOPES

if TYPE_CHECKING:
    from datetime import datetime, timedelta
    from uuid import UUID

    from rota.db import Tx
    from rota.tenants.keys import ApiKey
    from rota.tenants.sql import KeyInfo
    from rota.tenants.tenant import Scope, Tenant

__all__ = [
    "LastAdminKey",
    "authenticate",
    "create_key",
    "default_tenant",
    "first_admin_key",
    "list_keys",
    "revoke_key",
]


class LastAdminKey(CallerError):
    """Without it nobody could administer the installation."""

    def __init__(self) -> None:
        super().__init__("expected another admin key to stay, got the last one: make one first")


async def default_tenant(tx: Tx, *, min_interval: timedelta = MIN_INTERVAL) -> Tenant:
    """The tenant that is there without anybody making one; made by the first call, of any process.

    `min_interval` is for that first time only: afterwards it is the operator's to change.
    """
    found = await sql.tenant_named(tx, DEFAULT_NAME)
    if found is not None:
        return found
    await sql.make_tenant(tx, ids.new(at=await sql.now(tx)), DEFAULT_NAME, min_interval)
    made = await sql.tenant_named(tx, DEFAULT_NAME)
    if made is None:
        raise ContractBroken("the default tenant was made and is not there")
    return made


async def first_admin_key(tx: Tx, given: str | None) -> str | None:
    """An admin key of the default tenant, as text: to be shown now and never again.

    `given` is taken as it is, at every start, so that an operator who lost all keys can come back
    in; without it one is made when there is none. None when there was nothing to make. The default
    tenant must be there.
    """
    tenant = await sql.tenant_named(tx, DEFAULT_NAME)
    if tenant is None:
        raise ContractBroken("expected the default tenant before the first admin key")
    await sql.lock_keys(tx)
    if given is not None:
        return await _take(tx, tenant, keys.given(given))
    if await sql.has_admin_key(tx):
        return None
    return (await create_key(tx, tenant, scopes=("admin",))).text


async def create_key(
    tx: Tx,
    tenant: Tenant,
    *,
    scopes: tuple[str, ...],
    expires_at: datetime | None = None,
    name: str = "",
) -> ApiKey:
    """A new key for the tenant. Its text is nowhere but in the result."""
    key = keys.new()
    await _add(tx, tenant, key, scopes=_checked(scopes), expires_at=expires_at, name=name)
    return key


async def list_keys(
    tx: Tx, tenant: Tenant, *, after: UUID | None = None, limit: int | None = None
) -> list[KeyInfo]:
    """What may be shown of the tenant's keys, oldest first."""
    return await sql.keys_of(tx, tenant.id, after=after, limit=limit)


async def revoke_key(tx: Tx, tenant: Tenant, key_id: UUID) -> bool:
    """End a key; False when the tenant has no such key. At once in this process, and everywhere
    within a second.

    The last admin key of the tenant that runs the installation stays (`LastAdminKey`). Any other
    one takes along the sessions that were begun with a server's link: whoever revokes a key that
    got into the wrong hands must not leave behind what was begun with it.
    """
    if tenant.name == DEFAULT_NAME:
        # Two that revoke each other's must not both find the other one in force.
        await sql.lock_keys(tx)
        if await sql.is_last_admin_key(tx, tenant.id, key_id):
            raise LastAdminKey
    scopes = await sql.revoke(tx, key_id, tenant.id)
    await sql.announce_change(tx, tenant.id)
    if scopes is not None and "admin" in scopes and tenant.name == DEFAULT_NAME:
        await sessions.end_links(tx, tenant.id)
    return scopes is not None


async def _take(tx: Tx, tenant: Tenant, key: ApiKey) -> str | None:
    stored = await sql.key_by_prefix(tx, key.prefix)
    if stored is None:
        await _add(tx, tenant, key, scopes=("admin",), expires_at=None)
        return key.text
    if not key.matches(stored.sha256):
        raise InvalidInput(
            f"Invalid admin key: another key with the prefix {key.prefix} exists already",
            field="admin_key",
        )
    return None


async def _add(
    tx: Tx,
    tenant: Tenant,
    key: ApiKey,
    *,
    scopes: tuple[Scope, ...],
    expires_at: datetime | None,
    name: str = "",
) -> None:
    await sql.add_key(
        tx,
        id_=ids.new(at=await sql.now(tx)),
        tenant_id=tenant.id,
        prefix=key.prefix,
        sha256=key.sha256,
        scopes=scopes,
        expires_at=expires_at,
        name=name,
    )
    # Somebody may have tried the key already, and its refusal be cached.
    await sql.announce_change(tx, tenant.id)


def _checked(scopes: tuple[str, ...]) -> tuple[Scope, ...]:
    known: tuple[Scope, ...] = tuple(scope for scope in SCOPES if scope in scopes)
    strange = sorted(set(scopes) - set(known))
    if strange or not known:
        got = ", ".join(strange) or "none"
        raise InvalidInput(
            f"Invalid scopes: expected some of {', '.join(SCOPES)}, got {got}", field="scopes"
        )
    return known
