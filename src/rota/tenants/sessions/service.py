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
    from uuid import UUID

    from rota.db import Tx

LIFETIME: Final = timedelta(hours=12)
"""A working day: then one signs in again."""
TOKEN_LIFETIME: Final = timedelta(minutes=10)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInToken:
    """What a link carries that signs somebody in once."""

    text: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"SignInToken(expires_at={self.expires_at!r})"


async def begin_with_key(tx: Tx, principal: Principal) -> Session | None:
    """A session with the rights of the key that was shown, for as long as that key is good.

    None when it is no more.
    """
    return await _begin(tx, principal)


async def begin_with_token(tx: Tx, token: str) -> Session | None:
    """A session for a token that nobody has used yet; None for any other."""
    row = await tx.fetch_row(sql.USE_UP, _hash(token))
    if row is None or not row["is_good"]:
        return None
    tenant = await administer.find(tx, row["tenant_id"])
    if tenant is None:
        return None
    scopes = frozenset(row["scopes"])
    return await _begin(tx, Principal(tenant=tenant, scopes=scopes, key_id=row["key_id"]))


async def find(tx: Tx, secret: str) -> Session | None:
    """Whose session this is; None when it is none, or has ended."""
    row = await tx.fetch_row(sql.FIND, _hash(secret))
    tenant = None if row is None else await administer.find(tx, row["tenant_id"])
    if row is None or tenant is None:
        return None
    principal = Principal(
        tenant=tenant,
        scopes=frozenset(row["scopes"]),
        key_id=row["key_id"],
        key_prefix=row["key_prefix"],
        via="dashboard",
    )
    return Session(secret=secret, principal=principal, expires_at=row["expires_at"])


async def is_good(tx: Tx, secret: str) -> bool:
    """Whether a session that was found before has not ended since: one statement, for those who
    ask every second."""
    return await tx.fetch_row(sql.FIND, _hash(secret)) is not None


async def end(tx: Tx, secret: str) -> None:
    """Sign out."""
    await tx.execute(sql.END, _hash(secret))


async def new_token(tx: Tx, principal: Principal) -> SignInToken | None:
    """A token that signs its bearer in once, within ten minutes, with these rights.

    None when their key is no more.
    """
    token = secrets.token_urlsafe(_BYTES)
    expires_at: datetime | None = await tx.fetch_value(
        sql.KEEP,
        _hash(token),
        principal.tenant.id,
        principal.key_id,
        sorted(principal.scopes),
        TOKEN_LIFETIME,
    )
    return None if expires_at is None else SignInToken(text=token, expires_at=expires_at)


async def end_links(tx: Tx, tenant_id: UUID) -> None:
    """End the tenant's links that no key stands behind, and every session begun with one."""
    await tx.execute(sql.FORGET_LINKS, tenant_id)
    await tx.execute(sql.END_OF_LINKS, tenant_id)


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
