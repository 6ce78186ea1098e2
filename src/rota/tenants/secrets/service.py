"""The vault: what the rest of the program does with secrets."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rota import ids
from rota.errors import ContractBroken, InvalidInput
from rota.tenants import sql as tenants_sql
from rota.tenants.secrets import cipher, sql
from rota.tenants.secrets.masked import Masked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from rota.db import Database, Tx
    from rota.tenants.secrets.ring import Ring
    from rota.tenants.secrets.rings import Rings
    from rota.tenants.secrets.sql import SecretInfo, WrappedKey

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}", re.ASCII)
MAX_BYTES: Final = 32 * 1024
MAX_SECRETS: Final = 1_000
"""Of one tenant."""

_TOKEN_KEY = "token"  # noqa: S105 - the name of a row


class Vault:
    """Seals and opens, with the ring of this process.

    Without a ring, everything that needs one raises NoSecretKeys.
    """

    def __init__(self, rings: Rings) -> None:
        self._rings = rings
        self._token_key: bytes | None = None

    @property
    def is_on(self) -> bool:
        """Whether there is a ring at all."""
        return self._rings.is_there

    def require_on(self) -> None:
        """NoSecretKeys, which says what to set, when there is no ring."""
        self._rings.now()

    async def put(self, tx: Tx, tenant_id: UUID, name: str, value: Masked) -> SecretInfo:
        """Make the secret, or give it a new value."""
        text = _checked(name, value)
        key = await self.hold_key(tx, tenant_id)
        before = await sql.one(tx, tenant_id, name)
        if before is None and await sql.count(tx, tenant_id) >= MAX_SECRETS:
            raise InvalidInput(
                f"Invalid secret: expected at most {MAX_SECRETS} of a tenant; delete one first",
                field="name",
            )
        id_ = before.id if before else ids.new(at=await tenants_sql.now(tx))
        version = before.version + 1 if before else 1
        place = cipher.place_of_secret(tenant_id, id_, version, name)
        sealed = cipher.seal(self.unwrap(key), text, place=place)
        secret = sql.SealedSecret(
            tenant_id=tenant_id, name=name, id=id_, version=version, sealed=sealed, key=key
        )
        await tenants_sql.announce_change(tx, tenant_id)
        return await sql.put(tx, secret)

    async def delete(self, tx: Tx, tenant_id: UUID, name: str) -> bool:
        """Whether there was one. Works without a ring: nothing has to be opened."""
        await tenants_sql.announce_change(tx, tenant_id)
        return await sql.delete(tx, tenant_id, name)

    async def listed(
        self, tx: Tx, tenant_id: UUID, *, after: str = "", limit: int
    ) -> list[SecretInfo]:
        """What may be shown of the tenant's secrets, by name."""
        return await sql.listed(tx, tenant_id, after=after, limit=limit)

    async def values(
        self, tx: Tx, wanted: Sequence[tuple[UUID, str]]
    ) -> dict[tuple[UUID, str], Masked]:
        """The values of those secrets, by tenant and name, that there are."""
        found: dict[tuple[UUID, str], Masked] = {}
        for secret in await sql.read(tx, wanted):
            place = cipher.place_of_secret(secret.tenant_id, secret.id, secret.version, secret.name)
            text = cipher.unseal(self.unwrap(secret.key), secret.sealed, place=place)
            found[secret.tenant_id, secret.name] = Masked(text.decode())
        return found

    async def token_key(self, tx: Tx) -> bytes:
        """The 32 bytes with which claims' tokens are made; drawn at the first use of any process.

        The same for the life of the installation, so that a token outlives restarts.
        """
        if self._token_key is not None:
            return self._token_key
        stored = await sql.installation_key(tx, _TOKEN_KEY)
        if stored is None:
            return await self._draw_token_key(tx)
        self._token_key = self._installation_key(_TOKEN_KEY, *stored)
        return self._token_key

    async def known_token_key(self, db: Database) -> bytes:
        """`token_key`, for whoever may not ask for it: a tenant's transaction sees no such row."""
        return self._token_key or await db.run(self.token_key, repeatable=True)

    async def hold_key(self, tx: Tx, tenant_id: UUID) -> WrappedKey:
        """The tenant's data key, made when there is none; others wait for this transaction."""
        held = await sql.hold_data_key(tx, tenant_id)
        if held is None:
            await sql.add_data_key(tx, await self._new_data_key(tx, tenant_id))
            held = await sql.hold_data_key(tx, tenant_id)
        if held is None:
            raise ContractBroken("a data key was made and is not there")
        return held

    def unwrap(self, key: WrappedKey) -> bytes:
        """The data key itself; RingKeyMissing or BrokenSecret when the ring cannot open it."""
        place = cipher.place_of_data_key(key.tenant_id, key.id)
        return cipher.unseal(self._rings.now().key(key.ring_key_id), key.sealed, place=place)

    async def _new_data_key(self, tx: Tx, tenant_id: UUID) -> WrappedKey:
        id_ = ids.new(at=await tenants_sql.now(tx))
        return wrap(self._rings.now(), cipher.new_key(), tenant_id=tenant_id, key_id=id_)

    async def _draw_token_key(self, tx: Tx) -> bytes:
        ring = self._rings.now()
        place = cipher.place_of_installation_key(_TOKEN_KEY)
        sealed = cipher.seal(ring.key(ring.current), cipher.new_key(), place=place)
        await sql.add_installation_key(tx, _TOKEN_KEY, ring.current, sealed)
        # Read back, as another process may have been first; and not remembered, as this
        # transaction may yet be undone, and the next would draw another.
        stored = await sql.installation_key(tx, _TOKEN_KEY)
        if stored is None:
            raise ContractBroken("the token key was made and is not there")
        return self._installation_key(_TOKEN_KEY, *stored)

    def _installation_key(self, name: str, ring_key_id: str, sealed: cipher.Sealed) -> bytes:
        place = cipher.place_of_installation_key(name)
        return cipher.unseal(self._rings.now().key(ring_key_id), sealed, place=place)


def wrap(ring: Ring, key: bytes, *, tenant_id: UUID, key_id: UUID) -> WrappedKey:
    """The data key, sealed with the ring's current key."""
    place = cipher.place_of_data_key(tenant_id, key_id)
    sealed = cipher.seal(ring.key(ring.current), key, place=place)
    return sql.WrappedKey(id=key_id, tenant_id=tenant_id, ring_key_id=ring.current, sealed=sealed)


def _checked(name: str, value: Masked) -> bytes:
    """The value's bytes. No message repeats any of it."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            "Invalid name: expected letters, digits and _, not beginning with a digit, and at most "
            "64 characters",
            field="name",
        )
    try:
        text = value.reveal().encode()
    except UnicodeEncodeError:
        raise InvalidInput(
            "Invalid value: expected text, got half of a surrogate pair", field="value"
        ) from None
    if not 1 <= len(text) <= MAX_BYTES:
        raise InvalidInput(
            f"Invalid value: expected 1 to {MAX_BYTES} bytes, got {len(text)}", field="value"
        )
    return text
