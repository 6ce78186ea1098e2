"""Beginning, finding and ending sessions."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from rota.tenants import administer
from rota.tenants.sessions import sql
from rota.tenants.tenant import Principal

if TYPE_CHECKING:
    from datetime import datetime

    from rota.db import Tx
    from rota.tenants.tenant import Tenant

LIFETIME: Final = timedelta(hours=12)
"""A working day: then one signs in again."""
TOKEN_LIFETIME: Final = timedelta(hours=1)
_BYTES: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Somebody who is signed in."""

    secret: str
    """What their browser holds. Never logged, never stored."""
    principal: Principal
    expires_at: datetime

    def __repr__(self) -> str:
        return f"Session(tenant={self.principal.tenant.name!r})"


async def begin_with_key(tx: Tx, principal: Principal) -> Session | None:
    """A session with the rights of the key that was shown, for as long as that key is good.

    None when it is no more.
    """
    return await _begin(tx, principal)


async def begin_with_token(tx: Tx, token: str) -> Session | None:
    """An admin's session for a token that nobody has used yet; None for any other."""
    tenant_id = await tx.fetch_value(sql.USE_UP, _hash(token))
    tenant = None if tenant_id is None else await administer.find(tx, tenant_id)
    if tenant is None:
        return None
    return await _begin(tx, Principal(tenant=tenant, scopes=frozenset({"admin"}), key_id=None))


async def find(tx: Tx, secret: str) -> Session | None:
    """Whose session this is; None when it is none, or has ended."""
    row = await tx.fetch_row(sql.FIND, _hash(secret))
    tenant = None if row is None else await administer.find(tx, row["tenant_id"])
    if row is None or tenant is None:
        return None
    principal = Principal(tenant=tenant, scopes=frozenset(row["scopes"]), key_id=row["key_id"])
    return Session(secret=secret, principal=principal, expires_at=row["expires_at"])


async def is_good(tx: Tx, secret: str) -> bool:
    """Whether a session that was found before has not ended since: one statement, for those who
    ask every second."""
    return await tx.fetch_row(sql.FIND, _hash(secret)) is not None


async def end(tx: Tx, secret: str) -> None:
    """Sign out."""
    await tx.execute(sql.END, _hash(secret))


async def new_token(tx: Tx, tenant: Tenant) -> str:
    """A token that signs its bearer in once, as the tenant's admin, within the hour."""
    token = secrets.token_urlsafe(_BYTES)
    await tx.execute(sql.KEEP, _hash(token), tenant.id, TOKEN_LIFETIME)
    return token


async def forget_expired(tx: Tx) -> None:
    """Remove what nobody can use any more."""
    await tx.execute(sql.FORGET)


async def _begin(tx: Tx, principal: Principal) -> Session | None:
    secret = secrets.token_urlsafe(_BYTES)
    expires_at: datetime | None = await tx.fetch_value(
        sql.BEGIN,
        _hash(secret),
        principal.tenant.id,
        principal.key_id,
        sorted(principal.scopes),
        LIFETIME,
    )
    if expires_at is None:
        return None
    return Session(secret=secret, principal=principal, expires_at=expires_at)


def _hash(secret: str) -> bytes:
    # 256 random bits: a slow hash would protect nothing more.
    return hashlib.sha256(secret.encode()).digest()
